#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that nobody here wrote: bash, python3, redis under load, and calls into the C library."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403

plan_or_skip()
tmp = directory()
data = os.path.join(tmp, "gs.data")


def bash_by_symbol():
    """bash has no debug information: arguments by the ABI, and the program says what is right."""
    script = "a=1; b=two; c=$a; echo $a $b $c"
    r = record("-o", data, "-e", 'bind_variable { name = str($arg1), value = str($arg2) }', "--",
               "/bin/bash", "--norc", "-c", script)
    equal(r.returncode, 0, "bash: recorded")
    equal(r.stdout, "1 two 1\n", "bash: its output is its own")
    got = [(e["values"]["name"], e["values"]["value"]) for e in events(data)]
    got = [g for g in got if g[0] in "abc"]
    equal(got, [("a", "1"), ("b", "two"), ("c", "1")], "bash: each assignment with its strings")


def libc_typed():
    """A call into glibc with the types of libc6-dbg; the name in DWARF is another (alias)."""
    r = record("-o", data, "--system-wide", "-e", "libc.so.6!getaddrinfo { name, service, hints->ai_socktype, hints }",
               "--", "/usr/bin/python3", "-c",
               "import socket\nfor n in range(3): socket.getaddrinfo('127.0.0.%d' % n, 80 + n, type=socket.SOCK_STREAM)")
    equal(r.returncode, 0, "glibc: recorded")
    rows = events(data)
    got = [(e["values"]["name"], e["values"]["service"], e["values"]["hints->ai_socktype"]) for e in rows]
    equal(got, [("127.0.0.%d" % n, str(80 + n), 1) for n in range(3)], "glibc: typed arguments of getaddrinfo")
    ok(all(re.match(r"0x[0-9a-f]+$", e["values"]["hints"]) for e in rows), "glibc: a pointer is a hex string", rows)


def libc_alias():
    program = "import ctypes; c = ctypes.CDLL(None); [c.malloc(1000003 + i) for i in range(5)]"
    r = record("-o", data, "--system-wide", "-e", "libc.so.6!malloc if bytes >= 1000003 && bytes < 1000008", "--", "/usr/bin/python3", "-c", program)
    equal(r.returncode, 0, "malloc: recorded by its alias")
    equal([e["values"]["bytes"] for e in events(data)], [1000003 + i for i in range(5)], "malloc: its argument")


def python_with_debug_package():
    """python3.11 at -O2 with separate debug information, against Python's own account."""
    if not os.path.exists("/usr/bin/python3.11") or not subprocess.run(
            ["dpkg-query", "-W", "python3.11-dbg"], capture_output=True).returncode == 0:
        return ok(True, "python3 with its debug package # SKIP python3.11-dbg is not installed")
    program = "for i in range(4): len('x' * i)"
    r = record("-o", data, "-e", "builtin_len { obj->ob_type->tp_name, obj }", "--",
               "/usr/bin/python3.11", "-S", "-c", program)
    equal(r.returncode, 0, "python3.11-dbg: recorded")
    names = [e["values"]["obj->ob_type->tp_name"] for e in events(data)]
    equal(names[-4:], ["str"] * 4, "python3.11-dbg: a string through two pointers")


def redis_under_load():
    if not os.path.exists("/usr/bin/redis-server"):
        return ok(True, "redis under load # SKIP redis-server is not installed")
    port = "7391"
    server = start(["/usr/bin/redis-server", "--port", port, "--save", "", "--io-threads", "2", "--dir", tmp],
                   stdout=subprocess.DEVNULL)

    def cli(*a):
        return subprocess.run(["redis-cli", "-p", port, *a], capture_output=True, text=True).stdout

    wait_for(lambda: cli("ping").strip() == "PONG", what="redis")
    os.path.exists(data) and os.unlink(data)
    rec = start([RECORD, "-o", data, "--system-wide", "-p", str(server.pid), "-e",
                 'reply = libc.so.6!write { fd, text = str(buf, nbytes) } if nbytes == 7'],
                stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists(data) or rec.poll() is not None, what="recording")
    subprocess.run(["redis-benchmark", "-p", port, "-t", "ping_mbulk", "-n", "2000", "-c", "8", "-q"],
                   capture_output=True)
    calls = int(re.search(r"cmdstat_ping:calls=(\d+)", cli("info", "commandstats")).group(1))
    rec.send_signal(2)
    err = rec.communicate(timeout=30)[1]
    equal(rec.returncode, 0, "redis: recorded while it served")
    rows = [e for e in events(data) if e["values"]["text"] == "+PONG\r\n"]
    # One ping came from redis-cli before the recording.
    ok(calls - len(rows) in (0, 1), "redis: every reply, by its own count of commands", (calls, len(rows), err))
    equal(server.poll(), None, "redis: it lives on")
    server.terminate()


for function in (bash_by_symbol, libc_typed, libc_alias, python_with_debug_package, redis_under_load):
    case(function)
done()
