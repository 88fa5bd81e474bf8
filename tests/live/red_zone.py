#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A probe never changes what the program computes: five-byte nops, which newer kernels make calls of."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403

plan_or_skip()
tmp = directory()
data = os.path.join(tmp, "gs.data")
source = os.path.join(TOP, "tests", "fixtures", "red_zone.c")


def address(binary, label):
    out = subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout
    return "*0x" + [line.split()[0] for line in out.splitlines() if line.split()[-1] == label][0]


def nops(cc, level, off):
    name = "%s %s %s" % (cc, level, off or "multi")
    binary = compile_c(source, os.path.join(tmp, "zone"), level, cc=cc)
    want = subprocess.run([binary, "1000"], capture_output=True, text=True).stdout
    env = dict(os.environ, GS_FEATURES_OFF=off)
    done = record("-q", "-o", data, "-e", address(binary, "leaf_nop") + " { n }", "--", binary, "1000", env=env)
    ok(done.returncode == 1 and "below" in done.stderr, name + ": refused where locals are below the stack pointer",
       done.stderr)
    done = record("-q", "-o", data, "-e", address(binary, "caller_nop") + " { $pid }", "-e", "first { $pid }", "--",
                  binary, "1000", env=env)
    equal((done.returncode, done.stdout), (0, want), name + ": recorded where nothing is, and the sum is the same")
    equal(len(events(data)), 2000, name + ": each hit")


for compiler in ("gcc", "clang"):
    for level_ in ("-O0", "-O2"):
        for off_ in ("", "no-multi"):
            case(lambda: nops(compiler, level_, off_))
done()
