#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A live view ended by Ctrl-C: both ends of the pipe get it, and no recorded event is left unshown."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403

plan_or_skip()
tmp = directory()
source = os.path.join(tmp, "ticks.c")
with open(source, "w") as f:
    f.write("""#include <unistd.h>
int ticks;
__attribute__((noinline)) void tick(int n) { ticks += n; __asm__ volatile("" ::: "memory"); }
int main(void) { for (int i = 0; ; i++) { tick(i); usleep(2000); } }
""")
program = compile_c(source, os.path.join(tmp, "ticks"))
target = start([program])
out, err = os.path.join(tmp, "out"), os.path.join(tmp, "err")
pipeline = start(["/bin/sh", "-c", '"$0" -o - -e tick -p "$1" 2>"$2" | "$3" - >"$4"; exit $?',
                  RECORD, str(target.pid), err, REPORT, out])
wait_for(lambda: os.path.exists(out) and os.path.getsize(out) > 1000, what="a live event")
time.sleep(0.5)
os.killpg(pipeline.pid, signal.SIGINT)
wait_for(lambda: re.search("events from", open(err).read()), what="the closing line")
time.sleep(0.5)
closing = open(err).read()
count = re.search(r"(\d+) events from 1 probe \(0 lost\)", closing)
ok(count, "the recorder ends without an error", closing)
rows = [line for line in open(out) if "tick:" in line]
equal(len(rows), int(count.group(1)) if count else None, "every event is shown")
numbers = [int(re.search(r"n = (\d+)", row).group(1)) for row in rows]
equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "in order, without a gap")
equal(target.poll(), None, "the target lives on")
done()
