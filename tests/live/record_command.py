#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The command is its own: its descriptors, its signals, its calls and no others; what it starts, and how it ends."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live
import record_live
from live import equal, ok, wait_for

live.plan_or_skip()
# Whatever the test was started with (nohup ignores SIGHUP): the command inherits it, and is to see the signals.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
tmp = live.directory()
hits = record_live.fixture(tmp, "record_hits", "-O2", "-lpthread")
kinds = record_live.fixture(tmp, "record_kinds", "-O1", "-lpthread")
data = os.path.join(tmp, "x.data")
before = record_live.kernel_objects()

OPEN_ONES = """
import os, sys
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
with open(sys.argv[1], "w") as f:
    print(*[n for n in range(256) if n != f.fileno() and is_open(n)], file=f)
"""

NOTE_SIGNALS = """
import signal, sys, time
def note(number, frame):
    with open(sys.argv[1], "a") as f:
        print(signal.Signals(number).name, file=f)
for name in sys.argv[2:]:
    signal.signal(getattr(signal, name), note)
print("ready", flush=True)
time.sleep(1.5)
"""


def without(closed):
    def act():
        for fd in closed:
            os.close(fd)
    return act


def read(path):
    with open(path) as f:
        return f.read()


def streams():
    """A closed stream stays closed for the command, and nothing of the recorder takes its place."""
    out, err, seen = (os.path.join(tmp, n) for n in ("out", "err", "seen"))
    for closed in ((), (0,), (1,), (2,), (0, 1, 2)):
        with open(out, "w") as o, open(err, "w") as e:
            done = subprocess.run([live.RECORD, "-o", data, "-x", hits, "-e", "work", "--", sys.executable, "-c",
                                   OPEN_ONES, seen], stdout=o, stderr=e, preexec_fn=without(closed), timeout=60)
        want = " ".join(str(n) for n in (0, 1, 2) if n not in closed)
        ok(done.returncode == 0 and read(seen).strip() == want, "descriptors of the command without %s" % (closed,),
           "status %d, has %s\n%s" % (done.returncode, read(seen), read(err)))
        ok(live.report("--info", data).returncode == 0 and b"gs-record:" not in open(data, "rb").read(),
           "no message is in the data without %s" % (closed,))
    with open(err, "w") as e:
        done = subprocess.run([live.RECORD, "-o", "-", "-e", "work", "--", hits, "1", "1"], stderr=e,
                              preexec_fn=without((1,)), timeout=60)
    ok(done.returncode == 1 and "standard output" in read(err), "-o - without standard output is an error", read(err))


def input_is_left():
    """The recorder takes nothing of the input: what the command leaves is there for the next one."""
    r, w = os.pipe()
    os.write(w, b"first\nsecond\n")
    os.close(w)
    done = live.record("-q", "-o", data, "-x", hits, "-e", "work", "--", "head", "-c", "6", stdin=r)
    equal((done.stdout, os.read(r, 100)), ("first\n", b"second\n"), "input that the command did not take is left")
    os.close(r)


def signals():
    """All of them reach the command, once each, also when several come at a time; none kills the recorder."""
    names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]
    got = os.path.join(tmp, "got")
    for sent in [[n] for n in names] + [["SIGUSR1", "SIGUSR2", "SIGTERM"]]:
        if os.path.exists(got):
            os.unlink(got)
        p = live.start([live.RECORD, "-o", data, "-x", hits, "-e", "work", "--", sys.executable, "-c", NOTE_SIGNALS,
                        got, *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p.stdout.readline()
        for n in sent:
            p.send_signal(getattr(signal, n))
        status = p.wait(20)
        p.stdout.close()
        seen = read(got).split() if os.path.exists(got) else []
        ok(status == 0 and sorted(seen) == sorted(sent), "the command gets " + " ".join(sent),
           "status %d, it got %s" % (status, seen))
    # Without a command there is nobody to pass them on to: a request ends the recording, the others do not.
    target = live.start([hits, "1", "100000", "1000"], stdout=subprocess.DEVNULL)
    for name, ends in (("SIGQUIT", True), ("SIGUSR1", False)):
        if os.path.exists(data):
            os.unlink(data)
        p = live.start([live.RECORD, "-o", data, "-e", "work", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(data), what="the file")
        time.sleep(0.3)
        p.send_signal(getattr(signal, name))
        time.sleep(0.5)
        equal(p.poll(), 0 if ends else None, "-p: %s %s the recording" % (name, "ends" if ends else "does not end"))
        if p.poll() is None:
            p.send_signal(signal.SIGINT)
            p.wait(20)
    target.kill()
    target.wait()


def own_calls():
    """What the child of the recorder runs before it becomes the command is not the command's."""
    probes = ["-e", "libc.so.6!execve", "-e", "libc.so.6!setuid", "-e", "libc.so.6!sigaction", "-e", "libc.so.6!dup2"]
    for args in ([], ["--user", "nobody"], ["--no-follow"], ["-o", "-"]):
        for off in ("", "no-multi"):
            done = subprocess.run([live.RECORD, "--system-wide", *(args if "-o" in args else [*args, "-o", data]), *probes,
                                   "--", "/bin/true"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, GS_FEATURES_OFF=off), timeout=60)
            ok(done.returncode == 0 and "gs-record: 0 events from 4 probes (0 lost)" in done.stderr,
               "no call before exec is recorded: %s %s" % (" ".join(args), off), done.stderr)
    # But those of the command are, the first ones too.
    done = live.record("--system-wide", "-o", data, "-e", "libc.so.6!execve", "--", "env", "/bin/true")
    ok("gs-record: 1 event from 1 probe (0 lost)" in done.stderr and live.events(data)[0]["comm"] == "env",
       "the command's own exec is", done.stderr)


def lives_and_deaths():
    """However a process comes to be and ends, its calls are counted, and the program never notices."""
    for args, calls, status in ((["one"], 1, 0), (["dies", "6"], 1, 6), (["dies", "9"], 1, 9), (["faults"], 1, 11),
                                (["vforks", "10"], 10, 0), (["spawns", "10"], 10, 0), (["forks", "50"], 50, 0),
                                (["container"], 2, 0), (["threads", "100"], 800, 0), (["exec-in-thread"], 1, 0),
                                (["without-leader", "100"], 100, 0), (["strict", "200"], 200, 0),
                                (["filtered", "200"], 200, 0)):
        for off in ("", "no-multi,no-task-storage"):
            done = live.record("-o", data, "-e", "step", "--", kinds, *args, env=dict(os.environ, GS_FEATURES_OFF=off))
            info = live.report("--info", data).stdout
            how = "killed by signal %d" % status if status else "exited with status 0"
            ok(done.returncode == 0 and "gs-record: %d event%s from 1 probe (0 lost)" % (calls, "s" * (calls != 1)) in
               done.stderr and how in info, "%s %s" % (" ".join(args), off), done.stderr + info)
            if args[0] in ("strict", "filtered"):
                equal(done.stdout, "survived\n", "a program with a seccomp filter survives")


def goes_on():
    """A command that leaves processes behind: the recording ends with it, and says that they run."""
    done = live.record("-o", data, "-e", "step", "--", kinds, "daemon", "3")
    ok(done.returncode == 0 and "1 process that the command started still runs" in done.stderr,
       "a command that becomes a daemon is said", done.stderr)
    done = live.record("-o", data, "-e", "step", "--", kinds, "forks", "3")
    ok("still run" not in done.stderr, "nothing is said of those that have ended", done.stderr)


def main_thread_gone():
    target = live.start([kinds, "without-leader", "100000"])
    wait_for(lambda: "Z" in read("/proc/%d/status" % target.pid).split("State:")[1][:4], what="the end of the main thread")
    for args in ([], ["-x", kinds]):
        done = live.record("-o", data, "-e", "step", "-p", str(target.pid), *args, "--duration", "500ms")
        ok(done.returncode == 0 and len(live.events(data)) > 10, "-p of a process without its main thread %s" % args,
           done.stderr)
    target.kill()
    target.wait()


def namespaces():
    """From inside a pid namespace: its processes are recorded; those of one below are not, and that is said."""
    def inside(script):
        return subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, live.RECORD, data, kinds],
                              capture_output=True, text=True, timeout=60)

    done = inside("$0 -o $1 -e step -- $2 forks 20")
    ok("gs-record: 20 events from 1 probe (0 lost)" in done.stderr, "a command in the recorder's own namespace", done.stderr)
    done = inside("$2 without-leader 100000 & sleep 0.3; $0 -o $1 -e step -p $! --duration 300ms")
    ok(done.returncode == 0 and len(live.events(data)) > 10, "-p there", done.stderr)
    done = inside("$0 -o $1 -e step -- $2 container")
    ok("0 events from 1 probe (1 lost)" in done.stderr and "pid namespace below" in done.stderr,
       "children in a namespace below are counted, and why", done.stderr)
    below = "unshare --pid --fork $2 without-leader 100000 & sleep 0.5; "
    done = inside(below + "$0 -o $1.no -e step -p $(cat /proc/$!/task/$!/children) --duration 300ms")
    ok(done.returncode == 1 and "pid namespace below" in done.stderr and not os.path.exists(data + ".no"),
       "-p of one below is refused", done.stderr)
    done = inside(below + "$0 -o $1 -x $2 -e step -p $! --duration 300ms")
    ok("1 process could not be followed" in done.stderr and "(1 lost)" in done.stderr,
       "a child of -p that is below is counted", done.stderr)
    done = inside(below + "$0 -o $1 -x $2 -e step --duration 300ms")
    ok(done.returncode == 0 and len(live.events(data)) > 10, "-x records it", done.stderr)


for test in (streams, input_is_left, signals, own_calls, lives_and_deaths, goes_on, main_thread_gone, namespaces):
    live.case(test)
record_live.nothing_left(before, "no program, map or link is left in the kernel")
live.done()
