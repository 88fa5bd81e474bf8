#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Returns: results, durations and entry values are those of the call; what unwinds, jumps or ends is as without us.

A function of the hard program returns 3 * n + 1, so that a return paired with another call's entry shows. The
program counts the returns itself.
"""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live
import record_live
from live import equal, ok

live.plan_or_skip()
tmp = live.directory()
data = os.path.join(tmp, "x.data")
BUILDS = [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O2")]


def build(name, cc, *flags, binary=None):
    source = os.path.join(record_live.FIXTURES, name)
    if name.endswith(".cc"):
        cc = {"gcc": "g++", "clang": "clang++"}[cc]
    return live.compile_c(source, os.path.join(tmp, binary or "%s-%s%s" % (name, cc, flags[0])), *flags, cc=cc)


def record(*args):
    done = live.record("-o", data, *args)
    return done


VALUES = {
    "two": {"a": 5, "b": 10}, "big": {"a": [5, 6, 7, 8, 9]}, "three": {"c": "fb"},
    "packed": {"c": "5", "l": 5000}, "bits": {"a": 5, "b": 5000}, "word": None, "mix": {"d": None, "l": 6},
    "mix2": {"l": 7, "d": None}, "either": {"l": 8}, "truth": True, "color": "GREEN",
    "wide": str((5 << 65) | 5), "real": None, "longer": None, "twofold": None, "text": "hello", "narrow": -3,
    "half": 65535, "loop": 55,
}
# Where a double and a long share a union the register is that of the long.
REASONS = {"real": "in xmm0", "longer": "in st0", "twofold": "in xmm0", "word": "in xmm0"}


def values(cc, opt):
    binary = build("returns_values.c", cc, opt)
    plain = subprocess.run([binary], capture_output=True, text=True).stdout
    for method in ("ret", "uretprobe"):
        probes = sum((["-e", f + "%return { r = $retval }"] for f in VALUES), [])
        probes += ["-e", "p=pointer%return { p = *$retval, x = $entry(x), s = $entry(*p) }", "-e", "nothing%return",
                   "-e", "ways%return { r = $retval, n = $entry(n) } if $entry(n) < 10 && $retval < 7"]
        done = record("--return=" + method, *probes, "--", binary)
        equal((done.returncode, done.stdout), (0, plain), "%s %s %s: the program's output" % (cc, opt, method))
        got = {}
        for e in live.events(data):
            got.setdefault(e["probe"].split("%")[0], []).append(e)
        wrong = []
        for f, want in VALUES.items():
            events = got.get(f, [])
            v = events[0]["values"]["r"] if len(events) == 1 else events
            if f == "packed":  # a char is a number; both are fine in JSON by the type's rule
                v, want = v["l"], want["l"]
            if f == "either":
                v, want = v["l"], want["l"]
            if v != want:
                wrong.append((f, v, want))
        equal(wrong, [], "%s %s %s: %d results" % (cc, opt, method, len(VALUES)))
        text = live.report(data).stdout
        wrong = [f for f, why in REASONS.items() if "r = <%s>" % why not in text.split(f + "%return")[1].split("\n")[0]]
        equal(wrong, [], "%s %s %s: what is in vector registers says so" % (cc, opt, method))
        equal(got["p"][0]["values"]["x"], 5, "an argument at the entry")
        equal((got["p"][0]["values"]["p"], got["p"][0]["values"]["s"]), ({"a": 5, "b": 2}, {"a": 1, "b": 2}),
              "a struct at the return and at the entry")
        equal(list(got["nothing"][0]["values"]), ["$duration"], "a void function has a duration alone")
        equal([(e["values"]["r"], e["values"]["n"]) for e in got["ways"]], [(-1, -4)],
              "a condition on entry and result")


def pairs(events):
    """(events, wrong results, without a pair)"""
    n = wrong = alone = 0
    for e in events:
        v = e["values"]
        n += 1
        if v["n"] is None or v["$duration"] is None:
            alone += 1
        elif v["r"] is not None and v["r"] != 3 * v["n"] + 1:
            wrong += 1
    return n, wrong, alone


def read_events(path):
    """One at a time: there are many."""
    import json
    with subprocess.Popen([live.REPORT, "--json", path], stdout=subprocess.PIPE) as p:
        for line in p.stdout:
            yield json.loads(line)


def hard(cc, opt):
    binary = build("returns_hard.c", cc, opt, "-lpthread")
    plain = subprocess.run([binary], capture_output=True, text=True).stdout
    returns = int(re.search(r"returns (\d+)", plain).group(1))
    done = record("-e", "f%return { r = $retval, n = $entry(n), $duration }",
                  "-e", "t=tail%return { r = $retval, n = $entry(n), $duration }", "--", binary)
    equal((done.returncode, done.stdout), (0, plain), "%s %s: output with threads, jumps, cancellation" % (cc, opt))
    events = collections.defaultdict(list)
    for e in read_events(data):
        events[e["probe"]].append(e)
    lost = re.search(r"\((\d+) lost\)", done.stderr)
    equal(lost and lost.group(1), "0", "%s %s: nothing is lost" % (cc, opt))
    equal(pairs(events["f%return"]), (returns, 0, 0),
          "%s %s: every return once, each paired with its own entry" % (cc, opt))
    tails = events["t"]
    equal(sorted(e["values"]["n"] for e in tails), list(range(20)), "%s %s: every exit by a tail call" % (cc, opt))
    if opt != "-O0":
        odd = [e["values"]["r"] for e in tails if e["values"]["n"] % 2]
        equal(odd, [-i for i in range(20) if i % 2], "results of the others")
        reasons = live.report("--probe", "t", data).stdout
        equal(reasons.count("<tail call to f>"), 10, "a tail call says to which function")


def throwing(cc, opt):
    binary = build("returns_throw.cc", cc, opt)
    plain = subprocess.run([binary], capture_output=True, text=True).stdout
    done = record("-e", "thrower%return { r = $retval, n = $entry(n), $duration }", "-e", "v=small%return",
                  "-e", "v=copied%return", "-e", "v=derived%return", "-e", "v=mixed%return", "-e", "v=color%return",
                  "-e", "v=reference%return", "--", binary)
    equal((done.returncode, done.stdout), (0, plain), "%s %s: exceptions through a probed function" % (cc, opt))
    events = live.events(data)
    equal(pairs(e for e in events if e["probe"] == "thrower%return"), (200, 0, 0),
          "%s %s: only what returned, each with its own entry" % (cc, opt))
    got = {e["func"]: e["values"]["$retval"] for e in events if e["probe"] == "v"}
    equal(got, {"small": {"a": 3, "b": 4}, "copied": {"v": 9}, "derived": {"Small": {"a": 5, "b": 6}, "c": 7},
                "mixed": {"d": None, "l": 15}, "color": "green", "reference": 20}, "%s %s: results of C++" % (cc, opt))


def refusals():
    binary = build("returns_values.c", "gcc", "-O0")
    for probe, method, what in (("vfork%return", "uretprobe", "may return more than once"),
                                ("setjmp%return", None, "may return more than once"),
                                ("nothing%return { $retval }", None, "returns nothing"),
                                ("two { $duration }", None, "only known at the return"),
                                ("two%return { $entry($duration) }", None, "only known at the return")):
        args = ["--return=" + method] if method else []
        done = record(*args, "-e", probe, "--", binary)
        ok(done.returncode == 1 and what in done.stderr, "refused: %s" % probe, done.stderr)
    done = live.record("--dry-run", "-e", "two%return", binary)
    ok("return: uretprobe at the entry; the call is saved at 0x" in done.stdout, "--dry-run says how and where", done.stdout)
    done = live.record("--dry-run", "--return=ret", "-e", "two%return", binary)
    ok("return: ret; the call is saved at 0x" in done.stdout, "and with ret", done.stdout)


def before():
    """A call that began before the recording has no entry: said, counted, not invented."""
    source = os.path.join(tmp, "w.c")
    with open(source, "w") as f:
        f.write("#include <unistd.h>\n__attribute__((noinline)) int once(int n) { sleep(n); return n + 1; }\n"
                "int main(void) { int s = once(2); return s + once(0) == 4 ? 0 : 1; }\n")
    binary = live.compile_c(source, os.path.join(tmp, "w"), "-O0")
    p = live.start([binary])
    live.wait_for(lambda: open("/proc/%d/wchan" % p.pid).read() not in ("", "0") or True)
    done = record("-p", str(p.pid), "-e", "once%return { r = $retval, n = $entry(n), $duration }")
    equal(p.wait(), 0, "the program ends well")
    got = [e["values"] for e in live.events(data)]
    equal([(v["r"], v["n"]) for v in got], [(3, None), (1, 0)], "the first return has no entry, the second has")
    ok("entry was not seen" in done.stderr, "and it is counted", done.stderr)


for cc_, opt_ in BUILDS:
    live.case(lambda: values(cc_, opt_))
for cc_, opt_ in (("gcc", "-O2"), ("clang", "-O2"), ("gcc", "-O0")):
    live.case(lambda: hard(cc_, opt_))
for cc_, opt_ in (("gcc", "-O2"), ("clang", "-O1")):
    live.case(lambda: throwing(cc_, opt_))
live.case(refusals)
live.case(before)
live.done()
