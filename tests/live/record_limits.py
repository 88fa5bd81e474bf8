#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Scarcity: few descriptors, few privileges, small buffers, small files, no types of the kernel; and where output may go."""
import os
import pwd
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live
import record_live
from live import equal, ok

live.plan_or_skip()
tmp = live.directory()
os.chmod(tmp, 0o777)
hits = record_live.fixture(tmp, "record_hits", "-O2", "-lpthread")
kinds = record_live.fixture(tmp, "record_kinds", "-O1", "-lpthread")
data = os.path.join(tmp, "x.data")
before = record_live.kernel_objects()
CLOSING = re.compile(r"gs-record: (\d+) events? from (\d+) probes? \((\d+) lost\)")


def many_functions(n):
    source = os.path.join(tmp, "many.c")
    with open(source, "w") as f:
        for i in range(n):
            f.write("__attribute__((noinline)) void fn%d(long a) { __asm__ volatile(\"nop\" : : \"r\"(a)); }\n" % i)
        f.write("int main(void) {\n%s\treturn 0;\n}\n" % "".join("\tfn%d(%d);\n" % (i, i) for i in range(n)))
    return live.compile_c(source, os.path.join(tmp, "many"), "-O1")


def limit(what, soft):
    return lambda: resource.setrlimit(what, (soft, resource.getrlimit(what)[1]))


def many_probes():
    many = many_functions(120)
    probes = [w for i in range(120) for w in ("-e", "fn%d" % i)]
    for off in ("", "no-multi"):
        done = live.record("-o", data, *probes, "--", many, env=dict(os.environ, GS_FEATURES_OFF=off),
                           preexec_fn=limit(resource.RLIMIT_NOFILE, 64))
        ok("gs-record: 120 events from 120 probes (0 lost)" in done.stderr, "120 probes with a soft limit of 64 files %s" % off,
           done.stderr)
    done = live.record("-o", data, "-x", many, "-e", "fn1", "--", "sh", "-c", "ulimit -Sn",
                       preexec_fn=limit(resource.RLIMIT_NOFILE, 64))
    equal(done.stdout, "64\n", "the command has the limit that the user gave")
    done = live.record("-o", data + ".no", "--max-sites", "3", *probes[:8], "--", many)
    ok(done.returncode == 1 and "4 sites" in done.stderr and "--max-sites" in done.stderr, "--max-sites counts all probes",
       done.stderr)
    done = live.record("-o", data, "--max-sites", "4", *probes[:8], "--", many)
    equal(done.returncode, 0, "as many as --max-sites")


def few_files():
    """However few descriptors there are: an error that says so, or a recording."""
    for n in (6, 8, 10, 12, 14, 16, 18, 20, 24, 32):
        done = live.record("-o", data + ".few", "-e", "work", "--", hits, "1", "5",
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        good = "5 events from 1 probe (0 lost)" in done.stderr if done.returncode == 0 else (
            done.returncode == 1 and "oo many open files" in done.stderr and "smaller" not in done.stderr)
        ok(good and (done.returncode == 0) == os.path.exists(data + ".few"), "%d descriptors: status %d" % (n, done.returncode),
           done.stderr)
        if os.path.exists(data + ".few"):
            os.unlink(data + ".few")


def file_size():
    done = live.record("-o", data, "-e", "work", "--", hits, "1", "200000", preexec_fn=limit(resource.RLIMIT_FSIZE, 8192))
    m = CLOSING.search(done.stderr)
    ok(done.returncode == 2 and "File too large" in done.stderr and done.stdout == "200000\n" and
       len(live.events(data)) == int(m[1]), "a limit of the file's size cuts it short, and the file is valid", done.stderr)


def process_storm():
    """Processes and events together, with rings that cannot take either."""
    done = live.record("-o", data, "--buffer-size", "64K", "-e", "step", "-e", "work", "-x", kinds, "--", "sh", "-c",
                       "for i in 1 2 3 4 5 6 7 8; do %s forks 100 & %s threads 1000 & done; wait" % (kinds, kinds))
    ok(done.returncode == 1 and "work" in done.stderr, "one unknown probe of two is an error", done.stderr)
    for size in ("64K", "32M"):
        done = live.record("-o", data, "--buffer-size", size, "-e", "step", "-x", kinds, "--", "sh", "-c",
                           "for i in 1 2 3 4; do %s forks 50 & %s threads 2000 & done; wait" % (kinds, kinds))
        m = CLOSING.search(done.stderr)
        equal(int(m[1]) + int(m[3]), 4 * (50 + 16000), "recorded and lost of 200 processes with " + size)
        equal(len(live.events(data)), int(m[1]), "and the file has what was said")


def privileges():
    nobody = pwd.getpwnam("nobody")
    recorder = live.public_recorder()
    who = ["setpriv", "--reuid=%d" % nobody.pw_uid, "--regid=%d" % nobody.pw_gid, "--clear-groups"]

    def having(caps, *args, off=""):
        words = ",".join(["-all", *caps])
        return subprocess.run([*who, "--inh-caps=" + words, "--ambient-caps=" + words, recorder, "-o", data + ".caps", *args],
                              capture_output=True, text=True, timeout=60, cwd=tmp, env=dict(os.environ, GS_FEATURES_OFF=off))

    if subprocess.run([*who, recorder, "--version"], capture_output=True).returncode:
        ok(True, "capabilities # SKIP no setpriv")
        return
    for caps, missing in ((["+bpf"], "CAP_PERFMON"), (["+perfmon"], "CAP_BPF")):
        done = having(caps, "-e", "work", "--", hits, "1", "5")
        ok(done.returncode == 1 and missing in done.stderr, "with %s: what is missing is named" % caps[0], done.stderr)
    done = having(["+bpf", "+perfmon"], "-e", "work", "--", hits, "1", "5")
    ok(done.returncode == 0 and "5 events" in done.stderr, "CAP_BPF and CAP_PERFMON are enough", done.stderr)
    done = having(["+bpf", "+perfmon"], "-e", "work", "--", hits, "1", "5", off="no-multi")
    ok(done.returncode == 1 and "CAP_SYS_ADMIN" in done.stderr, "perf events need more, and it is said", done.stderr)
    done = subprocess.run(["setpriv", "--bounding-set=-all,+bpf,+perfmon", "--inh-caps=-all", recorder, "-o", data + ".no",
                           "-e", "work", "--", hits], capture_output=True, text=True, timeout=60)
    ok(done.returncode == 1 and "CAP_SETUID" in done.stderr, "root without CAP_SETUID", done.stderr)


def no_kernel_types():
    script = "mount --bind /dev/null /sys/kernel/btf/vmlinux; exec \"$@\""
    for args, status in (([], 1), (["--no-follow"], 0)):
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", live.RECORD, "-o", data + ".btf", *args, "-e",
                               "work", "--", hits, "1", "5"], capture_output=True, text=True, timeout=60)
        ok(done.returncode == status and ("--no-follow" in done.stderr if status else "5 events" in done.stderr),
           "without /sys/kernel/btf %s" % args, done.stderr)


def descriptors():
    """-o /dev/fd/N, as the shell's >( ) gives it: the command keeps its own output and does not hold the pipe."""
    r, w = os.pipe()
    out = os.path.join(tmp, "out")
    with open(out, "w") as o:
        p = live.start([live.RECORD, "-o", "/dev/fd/%d" % w, "--duration", "300ms", "-e", "work", "--", hits, "1", "3000",
                        "1000"], stdout=o, stderr=subprocess.PIPE, pass_fds=(w,))
    os.close(w)
    start = time.monotonic()
    with open(data, "wb") as f:
        while block := os.read(r, 65536):
            f.write(block)
    took = time.monotonic() - start
    os.close(r)
    p.communicate(timeout=20)
    ok(p.returncode == 0 and took < 2.5 and len(live.events(data)) > 20, "a descriptor ends with the recording, not the command",
       "%s after %.1f s" % (p.returncode, took))
    done = live.record("-o", "/dev/fd/99", "-e", "work", "--", hits)
    ok(done.returncode == 1 and "/dev/fd/99" in done.stderr, "one that is not open", done.stderr)


def full_output():
    with open("/dev/full", "w") as full:
        for args in (["--help"], ["--version"], ["--dry-run", "-e", "work", "--", hits], ["-F", "*", hits]):
            done = subprocess.run([live.RECORD, *args], stdout=full, stderr=subprocess.PIPE, text=True)
            ok(done.returncode == 1 and "No space left" in done.stderr, "what cannot be printed is an error: " + args[0],
               done.stderr)


for test in (full_output, many_probes, few_files, file_size, process_storm, privileges, no_kernel_types, descriptors):
    live.case(test)
record_live.nothing_left(before, "no program, map or link is left in the kernel")
live.done()
