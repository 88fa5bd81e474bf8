#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cases that are known to be hard for GDB, SystemTap, perf or bpftrace, as small programs of our own.

Each is written down with what goes wrong elsewhere and what must be true here; the truth is that of the program, whose
arguments are known. gcc and clang, without and with optimisation.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403

SOURCE = "tests/fixtures/hard_cases.c"
TURNS = [1, 2, 3]
os.chdir(TOP)


def line(name):
    with open(SOURCE) as f:
        return next(n for n, text in enumerate(f, 1) if "LINE: " + name in text)


def hits(tmp, binary, *probes):
    """Events by probe, in the order of time."""
    data = os.path.join(tmp, "gs.data")
    args = [a for p in probes for a in ("-e", p)]
    r = record("-q", "-o", data, *args, "--", binary, "3")
    if r.returncode:
        raise RuntimeError(r.stderr)
    rows = {}
    for e in events(data):
        rows.setdefault(e["probe"], []).append(e)
    return rows


def values(rows, probe, *names):
    return [tuple(e["values"].get(n) for n in names) for e in rows.get(probe, [])]


def true_or_absent(rows, probe, name, truth):
    """Each value is the truth, or is absent with a status: never another."""
    got = rows.get(probe, [])
    return len(got) == len(truth) and all(
        e["values"].get(name) == t or e["values"].get(name) is None and name in e.get("status", {})
        for e, t in zip(got, truth))


def tail_calls(rows, what, optimised):
    # gdb.arch/amd64-tailcall and amd64-entry-value: behind a tail call the return address is that of an outer call,
    # whose call-site parameters belong to another function. SystemTap evaluates DW_OP_entry_value by the caller's
    # frame and refuses or gives the outer call's argument. x is clobbered: it is 3(i+1), or it is absent.
    ok(true_or_absent(rows, "chain", "x", [(i + 1) * 3 for i in TURNS]),
       what + "entry values are not those of a tail call's caller", rows.get("chain"))
    ok(true_or_absent(rows, "chain_end", "x", [(i + 1) * 3 for i in TURNS]) and
       (optimised or rows["chain_end"][0]["values"]["x"] == 6), what + "the argument at entry", rows["chain_end"])


def pieces(rows, what, optimised):
    # perf probe reads the first DW_OP of a location: a by-value structure is cut to 64 bits or zeros; bpftrace counts
    # parameters as registers, and everything after the structure is wrong.
    got = [(e["values"]["t"], e["values"]["after"], e["values"]["m"]) for e in rows["in_registers"]]
    equal([g[:2] for g in got], [({"a": i, "b": -i, "c": i * 2}, 33) for i in TURNS],
          what + "structures in two registers, and what comes after them")
    ok(all(m is None or m["units"] == 100 + i and m["rate"] in (None, i / 4.0) for (_, _, m), i in zip(got, TURNS)),
       what + "half of a structure in a vector register costs only that half", got)


def doubles(rows, what, optimised):
    # bpftrace maps the Nth parameter to the Nth integer register (42 shows as 0); one double makes perf's $vars fail.
    equal(values(rows, "double_first", "n", "c"), [(42 + i, ord("a") + i) for i in TURNS],
          what + "integers beside doubles")
    ok(all(e["values"]["d"] in (None, i / 2.0) for e, i in zip(rows["double_first"], TURNS)),
       what + "a double is right or absent", rows["double_first"])


def loop_head(rows, what, optimised):
    # gdb's breakpoint after the prologue is the head of the loop here: it stops i + 1 times a call.
    equal(values(rows, "spins", "n"), [(i + 1,) for i in TURNS], what + "a loop head after the prologue: once a call")


def inline_shadows(rows, what, optimised):
    # gdb.opt/inline-break, inline-locals: at a line that is inlined twice under the same names, the variables must be
    # those of the instance that fired.
    want = []
    for i in TURNS:
        first = (i + 1) * 10 + 1
        want += [(i + 1, 1, first), (first & 7, 2, (first & 7) * 10 + 2)]
    got = values(rows, "nested", "value", "level", "here")
    ok(len(got) == len(want) and all(g in (None, w) for a, b in zip(got, want) for g, w in zip(a, b)),
       what + "variables of the inlined instance that fired", (got, want))


def one_missing(rows, what, optimised):
    # gdb's `collect $args, $locals`, perf's $vars, and others fail whole when one variable was optimised out.
    got = rows["partly"]
    ok([e["values"].get("s") for e in got] == ["text"] * 3 or optimised and true_or_absent(
        rows, "partly", "s", ["text"] * 3), what + "a variable that is gone costs only itself", got)
    ok(true_or_absent(rows, "partly", "gone", [i * 2 for i in TURNS]), what + "and it is absent or right", got)


def bit_fields(rows, what, optimised):
    # perf probe's bit-fields of a register or of more than 32 bits are wrong or fail.
    want = [{"kind": i, "delta": -i, "big": 1 << (48 + i % 2), "last": 60 + i} for i in TURNS]
    equal([e["values"]["*p"] for e in rows["flags"]], want, what + "bit-fields in memory")
    equal([e["values"]["v"] for e in rows["flags"]], want, what + "bit-fields in a register")


def thread_locals(rows, what, optimised):
    # perf has no thread-locals; gdb needs libthread_db to find them.
    equal([e["values"]["tls_number"] for e in rows["tls"]], [40, 41, 43], what + "a thread-local")


def run_time_sized(rows, what, optimised):
    # gdb.base/vla-datatypes: the bound of an array is an expression of its own.
    got = [e["values"]["squares[0:n]"] for e in rows["sized"]]
    want = [[k * k for k in range(i + 2)] for i in TURNS]
    ok(all(g == w or g is None and optimised for g, w in zip(got, want)) and len(got) == 3,
       what + "an array of run-time size, by a slice", (got, want))


def recursion(rows, what, optimised):
    # SystemTap's and bpftrace's idiom of one slot a thread mixes up recursive calls.
    want = []
    for i in TURNS:
        n, s = i, 0
        while True:
            want.append((n, s))
            if n == 0:
                break
            n, s = n - 1, s + n
    equal(values(rows, "depth_first", "n", "sum"), want, what + "every level of a recursion")


def main():
    plan_or_skip()
    tmp = directory()
    cases = (tail_calls, pieces, doubles, loop_head, inline_shadows, one_missing, bit_fields, thread_locals,
             run_time_sized, recursion)
    probes = ["chain_end", "in_registers", "double_first", "spins", "depth_first", "flags { *p, v }",
              "chain = hard_cases.c:%d { x }" % line("chain"), "nested = hard_cases.c:%d" % line("nested"),
              "partly = hard_cases.c:%d" % line("partly"), "tls = thread_local_number { tls_number }",
              "sized = hard_cases.c:%d { squares[0:n] }" % line("sized")]
    for cc in ("gcc", "clang"):
        for level in ("-O0", "-O2"):
            binary = compile_c(SOURCE, os.path.join(tmp, cc + level), level, "-w", cc=cc)
            rows = hits(tmp, binary, *probes)
            for c in cases:
                case(lambda c=c: c(rows, "%s %s: " % (cc, level), level != "-O0"))
    done()


main()
