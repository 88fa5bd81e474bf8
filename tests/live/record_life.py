#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Beginnings and ends: signals, kill -9, full disks, files, failures; the command lives on, nothing is left behind."""
import os
import pty
import pwd
import random
import signal
import stat
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live
import record_live
from live import equal, ok, wait_for

live.plan_or_skip()
tmp = live.directory()
hits = record_live.fixture(tmp, "record_hits", "-O2", "-lpthread")
data = os.path.join(tmp, "x.data")
before = record_live.kernel_objects()


def begin(*args, command=None):
    """A recorder that has armed its probes; its file is there then."""
    for f in (data, data + ".old"):
        if os.path.exists(f):
            os.unlink(f)
    tail = ["--", *command] if command else []
    # Files and not pipes: the command, which lives on, holds its ends open.
    with open(os.path.join(tmp, "out"), "w") as out, open(os.path.join(tmp, "err"), "w") as err:
        p = live.start([live.RECORD, "-o", data, "-e", "work", *args, *tail], stdout=out, stderr=err)
    wait_for(lambda: os.path.exists(data) or p.poll() is not None, what="the file")
    time.sleep(0.3)
    return p


def said(p):
    """Waits for the recorder; what it and its command wrote."""
    p.wait(20)
    with open(os.path.join(tmp, "out")) as out, open(os.path.join(tmp, "err")) as err:
        return out.read(), err.read()


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read().split()[0])


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def refused(args, *words, name=None):
    """One line that names the thing, exit status 1, no file."""
    d = os.path.join(tmp, "refused")
    os.makedirs(d, exist_ok=True)
    done = live.record(*args, cwd=d)
    first = done.stderr.splitlines()[0] if done.stderr else ""
    good = done.returncode == 1 and first.startswith("gs-record: ") and not os.listdir(d)
    ok(good and all(w in done.stderr for w in words), name or "refused: " + " ".join(args[:6]),
       "status %d, left %s\n%s" % (done.returncode, os.listdir(d), done.stderr))


def bad_input():
    plain = os.path.join(tmp, "plain.txt")
    with open(plain, "w") as f:
        f.write("no program\n")
    refused(["-e", "work", "--", "./no-such"], "./no-such", "No such file")
    refused(["-e", "work", "--", "no-such-command"], "no-such-command", "PATH")
    refused(["-e", "work", "--", plain], plain, "not executable")
    refused(["-e", "work", "--", tmp], tmp, "directory")
    refused(["-e", "work", "--", ""], "empty")
    refused(["-e", "work", "-x", plain], "plain.txt")
    refused(["-e", "work", "-x", "/no/such"], "/no/such")
    refused(["-e", "no_such_function", "--", hits], "no_such_function")
    refused(["-e", "work", "-p", "4194303"], "4194303", "no process")
    refused(["-e", "work", "-p", "2"], "kernel thread")
    refused(["-e", "work", "-p", "1x"], "1x")
    refused(["-e", "work", "-p", ""], "process id")
    refused(["-e", "work", "-p", "1", "--", hits], "not both")
    refused(["-e", "work"], "command")
    refused(["--", hits], "no probe")
    refused(["--no-such", "--", hits], "--no-such")
    refused(["-o", "/no/such/dir/x", "-e", "work", "--", hits], "/no/such/dir/x")
    refused(["-o", tmp, "-e", "work", "--", hits], tmp)
    refused(["-o", "/dev/full", "-e", "work", "--", hits, "1", "1"], "/dev/full", "No space left")
    refused(["-e", "work", "--max-events", "0", "--", hits], "--max-events")
    refused(["-e", "work", "--duration", "soon", "--", hits], "soon")
    refused(["-e", "work", "--buffer-size", "12Q", "--", hits], "12Q")
    refused(["-e", "work", "--user", "no-such-user", "--", hits], "no-such-user")
    threads = live.start([hits, "2", "1000", "10000"], stdout=subprocess.DEVNULL)
    wait_for(lambda: len(os.listdir("/proc/%d/task" % threads.pid)) > 1)
    tid = max(int(t) for t in os.listdir("/proc/%d/task" % threads.pid))
    refused(["-e", "work", "-p", str(tid)], str(tid), "thread of process %d" % threads.pid)
    threads.kill()
    threads.wait()


def failed_exec():
    broken = os.path.join(tmp, "broken")
    with open(hits, "rb") as f:
        image = bytearray(f.read())
    image[18:20] = struct.pack("<H", 0x1234)  # a machine that is not this one
    with open(broken, "wb") as f:
        f.write(image)
    os.chmod(broken, 0o755)
    refused(["-x", hits, "-e", "work", "--", broken], broken, name="a command that exec refuses")
    with open(data, "w") as f:
        f.write("older")
    done = live.record("-o", data, "-x", hits, "-e", "work", "--", broken)
    with open(data) as f:
        equal(f.read(), "older", "an older file is back in its place")
    equal(done.returncode, 1, "and the status is 1")


def ends_at_once():
    done = live.record("-o", data, "-x", "/bin/true", "-e", "*0", "--", "/bin/true")
    ok(done.returncode == 1, "an address that cannot be probed", done.stderr)
    done = live.record("-o", data, "-x", hits, "-e", "work", "--", "/bin/true")
    equal(done.returncode, 0, "a command that ends at once")
    ok("0 events from 1 probe (0 lost)" in done.stderr, "is said with 0 events", done.stderr)


def exit_status():
    done = live.record("-o", data, "-x", hits, "-e", "work", "--", "sh", "-c", "exit 7")
    equal(done.returncode, 0, "the command's failure is not the recorder's")


def interrupts():
    for sig in (signal.SIGINT, signal.SIGTERM):
        p = begin(command=[hits, "1", "100000", "1000"])
        p.send_signal(sig)
        out, err = said(p)
        equal(p.returncode, 0, "%s: exit status" % sig.name)
        ran = int(out)
        # The handler may interrupt the call that is being counted.
        ok(ran > 0 and ("gs-record: %d event" % ran in err or "gs-record: %d event" % (ran + 1) in err),
           "%s is passed to the command, all its events are there" % sig.name, out + err)
    # A command that ignores the interrupt: the second one ends the recording, the command lives on.
    p = begin("-x", hits, command=["sh", "-c", "trap '' INT; %s 1 100000 1000; :" % hits])
    child = child_of(p.pid)
    p.send_signal(signal.SIGINT)
    time.sleep(0.5)
    ok(p.poll() is None, "a command that ignores the interrupt: the recording goes on")
    p.send_signal(signal.SIGINT)
    equal(p.wait(20), 0, "insisting: exit status")
    ok(alive(child), "insisting: the command lives on")
    os.kill(child, signal.SIGKILL)


def terminal():
    """An interrupt typed at the terminal reaches the command once."""
    command = ("import signal,time;n=[0];signal.signal(signal.SIGINT,lambda s,f:n.__setitem__(0,n[0]+1));"
               "print('ready',flush=True);time.sleep(1);time.sleep(1);print('got',n[0],flush=True)")
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(live.RECORD, [live.RECORD, "-o", data, "-x", hits, "-e", "work", "--", sys.executable, "-c", command])
    seen = b""
    while b"ready" not in seen:
        seen += os.read(fd, 1024)
    os.write(fd, b"\x03")
    try:
        while b"gs-record: 0 events" not in seen:
            seen += os.read(fd, 1024)
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    ok(b"got 1" in seen and status == 0, "an interrupt from the terminal reaches the command once", seen.decode())
    os.close(fd)


def stuck_reader():
    """A pipe that nobody reads: the rings fill, what they cannot take is counted; insisting ends it."""
    r, w = os.pipe()
    with open(os.path.join(tmp, "err"), "w") as err:
        p = live.start([live.RECORD, "-o", "-", "--buffer-size", "256K", "-e", "work", "--", hits, "2", "1000000"],
                       stdout=w, stderr=err)
    os.close(w)
    time.sleep(3)
    ok(p.poll() is None and record_live.own_memory(p.pid) < 64 << 20, "a pipe that is not read: memory stays bounded",
       record_live.own_memory(p.pid))
    child = child_of(p.pid)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    p.send_signal(signal.SIGTERM)
    wait_for(lambda: p.poll() is not None, 20, "the recorder's end")
    with open(os.path.join(tmp, "err")) as f:
        text = f.read()
    ok(p.returncode == 2 and "takes no data" in text, "insisting ends it with a message", "%s\n%s" % (p.returncode, text))
    os.close(r)
    if alive(child):
        os.kill(child, signal.SIGKILL)


def unprivileged():
    """What is missing is named, with what to do."""
    public = os.path.join(tmp, "public")
    os.makedirs(public, exist_ok=True)
    os.chmod(public, 0o777)
    recorder = live.public_recorder()

    def record(*args):
        return subprocess.run([recorder, *args], capture_output=True, text=True, timeout=60, cwd=public, user="nobody",
                              group="nogroup", extra_groups=[])

    done = record("-e", "work", "--", hits)
    ok(done.returncode == 1 and "root" in done.stderr and "CAP_BPF" in done.stderr and not os.listdir(public),
       "without privileges: says which, and leaves nothing", done.stderr)
    for args, word in ((["--dry-run", "-v", "-e", "work"], "rdi"), (["-L", "work"], "record_hits.c"),
                       (["-V", "work"], "thread"), (["-F", "wo*"], "work")):
        done = record(*args, "--", hits)
        ok(done.returncode == 0 and word in done.stdout and not os.listdir(public),
           "asking needs no root: " + args[0], done.stdout + done.stderr)
    done = record("-e", "work", "-p", "1")
    ok(done.returncode == 1 and "process 1" in done.stderr and "root" in done.stderr, "another user's process", done.stderr)


def duration():
    p = begin("--duration", "1s", command=[hits, "1", "100000", "1000"])
    child = child_of(p.pid)
    start = time.monotonic()
    _, err = said(p)
    ok(0.3 < time.monotonic() - start < 3, "--duration 1s ends in time", time.monotonic() - start)
    equal(p.returncode, 0, "exit status")
    ok(alive(child), "the command lives on")
    os.kill(child, signal.SIGKILL)


def pids():
    target = live.start([hits, "1", "100000", "1000"], stdout=subprocess.PIPE, text=True)
    p = begin("-p", str(target.pid))
    p.send_signal(signal.SIGINT)
    _, err = said(p)
    equal(p.returncode, 0, "-p: an interrupt ends the recording")
    ok(target.poll() is None and len(live.events(data)) > 50, "the process lives on, its events are there", err)
    p = begin("-p", str(target.pid))
    target.terminate()
    said(p)
    equal(p.returncode, 0, "-p: the end of the process ends the recording")


def kill_nine():
    """Every event older than 250 ms (and what the scheduler held up) is in the file."""
    late = [0.0]
    stop = threading.Event()

    def heartbeat():
        while not stop.is_set():
            t = time.monotonic()
            time.sleep(0.005)
            late[0] = max(late[0], time.monotonic() - t - 0.005)

    threading.Thread(target=heartbeat, daemon=True).start()
    worst = 0.0
    for turn in range(10):
        times = os.path.join(tmp, "times%d" % turn)
        p = begin(command=[hits, "1", "20000", "500", times])
        child = child_of(p.pid)
        time.sleep(random.uniform(0.1, 1.0))
        late[0] = 0.0
        time.sleep(0.3)
        p.kill()
        killed = time.monotonic_ns()
        p.wait()
        good = alive(child)
        done = live.report("--json", data)
        got = [e for e in done.stdout.splitlines()]
        with open(times, "rb") as f:
            made = [t for t in struct.unpack("<20000Q", f.read()) if t]
        missing = [t for t in made[len(got):] if t < killed]
        age = (killed - missing[0]) / 1e6 if missing else 0.0
        worst = max(worst, age - late[0] * 1000)
        good = good and done.returncode == 0 and age < 250 + 2000 * late[0] and len(got) > 100
        ok(good and "did not end" in done.stderr + live.report("--info", data).stdout,
           "kill -9, turn %d: the file reads, the command lives" % (turn + 1),
           "status %d, %d of %d events, oldest missing %.0f ms old, scheduler %.0f ms\n%s" %
           (done.returncode, len(got), len(made), age, late[0] * 1000, done.stderr))
        os.kill(child, signal.SIGKILL)
    stop.set()
    print("# oldest event that was missing: %.0f ms" % worst)


def disk_full():
    disk = os.path.join(tmp, "disk")
    os.makedirs(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", disk]).returncode:
        ok(True, "disk full # SKIP cannot mount a tmpfs")
        return
    try:
        path = os.path.join(disk, "x.data")
        with open(os.path.join(tmp, "err"), "w") as f:
            p = live.start([live.RECORD, "-o", path, "-e", "work", "--", hits, "2", "2000000", "1"],
                           stdout=subprocess.DEVNULL, stderr=f)
        wait_for(lambda: os.path.exists(path))
        time.sleep(0.5)
        child = child_of(p.pid)
        with open(os.path.join(disk, "fill"), "wb") as f:
            try:
                while os.statvfs(disk).f_bavail > 16:
                    f.write(b"x" * 4096)
                    f.flush()
            except OSError:
                pass
        _, err = said(p)
        equal(p.returncode, 2, "disk full: exit status")
        ok("No space left" in err and path in err, "disk full: the message names the file and the reason", err)
        done = live.report("--json", path)
        closing = [line for line in err.splitlines() if " events from 1 probe" in line]
        ok(done.returncode == 0 and closing and
           closing[0].startswith("gs-record: %d event" % len(done.stdout.splitlines())),
           "disk full: the file is valid and has what is said", err + done.stderr)
        ok(alive(child), "disk full: the command lives on")
        os.kill(child, signal.SIGKILL)
    finally:
        time.sleep(0.1)
        subprocess.run(["umount", "-l", disk])


def files():
    d = os.path.join(tmp, "files")
    os.makedirs(d)
    done = live.record("-e", "work", "--", hits, cwd=d)
    equal(sorted(os.listdir(d)), ["gs.data"], "the default file")
    st = os.stat(os.path.join(d, "gs.data"))
    equal(stat.S_IMODE(st.st_mode), 0o600, "its mode")
    live.record("-e", "work", "--", hits, cwd=d)
    equal(sorted(os.listdir(d)), ["gs.data", "gs.data.old"], "an existing one becomes gs.data.old")
    nobody = pwd.getpwnam("nobody")
    env = dict(os.environ, SUDO_UID=str(nobody.pw_uid), SUDO_GID=str(nobody.pw_gid))
    live.record("-e", "work", "-o", "mine", "--", hits, cwd=d, env=env)
    st = os.stat(os.path.join(d, "mine"))
    equal((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)), (nobody.pw_uid, nobody.pw_gid, 0o600),
          "under sudo it belongs to the caller")
    victim = os.path.join(d, "victim")
    with open(victim, "w") as f:
        f.write("precious")
    os.symlink(victim, os.path.join(d, "planted"))
    done = live.record("-e", "work", "-o", "planted", "--", hits, cwd=d)
    with open(victim) as f:
        ok(done.returncode == 1 and f.read() == "precious" and "symbolic link" in done.stderr,
           "a planted symbolic link is not followed", done.stderr)
    os.symlink(victim, os.path.join(d, "mine.old"))
    live.record("-e", "work", "-o", "mine", "--", hits, cwd=d)
    with open(victim) as f:
        ok(f.read() == "precious" and not os.path.islink(os.path.join(d, "mine.old")),
           "nor one at the older file's name")


def pipes():
    made = subprocess.run("%s -q -o - -e work -- %s 2 500 2>%s/cmd | %s --json -" %
                          (live.RECORD, hits, tmp, live.REPORT), shell=True, capture_output=True, text=True)
    equal(len(made.stdout.splitlines()), 1000, "-o - | gs-report -")
    with open(os.path.join(tmp, "cmd")) as f:
        equal(f.read(), "1000\n", "with -o - the command's output goes to standard error")
    p = live.start([live.RECORD, "-o", "-", "-e", "work", "--", hits, "1", "200000", "100"],
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    p.stdout.read(4000)
    child = child_of(p.pid)
    p.stdout.close()
    equal(p.wait(20), 2, "a reader that goes away: exit status")
    err = os.read(p.stderr.fileno(), 65536).decode()
    ok("Broken pipe" in err, "it ends the recording with a message", err)
    os.kill(child, signal.SIGKILL)
    terminal, side = os.openpty()
    p = subprocess.run([live.RECORD, "-o", "-", "-e", "work", "--", hits], stdout=side, stderr=subprocess.PIPE,
                       text=True)
    ok(p.returncode == 1 and "terminal" in p.stderr, "-o - refuses a terminal", p.stderr)
    os.close(terminal)
    os.close(side)


def inherited():
    """The command has the user's signal dispositions, mask and descriptors, and no others."""
    show = ("import os,signal;s=open('/proc/self/status').read();"
            "print([l.split()[1] for l in s.splitlines() if l[:4] in('SigB','SigI')],sorted(os.listdir('/proc/self/fd')))")
    plain = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, restore_signals=False)
    done = live.record("-o", data, "-x", hits, "-e", "work", "--", sys.executable, "-c", show, restore_signals=False)
    equal(done.stdout, plain.stdout, "signals and descriptors of the command are the user's")
    done = subprocess.run([live.RECORD, "-q", "-o", data, "-x", hits, "-e", "work", "--", "cat"], input="text",
                          capture_output=True, text=True)
    equal(done.stdout, "text", "standard input is the command's")
    done = live.record("-q", "-o", data, "-x", hits, "-e", "work", "--user", "nobody", "--", "id", "-un")
    equal(done.stdout, "nobody\n", "--user runs the command as that user")


for test in (bad_input, failed_exec, ends_at_once, exit_status, interrupts, terminal, stuck_reader, unprivileged, duration, pids, kill_nine, disk_full,
             files, pipes, inherited):
    live.case(test)
record_live.nothing_left(before, "no program, map or link is left in the kernel")
live.done()
