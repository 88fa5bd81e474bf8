# SPDX-License-Identifier: BSD-2-Clause
"""What the live tests of the recorder share: programs to record, memory, what is left in the kernel."""
import ctypes
import os
import time

import live

# Tests of an installed or half-built pair.
live.RECORD = os.environ.get("GS_RECORD", live.RECORD)
live.REPORT = os.environ.get("GS_REPORT", live.REPORT)
FIXTURES = os.path.join(live.TOP, "tests", "fixtures")


def fixture(tmp, name, *flags, binary=None, cc="gcc"):
    return live.compile_c(os.path.join(FIXTURES, name + ".c"), os.path.join(tmp, binary or name), *flags, cc=cc)


def human(size):
    """As gs-record says sizes."""
    if size < 1024:
        return "%d B" % size
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            break
    return "%.1f %s" % (size, unit)


def own_memory(pid):
    """Resident anonymous bytes: the rings are mappings of the kernel's memory and do not count."""
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def watch_memory(process):
    peak = 0
    while process.poll() is None:
        try:
            peak = max(peak, own_memory(process.pid))
        except (FileNotFoundError, ProcessLookupError):
            break
        time.sleep(0.02)
        # Zombies have no memory lines.
    return peak


_libc = ctypes.CDLL(None, use_errno=True)
_SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]


def _ids(next_command):
    ids, attr = set(), ctypes.create_string_buffer(128)
    start = 0
    while True:
        ctypes.memset(attr, 0, 128)
        ctypes.c_uint32.from_buffer(attr, 0).value = start
        if _libc.syscall(_SYS_BPF, next_command, attr, 128) != 0:
            return ids
        start = ctypes.c_uint32.from_buffer(attr, 4).value
        ids.add(start)


def kernel_objects():
    """Ids of all BPF programs, maps and links of the machine."""
    return {(kind, i) for kind, command in (("program", 11), ("map", 12), ("link", 31)) for i in _ids(command)}


def nothing_left(before, name):
    """What was made since BEFORE is gone; the kernel frees some of it a little later."""
    left = set()
    for _ in range(100):
        left = kernel_objects() - before
        if not left:
            break
        time.sleep(0.1)
    live.ok(not left, name, sorted(left))
