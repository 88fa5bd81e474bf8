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
# kind: BPF_*_GET_NEXT_ID, BPF_*_GET_FD_BY_ID, where the name is in struct bpf_*_info
_KINDS = {"program": (11, 13, 64), "map": (12, 14, 24), "link": (31, 30, None)}
_LINKS = {1, 7, 12}  # raw tracepoint, perf event, uprobe_multi


def _bpf(command, *words):
    attr = ctypes.create_string_buffer(128)
    for i, word in enumerate(words):
        ctypes.c_uint32.from_buffer(attr, 4 * i).value = word
    return _libc.syscall(_SYS_BPF, command, attr, 128), attr


def _info(fd):
    info = ctypes.create_string_buffer(256)
    attr = ctypes.create_string_buffer(128)
    ctypes.c_uint32.from_buffer(attr, 0).value = fd
    ctypes.c_uint32.from_buffer(attr, 4).value = 256
    ctypes.c_uint64.from_buffer(attr, 8).value = ctypes.addressof(info)
    _libc.syscall(_SYS_BPF, 15, attr, 128)
    return info.raw


def _is_ours(kind, number):
    """By name; other programs of the machine come and go as well."""
    _, by_id, name_at = _KINDS[kind]
    fd, _ = _bpf(by_id, number)
    if fd < 0:
        return False
    info = _info(fd)
    os.close(fd)
    if name_at is None:
        return int.from_bytes(info[:4], "little") in _LINKS
    return info[name_at:name_at + 3] == b"gs_"


def kernel_objects():
    """(kind, id) of the BPF programs, maps and links that gs made, or could have made."""
    found = set()
    for kind, (next_id, _, _) in _KINDS.items():
        number = 0
        while True:
            status, attr = _bpf(next_id, number)
            if status != 0:
                break
            number = ctypes.c_uint32.from_buffer(attr, 4).value
            if _is_ours(kind, number):
                found.add((kind, number))
    return found


def nothing_left(before, name):
    """What was made since BEFORE is gone; the kernel frees some of it a little later."""
    left = set()
    for _ in range(100):
        left = kernel_objects() - before
        if not left:
            break
        time.sleep(0.1)
    live.ok(not left, name, sorted(left))
