#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lines and functions: how often a probe fires is how often the program says it ran, by each compiler at each level of
optimisation; where it is not, --dry-run has said that counts are not executions."""
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
LEVELS = ("-O0", "-Og", "-O1", "-O2", "-O3", "-Os")
DOUBT = re.compile(r":(\d+): (counts are not executions: [^\n]*)")


class Fixture:
    def __init__(self, name, compilers):
        self.source = os.path.join(record_live.FIXTURES, name)
        self.name, self.compilers = name, compilers
        with open(self.source) as f:
            self.text = f.read()
        self.lines = self.text.split("\n")
        self.marked = [i + 1 for i, line in enumerate(self.lines) if "/*#*/" in line or "/*,*/" in line]

    def expected(self):
        """The program's own counts: the marks become counters."""
        counting = os.path.join(tmp, "counting_" + self.name)
        count = "counts[__LINE__]++"
        with open(counting, "w") as f:
            f.write(re.sub(r"/\*#\*/ (?=(long|auto) )", count + "; ", self.text)
                    .replace("/*#*/", "if (%s, 1)" % count).replace("/*,*/", count + ","))
        subprocess.run([self.compilers[0], "-DCOUNTING", "-w", "-O0", "-o", counting + ".exe", counting], check=True)
        out = subprocess.run([counting + ".exe"], capture_output=True, text=True, check=True).stdout
        return collections.Counter({int(a): int(b) for a, b in (line.split() for line in out.splitlines())})


def probes(fixture, binary):
    listing = live.record("-x", binary, "-L", fixture.name)
    have = {int(n) for n in re.findall(r"^\s*(\d+)\b", listing.stdout, re.M)}
    lines = [n for n in fixture.marked if n in have]
    return lines, [a for n in lines for a in ("-e", "L%d=%s:%d { $pc }" % (n, fixture.name, n))]


def compare(fixture, compiler, level, want, total):
    binary = os.path.join(tmp, compiler + level)
    subprocess.run([compiler, "-g", level, "-w", "-o", binary, fixture.source], check=True)
    lines, args = probes(fixture, binary)
    dry = live.record("--dry-run", "-x", binary, *args)
    doubts = {int(n): why for n, why in DOUBT.findall(dry.stdout + dry.stderr)}
    done = live.record("-o", data, *args, "--", binary)
    if done.returncode:
        return ok(False, "%s %s: recorded" % (compiler, level), done.stderr)
    got = collections.Counter(int(e["probe"][1:]) for e in live.events(data))
    wrong = [n for n in lines if got[n] != want[n]]
    silent = [n for n in wrong if n not in doubts]
    ok(not silent, "%s %s: %d lines, %d exact, %d said not to be counts" %
       (compiler, level, len(lines), len(lines) - len(wrong), len(set(wrong) & set(doubts))),
       "\n".join("%d: %d hits, ran %d times: %s" % (n, got[n], want[n], fixture.lines[n - 1].strip()) for n in silent))
    total.update(lines=len(lines), wrong=len(wrong), doubted_exact=len(set(doubts) & set(lines) - set(wrong)),
                 none=len(fixture.marked) - len(lines))
    if level == "-O0":
        equal((sorted(wrong), doubts), ([], {}), "%s %s: all lines are exact, and nothing is doubted" % (compiler, level))


def counts_of(name, compilers):
    fixture = Fixture(name, compilers)
    want, total = fixture.expected(), collections.Counter()
    for compiler in compilers:
        if subprocess.run(["which", compiler], capture_output=True).returncode:
            print("# %s is not installed" % compiler)
            continue
        for level in LEVELS:
            compare(fixture, compiler, level, want, total)
    print("# %s: %d lines, %d without code; %d are not counts, and said so; %d doubted that are exact" %
          (name, total["lines"], total["none"], total["wrong"], total["doubted_exact"]))
    ok(total["doubted_exact"] * 100 <= total["lines"], "%s: at most one in a hundred is doubted without need" % name,
       dict(total))


def lines_in_c():
    counts_of("place_lines.c", ("gcc", "clang"))


def calls_of(compiler, level, source):
    """Functions by name: once a call, by the program's own counters."""
    binary = os.path.join(tmp, "calls" + compiler + level)
    subprocess.run([compiler, "-g", level, "-w", "-o", binary, source], check=True)
    out = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    want = {name: int(n) for name, n in (line.split("\t") for line in out.splitlines())}
    args = [a for i, name in enumerate(want) for a in ("-e", "P%d=%s { $pc }" % (i, name))]
    done = live.record("-o", data, *args, "--", binary)
    if done.returncode:
        return ok(False, "%s %s: functions recorded" % (compiler, level), done.stderr)
    hits = collections.Counter(e["probe"] for e in live.events(data))
    got = {name: hits["P%d" % i] for i, name in enumerate(want)}
    equal(got, want, "%s %s: %d functions, each once a call" % (compiler, level, len(want)))


def calls():
    source = os.path.join(record_live.FIXTURES, "place_calls.cc")
    for compiler in ("g++", "clang++"):
        for level in LEVELS:
            calls_of(compiler, level, source)


def indirect():
    """An indirect function of the C library: the implementation that is used, not the resolver."""
    program = os.path.join(tmp, "lengths")
    with open(program + ".c", "w") as f:
        f.write("#include <string.h>\nint main(int n, char **v) { size_t (*volatile f)(const char *) = strlen;\n"
                "long s = 0; for (int i = 0; i < 25; i++) s += f(\"a text that is counted\"); return s != 550; }\n")
    live.compile_c(program + ".c", program, "-O1")
    done = live.record("-o", data, "--system-wide", "-e",
                       'libc.so.6!strlen { $arg1 } if starts_with(str($arg1), "a text that is")', "--", program)
    equal((done.returncode, len(live.events(data)) if not done.returncode else done.stderr), (0, 25),
          "strlen of the C library: each call")
    ok("implementations" in done.stderr, "strlen: said to be an indirect function", done.stderr)


for test in (lines_in_c, calls, indirect):
    live.case(test)
live.done()
