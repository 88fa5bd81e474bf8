#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lines: how often a probe fires is how often the program says the line ran, by each compiler at each level of
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


for test in (lines_in_c,):
    live.case(test)
live.done()
