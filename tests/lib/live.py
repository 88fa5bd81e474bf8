# SPDX-License-Identifier: BSD-2-Clause
"""What the live tests in Python share: TAP, running the two tools, cleaning up."""
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORD = os.environ.get("GS_RECORD", os.path.join(TOP, "gs-record"))
REPORT = os.environ.get("GS_REPORT", os.path.join(TOP, "gs-report"))
_count = _failed = 0
_started = []


def plan_or_skip():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        sys.exit(0)


def ok(condition, name, detail=""):
    global _count, _failed
    _count += 1
    if not condition:
        _failed += 1
        for line in str(detail).splitlines()[:40]:
            print("#", line)
    print("%sok %d - %s" % ("" if condition else "not ", _count, name), flush=True)
    return bool(condition)


def equal(got, want, name):
    return ok(got == want, name, "got:  %r\nwant: %r" % (got, want))


def case(function):
    """Runs a test function; an exception is a failed test, not the end of the run."""
    try:
        function()
    except Exception:
        ok(False, function.__name__, traceback.format_exc())


def done():
    print("1..%d" % _count)
    sys.exit(1 if _failed else 0)


def directory():
    d = tempfile.mkdtemp(prefix="gs-test-")
    os.chmod(d, 0o755)
    atexit.register(shutil.rmtree, d, True)
    return d


def public_recorder():
    """A copy of gs-record that every user can run, wherever the tree lies (a home directory is often closed to others)."""
    copy = os.path.join(directory(), "gs-record")
    shutil.copy(RECORD, copy)
    return copy


def start(command, **kw):
    """A process that is killed with the test, in its own group."""
    p = subprocess.Popen(command, start_new_session=True, **kw)
    _started.append(p)
    return p


@atexit.register
def _stop_all():
    for p in _started:
        if p.poll() is None:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def record(*args, **kw):
    kw.setdefault("timeout", 120)
    return subprocess.run([RECORD, *args], capture_output=True, text=True, errors="surrogateescape", **kw)


def report(*args, **kw):
    kw.setdefault("timeout", 120)
    return subprocess.run([REPORT, *args], capture_output=True, text=True, errors="surrogateescape", **kw)


def events(data, *args):
    done_ = report("--json", *args, data)
    if done_.returncode:
        raise RuntimeError("gs-report: %d: %s" % (done_.returncode, done_.stderr))
    return [json.loads(line) for line in done_.stdout.splitlines()]


def wait_for(condition, seconds=20, what="condition"):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


def compile_c(source, binary, *flags, cc="gcc"):
    subprocess.run([cc, "-g", "-o", binary, *flags, source], check=True)
    return binary
