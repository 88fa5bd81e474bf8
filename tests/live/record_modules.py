#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files behind the processes: libraries that come later, files that are replaced or deleted, programs that are not the command."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live
import record_live
from live import equal, ok

live.plan_or_skip()
tmp = live.directory()
hits = record_live.fixture(tmp, "record_hits", "-O2", "-lpthread")
host = record_live.fixture(tmp, "record_host", "-O2", "-ldl")
os.makedirs(os.path.join(tmp, "hidden"))
plugin = record_live.fixture(os.path.join(tmp, "hidden"), "record_plugin", "-O2", "-shared", "-fPIC",
                             binary="libplugin_late.so")
data = os.path.join(tmp, "x.data")
before = record_live.kernel_objects()


def calls_by_pid():
    counts = {}
    for e in live.events(data):
        counts[e["pid"]] = counts.get(e["pid"], 0) + 1
    return sorted(counts.values())


def late_in_children():
    """A library that a child, or its child, maps is found as soon as one of the command itself."""
    command = "%s %s & sleep 0.2; (%s %s; :); wait" % (host, plugin, host, plugin)
    done = live.record("-o", data, "-e", "libplugin_late.so!plugin_step", "--", "sh", "-c", command)
    counts = calls_by_pid()
    ok(len(counts) == 2 and counts[0] > 1600 and counts[1] == 2000, "a library that grandchildren load",
       "%s\n%s" % (counts, done.stderr))


def late_and_wrong():
    """A probe that the late library does not have leaves the others of it alone, and is said."""
    done = live.record("-o", data, "-e", "libplugin_late.so!plugin_step", "-e", "libplugin_late.so!no_such_step", "-e",
                       "again=libplugin_late.so!plugin_step { n } if n >= 1000", "--", host, plugin)
    names = [e["probe"] for e in live.events(data)]
    ok("no function `no_such_step'" in done.stderr and done.stderr.count("no_such_step' in") == 1 and
       names.count("libplugin_late.so!plugin_step") > 1000 and names.count("again") == 1000,
       "one wrong probe of a late library does not cost the others", done.stderr)


def replaced():
    """A file that takes the place of a probed one has no probes; that is said."""
    moving = os.path.join(tmp, "moving")

    def replace(path, source):
        shutil.copy(source, path + ".new")
        os.rename(path + ".new", path)

    replace(moving, hits)
    script = "%s 1 10; cp %s %s.new; mv %s.new %s; for i in 1 2 3; do %s 1 10 20000; done" % (
        moving, hits, moving, moving, moving, moving)
    done = live.record("-o", data, "-x", moving, "-e", "work", "--", "sh", "-c", script)
    ok("gs-record: 10 events" in done.stderr and done.stderr.count("another file as `%s'" % moving) == 1,
       "a program that is built anew while recording", done.stderr)
    old = live.start([moving, "1", "100000", "1000"], stdout=subprocess.DEVNULL)
    time.sleep(0.2)
    replace(moving, hits)
    new = live.start([moving, "1", "100000", "1000"], stdout=subprocess.DEVNULL)
    time.sleep(0.2)
    done = live.record("-o", data, "-e", "work", "-p", "%d,%d" % (old.pid, new.pid), "--duration", "300ms")
    ok(done.returncode == 1 and "another file as `%s'" % moving in done.stderr,
       "-p of two that run different files of one name", done.stderr)
    done = live.record("-o", data, "-e", "work", "-x", moving, "--duration", "300ms")
    ok(len(calls_by_pid()) == 1 and "1 process maps another file as `%s'" % moving in done.stderr,
       "-x says who runs an older file", done.stderr)
    for p in (old, new):
        done = live.record("-o", data, "-e", "work", "-p", str(p.pid), "--duration", "300ms")
        ok(done.returncode == 0 and len(calls_by_pid()) == 1, "-p of one of them", done.stderr)
    os.unlink(moving)
    done = live.record("-o", data, "-e", "work", "-p", str(new.pid), "--duration", "300ms")
    ok(done.returncode == 0 and len(calls_by_pid()) == 1, "-p of a program that was deleted", done.stderr)
    for p in (old, new):
        p.kill()
        p.wait()


def replaced_library():
    library = os.path.join(tmp, "libmoving.so")
    shutil.copy(plugin, library)
    old = live.start([host, library], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    shutil.copy(plugin, library + ".new")
    os.rename(library + ".new", library)
    new = live.start([host, library], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    done = live.record("-o", data, "-e", "libmoving.so!plugin_step", "-p", "%d,%d" % (old.pid, new.pid), "--duration", "300ms")
    ok(done.returncode == 0 and "process %d maps another file as `%s'" % (new.pid, library) in done.stderr,
       "-p of two that map different libraries of one name", done.stderr)
    for p in (old, new):
        p.kill()
        p.wait()


def elsewhere():
    """A program that the command starts is not looked into by itself: it is said how."""
    done = live.record("-o", data, "-e", "work", "--", "sh", "-c", "%s 1 5; :" % hits)
    ok(done.returncode == 1 and "-x FILE" in done.stderr, "a function of a program that the command starts", done.stderr)
    done = live.record("-o", data, "-e", "work", "-x", hits, "--", "sh", "-c", "%s 1 5; :" % hits)
    ok("gs-record: 5 events from 1 probe (0 lost)" in done.stderr, "and with -x", done.stderr)
    for text in ("%s 1 5\n", "#!\n%s 1 5\n", "#! \t\n%s 1 5\n"):
        script = os.path.join(tmp, "script")
        with open(script, "w") as f:
            f.write(text % hits)
        os.chmod(script, 0o755)
        done = live.record("-o", data, "-e", "work", "-x", hits, "--", script)
        ok("gs-record: 5 events from 1 probe (0 lost)" in done.stderr, "a script that begins %r" % text[:4], done.stderr)
    equal(done.stdout, "5\n", "it runs as from a shell")


for test in (late_in_children, late_and_wrong, replaced, replaced_library, elsewhere):
    live.case(test)
record_live.nothing_left(before, "no program, map or link is left in the kernel")
live.done()
