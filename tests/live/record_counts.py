#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts: what is recorded and lost is exactly what ran, by the program's own count; limits are exact."""
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
hits = record_live.fixture(tmp, "record_hits", "-O2", "-lpthread")
data = os.path.join(tmp, "x.data")
CLOSING = re.compile(r"gs-record: (\d+) events? from (\d+) probes? \((\d+) lost\), ([\d.]+ \w+) in (\S+)$")


def closing(done):
    return CLOSING.match(done.stderr.splitlines()[-1])


def count_lines(path):
    """Events of a file, without holding them."""
    with subprocess.Popen([live.REPORT, "--json", path], stdout=subprocess.PIPE) as p:
        return sum(1 for _ in p.stdout)


def small():
    done = live.record("-o", data, "-e", "work", "--", hits, "2", "1000")
    equal(done.returncode, 0, "two threads, 1000 calls each: exit status")
    equal(done.stdout, "2000\n", "the command's output is its own")
    size = record_live.human(os.path.getsize(data))
    equal(done.stderr.splitlines()[-1],
          "gs-record: 2000 events from 1 probe (0 lost), %s in %s" % (size, data), "the closing line")
    got = live.events(data)
    equal(len(got), 2000, "events in the file")
    equal(sorted(e["values"]["i"] for e in got), sorted(2 * list(range(1000))), "each call once")
    ok(all(a["ts"] <= b["ts"] for a, b in zip(got, got[1:])), "in the order of time")
    done = live.record("-o", data, "-e", "work", "--", hits, "1", "1")
    ok("gs-record: 1 event from 1 probe (0 lost), " in done.stderr, "one event is `1 event'", done.stderr)


def several_probes():
    done = live.record("-o", data, "-e", "a=work", "-e", "main", "-e", "b=work", "--", hits, "2", "500")
    equal(closing(done).groups()[:3], ("2001", "3", "0"), "three probes in one session")
    names = [e["probe"] for e in live.events(data)]
    equal({n: names.count(n) for n in set(names)}, {"a": 1000, "b": 1000, "main": 1}, "events of each")


def million():
    p = live.start([live.RECORD, "-o", data, "-e", "work", "--", hits, "2", "500000"],
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = record_live.watch_memory(p)
    out, err = p.communicate()
    equal(out, "1000000\n", "a million calls in two threads")
    done = subprocess.CompletedProcess(p.args, p.returncode, out, err)
    equal(closing(done).groups()[:3], ("1000000", "1", "0"), "all recorded with the default buffers")
    equal(count_lines(data), 1000000, "all in the file")
    ok(peak < 64 << 20, "the recorder's own memory is below 64 MiB", "%.1f MiB" % (peak / 1048576))
    print("# memory: %.1f MiB without rings; %s" % (peak / 1048576, err.splitlines()[-1]))


def tiny_buffers():
    done = live.record("-o", data, "--buffer-size", "64K", "-e", "work", "--", hits, "2", "100000")
    m = closing(done)
    equal(int(m[1]) + int(m[3]), 200000, "with rings of 64 KiB: recorded + lost is what ran")
    equal(count_lines(data), int(m[1]), "and what is recorded is in the file")
    print("# lost with 64 KiB: " + m[3])


def max_events():
    for n in ("1", "1000"):
        done = live.record("-o", data, "--max-events", n, "-e", "work", "--", hits, "2", "20000")
        got = live.events(data)
        equal(closing(done)[1], n, "--max-events %s: the closing line" % n)
        equal(len(got), int(n), "--max-events %s: events in the file" % n)
    # Each thread counts its own calls: the first N by time are a prefix of each.
    for tid in {e["tid"] for e in got}:
        mine = [e["values"]["i"] for e in got if e["tid"] == tid]
        equal(mine, list(range(len(mine))), "the calls of a thread are its first ones")
    equal(len(live.events(data)), 1000, "exactly")
    done = live.record("-o", data, "--max-events", "500", "-e", "work", "--", hits, "1", "300")
    equal(closing(done)[1], "300", "fewer than --max-events: all of them")


def max_size():
    done = live.record("-o", data, "--max-size", "64K", "-e", "work", "--", hits, "2", "300000")
    size = os.path.getsize(data)
    equal(done.returncode, 0, "--max-size: exit status")
    ok(65536 <= size < 65536 + 300000, "--max-size: the file stops there", size)
    equal(count_lines(data), int(closing(done)[1]), "--max-size: what is said is in the file")


def never_fired():
    done = live.record("-o", data, "-e", "main", "-e", "on_signal", "--", hits, "1", "1")
    ok("probe `on_signal' never fired" in done.stderr, "a probe that never fired is said", done.stderr)
    done = live.record("-q", "-o", data, "-e", "main", "--", hits, "1", "1")
    equal(done.stderr, "", "-q says nothing")


for test in (small, several_probes, million, tiny_buffers, max_events, max_size, never_fired):
    live.case(test)
live.done()
