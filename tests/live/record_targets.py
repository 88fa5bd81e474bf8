#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who is recorded: commands through scripts and wrappers, descendants, processes, every process of a file, libraries
that are loaded later; and who is not."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live
import record_live
from live import equal, ok, wait_for

live.plan_or_skip()
tmp = live.directory()
hits = record_live.fixture(tmp, "record_hits", "-O2", "-lpthread")
family = record_live.fixture(tmp, "record_family", "-O2")
data = os.path.join(tmp, "x.data")
before = record_live.kernel_objects()


def begin(*args, **kw):
    if os.path.exists(data):
        os.unlink(data)
    with open(os.path.join(tmp, "err"), "w") as err:
        p = live.start([live.RECORD, "-o", data, *args], stderr=err, **kw)
    wait_for(lambda: os.path.exists(data) or p.poll() is not None, what="the file")
    time.sleep(0.3)
    return p


def said(p):
    p.wait(20)
    with open(os.path.join(tmp, "err")) as f:
        return f.read()


def values(key):
    return sorted(e["values"][key] for e in live.events(data))


def builds():
    for name, flags in (("pie", ("-fPIE", "-pie")), ("fixed", ("-fno-pie", "-no-pie")),
                        ("static", ("-static",)), ("clang", ("-O1",))):
        binary = record_live.fixture(tmp, "record_hits", "-O2", "-lpthread", *flags, binary="hits-" + name,
                                     cc="clang" if name == "clang" else "gcc")
        live.record("-o", data, "-e", "work", "--", binary, "1", "50")
        equal(values("i"), list(range(50)), "built as " + name)


def through():
    script = os.path.join(tmp, "run.sh")
    with open(script, "w") as f:
        f.write("#!%s 1\n" % hits)
    os.chmod(script, 0o755)
    done = live.record("-o", data, "-e", "main", "--", script)
    ok("1 event from 1 probe" in done.stderr and "is a script" in done.stderr, "a script: its interpreter", done.stderr)
    for wrapper in (["env", "-u", "X", "A=b"], ["timeout", "-k", "5", "20"], ["nice", "-n", "1"], ["nohup"],
                    ["setsid"], ["stdbuf", "-oL"], ["env", "nice", "timeout", "20"]):
        done = live.record("-o", data, "-e", "work", "--", *wrapper, hits, "1", "3", stdin=subprocess.DEVNULL)
        ok("3 events from 1 probe (0 lost)" in done.stderr and "looked through" in done.stderr,
           "through " + " ".join(wrapper), done.stderr)
    done = live.record("-o", data, "--no-follow", "-e", "work", "--", "timeout", "5", hits)
    ok(done.returncode == 1 and "timeout" in done.stderr, "--no-follow with a wrapper that forks is refused", done.stderr)


def descendants():
    done = live.record("-o", data, "-e", "step", "--", family, "3")
    equal(values("n"), [0, 1, 2, 3, 101, 102, 103], "children and what they execute are recorded")
    equal(len({e["pid"] for e in live.events(data)}), 4, "as the processes that they are")
    done = live.record("-o", data, "--no-follow", "-e", "step", "--", family, "3")
    equal(values("n"), [0], "--no-follow: the command alone")
    equal(done.returncode, 0, "--no-follow: exit status")
    # Others that run the same program meanwhile are not recorded.
    other = live.start([hits, "1", "1000", "1000"], stdout=subprocess.DEVNULL)
    done = live.record("-o", data, "-e", "work", "--", hits, "1", "20", "10000")
    equal(values("i"), list(range(20)), "other processes of the program are left out")
    ok("1 other process maps" in done.stderr, "and what it costs them is said", done.stderr)
    other.kill()


def existing_children():
    target = live.start([family, "2", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    p = begin("-e", "step", "-p", str(target.pid))
    target.stdin.write("\n")
    target.stdin.flush()
    err = said(p)
    equal(values("n"), [0, 1, 2, 101, 102], "-p: a child that was there before is recorded too")
    ok("(0 lost)" in err, "nothing lost", err)


def several_pids():
    targets = [live.start([hits, "1", "100000", "1000"], stdout=subprocess.DEVNULL) for _ in range(2)]
    third = live.start([hits, "1", "100000", "1000"], stdout=subprocess.DEVNULL)
    p = begin("-e", "work", "-p", ",".join(str(t.pid) for t in targets))
    targets[0].kill()
    time.sleep(0.4)
    ok(p.poll() is None, "-p A,B goes on while one of them lives")
    targets[1].kill()
    said(p)
    equal({e["pid"] for e in live.events(data)}, {t.pid for t in targets}, "-p A,B: both, and no others")
    third.kill()


def every_process():
    p = begin("-e", "work", "-x", hits)
    pids = set()
    for _ in range(3):
        t = live.start([hits, "1", "10"], stdout=subprocess.DEVNULL)
        t.wait()
        pids.add(t.pid)
    p.send_signal(signal.SIGINT)
    err = said(p)
    got = live.events(data)
    equal({e["pid"] for e in got}, pids, "-x: every process that runs the file")
    equal(len(got), 30, "-x: all their events")


def late_library():
    host = record_live.fixture(tmp, "record_host", "-O2", "-ldl")
    plugin = record_live.fixture(tmp, "record_plugin", "-O2", "-shared", "-fPIC", binary="libplugin_late.so")
    os.makedirs(os.path.join(tmp, "hidden"), exist_ok=True)
    hidden = os.path.join(tmp, "hidden", "libplugin_late.so")
    os.replace(plugin, hidden)
    done = live.record("-o", data, "-e", "main", "-e", "libplugin_late.so!plugin_step", "--", host, hidden)
    ok("waits until" in done.stderr and "is mapped now" in done.stderr, "a library that is loaded later is said",
       done.stderr)
    got = [e["values"]["n"] for e in live.events(data) if e["probe"] != "main"]
    ok(len(got) > 200 and got == list(range(got[0], 2000)), "and recorded from then on, without a gap",
       "%d events, %s ..." % (len(got), got[:3]))
    print("# first call recorded after the library was mapped: %s" % got[:1])
    done = live.record("-o", data, "-e", "main", "-e", "no_such_lib.so!f", "--", hits)
    ok("was never armed" in done.stderr and done.returncode == 0, "one that never comes is said at the end", done.stderr)


def function_pointers():
    """They are named where the process lives long enough for its map to be read; what is no function is not."""
    for flags in (["-O0"], ["-O0", "-no-pie"]):
        binary = record_live.fixture(tmp, "record_callback", *flags)
        live.record("-o", data, "-e", "install { h, t.fire }", "--", binary)
        text = live.report(data).stdout
        lines = text.splitlines()
        ok(len(lines) == 8 and all("<on_tick>" in line and "<on_idle>" in line for line in lines[:6]),
           "function pointers are named %s" % flags, text)
        ok("<" not in lines[6], "wild ones are not %s" % flags, lines[6])


def crowd():
    others = [live.start([hits, "1", "3", "10000000"], stdout=subprocess.DEVNULL) for _ in range(52)]
    time.sleep(0.3)
    done = live.record("-o", data, "-e", "work", "--", hits)
    ok(done.returncode == 1 and "--system-wide" in done.stderr and "52 other" in done.stderr,
       "many others would pay: --system-wide is asked for", done.stderr)
    done = live.record("-o", data, "--system-wide", "-e", "work", "--", hits)
    equal(done.returncode, 0, "with it the recording goes ahead")
    done = live.record("-o", data, "--no-follow", "-e", "work", "--", hits)
    ok(done.returncode == 0 and "other process" not in done.stderr, "with --no-follow nobody else pays", done.stderr)
    for t in others:
        t.kill()


def fallbacks():
    for off in ("no-multi", "no-cookie", "no-sleepable", "no-task-storage", "no-multi-pid"):
        done = live.record("-o", data, "-e", "work", "-e", "main", "--", hits, "2", "100",
                           env=dict(os.environ, GS_FEATURES_OFF=off))
        ok("gs-record: 201 events from 2 probes (0 lost)" in done.stderr, "GS_FEATURES_OFF=" + off, done.stderr)


for test in (builds, through, descendants, existing_children, several_pids, every_process, late_library, function_pointers, crowd,
             fallbacks):
    live.case(test)
record_live.nothing_left(before, "no program, map or link is left in the kernel")
live.done()
