#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""gdb is the oracle: every value that gs records equals what gdb reads at the same address.

For gcc and clang at -O0..-O3: every function of tests/fixtures/values.c at entry, its marked lines, and every
instruction of some functions, with all arguments and locals. A value that gs does not have must be absent with a
status; where gdb has it, it is listed as a comment and counted against a ceiling.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(TOP)
sys.path.insert(0, os.path.join(TOP, "tests", "lib"))
from matrix_compare import extended_bits  # noqa: E402

RECORD = os.environ.get("GS_RECORD", "./gs-record")
REPORT = os.environ.get("GS_REPORT", "./gs-report")
SOURCE = "tests/fixtures/values.c"
CALLS = "4"
PIE_BIAS = 0x555555554000
FUNCTIONS = """scalars enums pointers by_pointer by_value_small by_value_two by_value_wide bitfields unions arrays
floats many locals statics list_sum""".split()
SWEPT = "by_value_small bitfields locals list_sum many".split()


def marked_lines():
    with open(SOURCE) as f:
        return [(m.group(1), n) for n, line in enumerate(f, 1)
                if (m := re.search(r"LINE: (\w+)", line))]


def run_gs(binary, probes, directory):
    data = os.path.join(directory, "gs.data")
    command = [RECORD, "-q", "-o", data]
    for p in probes:
        command += ["-e", p]
    # The same address space as under gdb: no randomisation, the same environment.
    command += ["-x", binary, "--", "/usr/bin/setarch", "-R", binary, CALLS]
    done = subprocess.run(command, env=child_env(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    report = subprocess.run([REPORT, "--json", "--addr", data], capture_output=True, text=True)
    if report.returncode:
        raise RuntimeError(report.stderr)
    return [json.loads(line, parse_float=lambda s: {"?f": s}) for line in report.stdout.splitlines()]


def child_env():
    return {"PATH": "/usr/bin:/bin"}


def run_gdb(binary, stops, bias, directory):
    out = os.path.join(directory, "gdb.json")
    wanted = os.path.join(directory, "stops.json")
    with open(wanted, "w") as f:
        json.dump(stops, f)
    env = dict(child_env(), ORACLE_STOPS=wanted, ORACLE_OUT=out, ORACLE_BIAS=str(bias))
    done = subprocess.run(["gdb", "-nx", "-batch", "-x", "tests/lib/gdb_oracle.py", "--args", binary, CALLS],
                          env=env, capture_output=True, text=True)
    if not os.path.exists(out):
        raise RuntimeError(done.stderr)
    with open(out) as f:
        return [json.loads(line) for line in f]


def same_number(gs, gdb):
    if "?f32" in gdb:
        number = struct.unpack("<f", struct.pack("<I", gdb["?f32"]))[0]
        return struct.pack("<f", float(gs)) == struct.pack("<f", number) or (float(gs) != float(gs) and number != number)
    a, b = float(gs), gdb["?f"]
    return struct.pack("<d", a) == struct.pack("<d", b) or (a != a and b != b)


def compare(gs, gdb, status, path, found):
    """Appends (kind, path, gs, gdb) to found; kind is `wrong', `absent' (gs lacks it), `both'."""
    if path in status and status[path] not in ("truncated",):
        kind = "both" if isinstance(gdb, dict) and "?" in gdb else "absent"
        found.append((kind, path, status[path], gdb))
    elif isinstance(gdb, dict) and "?" in gdb:
        found.append(("extra", path, gs, gdb["?"]))
    elif isinstance(gdb, dict) and "?l" in gdb:
        text = gs["?f"] if isinstance(gs, dict) and "?f" in gs else gs
        ok = isinstance(text, (str, int)) and extended_bits(text) == extended_bits(gdb["?l"])
        found.append(("equal" if ok else "wrong", path, gs, gdb))
    elif isinstance(gdb, dict) and ("?f" in gdb or "?f32" in gdb):
        text = gs["?f"] if isinstance(gs, dict) and "?f" in gs else gs
        ok = isinstance(text, (str, int)) and same_number(text, gdb)
        found.append(("equal" if ok else "wrong", path, gs, gdb))
    elif isinstance(gdb, dict):
        if not isinstance(gs, dict):
            found.append(("wrong", path, gs, gdb))
            return
        for key in gdb:
            if key not in gs and path + "." + key not in status:
                found.append(("wrong", path + "." + key, "missing", gdb[key]))
            else:
                compare(gs.get(key), gdb[key], status, path + "." + key, found)
    elif isinstance(gdb, list):
        if not isinstance(gs, list) or len(gs) != len(gdb):
            found.append(("wrong", path, gs, gdb))
            return
        for i, element in enumerate(gdb):
            compare(gs[i], element, status, "%s[%d]" % (path, i), found)
    else:
        ok = gs == gdb and isinstance(gs, bool) == isinstance(gdb, bool)
        found.append(("equal" if ok else "wrong", path, gs, gdb))


def compare_events(events, stops, found, place):
    if len(events) != len(stops):
        found.append(("wrong", place + ": count", len(events), len(stops)))
    for event, stop in zip(events, stops):
        for name, want in stop["values"].items():
            status = event.get("status", {})
            if name not in event["values"]:
                found.append(("missing", place + ":" + name, "no such item", want))
                continue
            here = []
            compare(event["values"][name], want, status, name, here)
            found.extend((k, place + ":" + p, g, w) for k, p, g, w in here)


def by_key(rows, key):
    out = {}
    for row in rows:
        out.setdefault(key(row), []).append(row)
    return out


def check_entries(binary, bias, optimised, directory, found):
    events = run_gs(binary, FUNCTIONS, directory)
    groups = by_key(events, lambda e: e["probe"])
    stops = []
    for name in FUNCTIONS:
        addresses = sorted({e["addr"] for e in groups.get(name, [])})
        # Without optimisation gdb's own stop after the prologue is where its arguments are right.
        where = "*" + str(addresses[0]) if optimised and addresses else name
        stops.append({"id": name, "where": where})
    gdb = by_key(run_gdb(binary, stops, bias, directory), lambda s: s["id"])
    for name in FUNCTIONS:
        rows = groups.get(name, [])
        wanted = gdb.get(name, [])
        args = {k for row in rows for k in row["values"]}
        for stop in wanted:  # at entry only arguments are asked for
            stop["values"] = {k: v for k, v in stop["values"].items() if k in args}
        compare_events(rows, wanted, found, name)


def check_addresses(binary, bias, probes, directory, found):
    """At line and instruction probes everything in scope, at the very addresses that gs chose."""
    events = [e for e in run_gs(binary, probes, directory)]
    groups = by_key(events, lambda e: e["addr"])
    stops = [{"id": a, "where": "*" + str(a)} for a in sorted(groups)]
    gdb = by_key(run_gdb(binary, stops, bias, directory), lambda s: s["id"])
    for address, rows in groups.items():
        names = {r["probe"] for r in rows}
        rows = [r for r in rows if r["probe"] == rows[0]["probe"]]
        compare_events(rows, gdb.get(address, []), found, "%s@%s" % (sorted(names)[0], address))


def instructions(binary, function, optimised):
    """Offsets of instructions that a probe may be on. Without optimisation not the returns: the frame pointer is
    popped there, and gdb reads through the caller's (gs does not)."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function, binary],
                          capture_output=True, text=True).stdout
    start = int(re.search(r"^([0-9a-f]+) <%s>:" % function, text, re.M).group(1), 16)
    for line in text.splitlines():
        m = re.match(r"\s+([0-9a-f]+):\s+(\S+)", line)
        if not optimised and m and m.group(2).startswith("ret"):
            continue
        if m and not m.group(2).startswith(("nop", "data16", "cs", "xchg", "(bad)")):
            yield int(m.group(1), 16) - start


def prologue_end(binary, function):
    """Offsets below this are gdb's blind spot without optimisation: it shows slots not yet written."""
    out = subprocess.run(["gdb", "-nx", "-batch", "-ex", "break " + function, "-ex", "info symbol " + function,
                          "-ex", "print (long)$_ - 0", "-ex", "info breakpoints", binary],
                         capture_output=True, text=True).stdout
    stop = re.search(r"Breakpoint 1 at (0x[0-9a-f]+)", out)
    symbols = subprocess.run(["nm", binary], capture_output=True, text=True).stdout
    start = re.search(r"^([0-9a-f]+) [tT] %s$" % function, symbols, re.M)
    return int(stop.group(1), 16) - int(start.group(1), 16)


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return 0
    number = failed = 0
    total = {"equal": 0, "absent": 0, "both": 0, "extra": 0}
    absent = {}
    configurations = [(cc, o, pie) for cc in ("gcc", "clang") for o in range(4) for pie in (True, False)
                      if shutil.which(cc) and (pie or o == 2)]
    with tempfile.TemporaryDirectory() as directory:
        for cc, level, pie in configurations:
            name = "%s-O%d%s" % (cc, level, "" if pie else "-nopie")
            binary = os.path.join(directory, "values-" + name)
            subprocess.run([cc, "-g", "-O%d" % level, "-w", "-fcf-protection", "-pie" if pie else "-no-pie",
                            "-fPIE" if pie else "-fno-pie", "-o", binary, SOURCE], check=True)
            bias = PIE_BIAS if pie else 0
            found = []
            checks = [
                ("entries", lambda: check_entries(binary, bias, level > 0, directory, found)),
                ("lines", lambda: check_addresses(
                    binary, bias, ["values.c:%d" % n for _, n in marked_lines()], directory, found)),
            ]
            for function in SWEPT:
                skip = prologue_end(binary, function) if level == 0 else 0
                offsets = [o for o in instructions(binary, function, level > 0) if o >= skip]
                checks.append(("each instruction of " + function, lambda f=function, offs=offsets: check_addresses(
                    binary, bias, ["%s+%d" % (f, o) for o in offs], directory, found)))
            for what, check in checks:
                found.clear()
                number += 1
                try:
                    check()
                except Exception as e:  # a crash of the tools is a failure of this case, not of the run
                    print("# %s: %s" % (type(e).__name__, str(e)[:500].replace("\n", "\n# ")))
                    found.append(("wrong", "run", str(e)[:80], ""))
                wrong = [f for f in found if f[0] in ("wrong", "missing")]
                for f in found:
                    if f[0] in total:
                        total[f[0]] += 1
                    if f[0] == "absent":
                        key = (name, f[1].split("@")[0].split("+")[0] + ":" + f[1].split(":")[-1], f[2])
                        absent[key] = absent.get(key, 0) + 1
                for f in wrong[:8]:
                    print("# %s %s: gs %r, gdb %r" % (f[0], f[1], f[2], f[3]))
                nothing = not any(f[0] == "equal" for f in found)
                bad = bool(wrong) or nothing
                failed += bad
                print("%sok %d - %s: %s%s" % ("not " if bad else "", number, name, what,
                                              " (nothing compared)" if nothing else ""), flush=True)
    for (name, what, status), n in sorted(absent.items()):
        print("# absent where gdb has a value: %s %s: %s x%d" % (name, what, status, n))
    print("# %d values equal, %d absent where gdb has one, %d absent in both, %d that gdb lacks"
          % (total["equal"], total["absent"], total["both"], total["extra"]))
    print("1..%d" % number)
    return 1 if failed else 0


sys.exit(main())
