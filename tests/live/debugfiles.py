#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where debug information lives: one program, its debug information in every place and form, the same answers.

Two units are built by gcc and clang. For each way of keeping their debug information, what -V says of places in them
is what it says of the plain build with the same code; for some, what is recorded is compared as well.
"""
import ctypes
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live
import record_live  # GS_RECORD and GS_REPORT
from live import equal, ok

live.plan_or_skip()
tmp = live.directory()
A = """#include <stdio.h>
struct pair { int a; const char *s; struct pair *next; };
int other(struct pair *p, int n);
enum color { RED, GREEN, BLUE };
static __attribute__((noinline)) int twice(int n, const char *what, enum color c)
{
	int r = n * 2 + c;
	struct pair local = { r, what, 0 };
	if (r > 1000)
		puts(what);
	return other(&local, r);
}
int main(int argc, char **argv)
{
	struct pair p = { argc, "hello", 0 };
	int total = 0;
	for (int i = 0; i < 5; i++)
		total += twice(i, "what", i % 3) + other(&p, i);
	printf("%d\\n", total);
	if (argc > 1)
		getchar();
	return 0;
}
"""
B = """struct pair { int a; const char *s; struct pair *next; };
static int sum;
__attribute__((noinline)) int other(struct pair *p, int n)
{
	int k = n + p->a;
	for (int j = 0; j < n; j++) {
		k += j * p->a;
		sum += k;
	}
	return k;
}
"""
PLACES = ("twice", "other", "a.c:9", "b.c:7")
VALUES = ("-e", "twice", "-e", "other { p, *p, n, sum }")


def run(*command, cwd=None, **kw):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, **kw)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(command), done.stderr))
    return done.stdout


def new_directory(name):
    d = os.path.join(tmp, name)
    os.makedirs(d)
    for file, text in (("a.c", A), ("b.c", B)):
        with open(os.path.join(d, file), "w") as f:
            f.write(text)
    return d


def build(name, cc="gcc", *flags, link=()):
    """A directory with prog in it. Each gets a build-id of its own: paths are part of the DWARF."""
    d = new_directory(name)
    flags = ("-O2", "-g", *flags)
    for unit in "ab":
        run(cc, *flags, "-c", unit + ".c", cwd=d)
    run(cc, *flags, "-Wl,--build-id=sha1", "-o", "prog", "a.o", "b.o", *link, cwd=d)
    return d


def without_paths(text):
    return re.sub(re.escape(tmp) + r"/[^/ ]*/", "", text)


def look(binary, *args):
    """What -V says of all places; paths of the build's own directory are cut."""
    out = []
    for place in PLACES:
        done = live.record("-V", place, "-x", binary, *args)
        out.append("%s %d\n%s%s" % (place, done.returncode, done.stdout, done.stderr))
    return without_paths("".join(out))


def values(binary, *args):
    data = os.path.join(tmp, "x.data")
    done = live.record("-o", data, *VALUES, *args, "--", binary)
    rows = [(e["func"], e["values"], e.get("status")) for e in live.events(data)] if done.returncode == 0 else []
    for _, v, _ in rows:
        v.pop("p", None)
        for item in list(v.values()):
            if isinstance(item, dict):
                item.pop("next", None)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", repr(rows))
    return done.stderr if done.returncode else text


def same(want, binary, what, *args):
    return equal(look(binary, *args), want, what)


def zstd(data):
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    lib.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    lib.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    out = ctypes.create_string_buffer(lib.ZSTD_compressBound(len(data)))
    size = lib.ZSTD_compress(out, len(out), data, len(data), 3)
    return out.raw[:size]


def compress_zstd(path, claim=None):
    """As objcopy --compress-debug-sections=zstd, which old binutils lack; CLAIM: a size that is a lie."""
    with open(path, "rb") as f:
        elf = bytearray(f.read())
    shoff, = struct.unpack_from("<Q", elf, 40)
    entry, count, names = struct.unpack_from("<HHH", elf, 58)
    names, = struct.unpack_from("<Q", elf, shoff + names * entry + 24)
    for i in range(count):
        at = shoff + i * entry
        name, kind, flags, _, offset, size = struct.unpack_from("<IIQQQQ", elf, at)
        text = bytes(elf[names + name:elf.index(0, names + name)])
        if not text.startswith(b".debug_") or kind == 8 or flags & 0x800:
            continue
        packed = struct.pack("<IIQQ", 2, 0, claim or size, 1) + zstd(bytes(elf[offset:offset + size]))
        elf += bytes(-len(elf) % 8)
        struct.pack_into("<Q", elf, at + 8, flags | 0x800)
        struct.pack_into("<QQ", elf, at + 24, len(elf), len(packed))
        elf += packed
    with open(path, "wb") as f:
        f.write(elf)


def move_dwo(d):
    """The units of a split build to another directory; the program does not find them by itself then."""
    away = os.path.join(d, "away")
    os.makedirs(away)
    for unit in "ab":
        os.rename(os.path.join(d, unit + ".dwo"), os.path.join(away, unit + ".dwo"))
    return away


# Split units and packages


def split(cc, version):
    name = "%s-dwarf%s" % (cc, version)
    flag = "-gdwarf-%s" % version
    plain = os.path.join(build(name, cc, flag), "prog")
    want, recorded = look(plain), values(plain)
    d = build(name + "-split", cc, flag, "-gsplit-dwarf")
    prog = os.path.join(d, "prog")
    same(want, prog, "%s: .dwo files" % name)
    equal(values(prog), recorded, "%s: values through .dwo files" % name)
    # Of Debian 12, dwp crashes and llvm-dwp loops on DWARF 5 of gcc.
    if cc != "gcc" or version == 4:
        run("dwp" if cc == "gcc" else "llvm-dwp", "-e", "prog", "-o", "prog.dwp", cwd=d, timeout=30)
    away = move_dwo(d)
    if os.path.exists(os.path.join(d, "prog.dwp")):
        same(want, prog, "%s: a package" % name)
        equal(values(prog), recorded, "%s: values through a package" % name)
        compress_zstd(os.path.join(d, "prog.dwp"))
        same(want, prog, "%s: a package compressed with zstd" % name)
        os.unlink(os.path.join(d, "prog.dwp"))
    same(want, prog, "%s: .dwo files in -D" % name, "-D", away)
    compress_zstd(os.path.join(away, "a.dwo"))
    run("objcopy", "--compress-debug-sections=zlib", "b.dwo", cwd=away)
    same(want, prog, "%s: compressed .dwo files" % name, "-D", away)
    # One is missing: it is named, and the other unit is as before.
    os.unlink(os.path.join(away, "b.dwo"))
    done = live.record("-V", "twice", "-x", prog, "-D", away)
    ok(without_paths(done.stdout) in want and (done.stderr == "" or d + "/b.dwo" in done.stderr), "%s: the unit that is there" % name,
       done.stdout + done.stderr)
    done = live.record("-V", "other", "-x", prog, "-D", away)
    ok(done.returncode == 0 and done.stderr.count(d + "/b.dwo") == 1, "%s: the unit that is missing" % name,
       done.stdout + done.stderr)
    shutil.copy(os.path.join(away, "a.dwo"), os.path.join(away, "b.dwo"))
    done = live.record("-V", "other", "-x", prog, "-D", away)
    ok(len(set(re.findall(r"\b[0-9a-f]{16}\b", done.stderr))) == 2, "%s: another unit is refused with both numbers" % name,
       done.stderr)
    shutil.rmtree(away)


# Compression


def compressed():
    d = build("gz")
    prog = os.path.join(d, "prog")
    want = look(prog)
    for form in ("zlib", "zlib-gnu"):
        run("objcopy", "--compress-debug-sections=" + form, "prog", "prog-" + form, cwd=d)
        same(want, prog + "-" + form, "sections compressed by " + form)
    shutil.copy(prog, prog + "-zstd")
    compress_zstd(prog + "-zstd")
    same(want, prog + "-zstd", "sections compressed by zstd")
    for claim in (1 << 29, 1 << 50, 17):
        shutil.copy(prog, prog + "-lie")
        compress_zstd(prog + "-lie", claim)
        done = live.record("-V", "other", "-x", prog + "-lie")
        ok(done.returncode == 0 and "section .debug_" in done.stdout + done.stderr, "a section that says to have %d bytes" % claim,
           done.stdout + done.stderr)


# Separate files


def separate():
    d = build("separate")
    prog, debug = os.path.join(d, "prog"), os.path.join(d, "prog.debug")
    want = look(prog)
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", prog)).group(1)
    run("objcopy", "--only-keep-debug", "prog", "prog.debug", cwd=d)
    run("strip", "-g", "prog", cwd=d)
    nothing = live.record("-V", "other", "-x", prog)
    ok("no debug information" in nothing.stdout, "without any", nothing.stdout)
    tree = os.path.join(d, "tree", ".build-id", build_id[:2])
    os.makedirs(tree)
    in_tree = os.path.join(tree, build_id[2:] + ".debug")
    shutil.copy(debug, in_tree)
    same(want, prog, "-D and a tree of build-ids", "-D", os.path.join(d, "tree"))
    same(want, prog, "-D and the tree itself", "-D", os.path.join(d, "tree", ".build-id"))
    same(want, prog, "-D and a plain directory", "-D", tmp, "--debug-dir=" + d)
    compress_zstd(in_tree)
    same(want, prog, "a debug file compressed by zstd", "-D", os.path.join(d, "tree"))
    # Another build's file in its place.
    other = build("separate-other", "gcc", "-O1")
    shutil.copy(os.path.join(other, "prog"), in_tree)
    done = live.record("-V", "twice", "-x", prog, "-D", os.path.join(d, "tree"))
    ok(build_id in done.stdout + done.stderr and len(set(re.findall(r"\b[0-9a-f]{40}\b", done.stdout + done.stderr))) == 2,
       "another build's debug file is refused with both build-ids", done.stdout + done.stderr)
    same(want, prog, "and the search goes on", "-D", os.path.join(d, "tree"), "-D", d)
    size = os.path.getsize(debug)
    for cut in (size // 2, size - 100, 70, 3):
        shutil.copy(debug, in_tree)
        os.truncate(in_tree, cut)
        done = live.record("-V", "other", "-x", prog, "-D", os.path.join(d, "tree"))
        ok(done.returncode == 0 and in_tree in done.stdout + done.stderr or cut < 4, "a debug file cut to %d bytes" % cut,
           done.stdout + done.stderr)
    shutil.rmtree(os.path.join(d, "tree"))
    debuglink(d, prog, debug, want)


def debuglink(d, prog, debug, want):
    """By name and checksum, of a program without a build-id."""
    run("objcopy", "--remove-section=.note.gnu.build-id", "prog", cwd=d)
    run("objcopy", "--remove-section=.note.gnu.build-id", "prog.debug", cwd=d)
    run("objcopy", "--add-gnu-debuglink=prog.debug", "prog", cwd=d)
    same(want, prog, ".gnu_debuglink: beside the program")
    os.makedirs(os.path.join(d, ".debug"))
    hidden = os.path.join(d, ".debug", "prog.debug")
    os.rename(debug, hidden)
    same(want, prog, ".gnu_debuglink: in .debug")
    mirror = "/usr/lib/debug" + d
    os.makedirs(mirror)
    try:
        os.rename(hidden, os.path.join(mirror, "prog.debug"))
        same(want, prog, ".gnu_debuglink: in /usr/lib/debug")
        os.rename(os.path.join(mirror, "prog.debug"), hidden)
    finally:
        os.removedirs(mirror)
    link = os.path.join(d, "other-name")
    os.symlink(prog, link)
    same(want, link, ".gnu_debuglink: through a symbolic link to the program")
    with open(hidden, "ab") as f:
        f.write(b"x")
    done = live.record("-V", "other", "-x", prog)
    ok("checksum" in done.stdout + done.stderr and done.returncode == 0, ".gnu_debuglink: a wrong checksum is refused",
       done.stdout + done.stderr)


def shared():
    """dwz -m: two programs share a file; it is found by its path, and by build-id elsewhere."""
    d = build("dwz", "gcc", "-fno-eliminate-unused-debug-types")
    prog = os.path.join(d, "prog")
    want = look(prog)
    for n in (1, 2):
        run("gcc", "-O2", "-g", "-fno-eliminate-unused-debug-types", "-DX=%d" % n, "-o", "two%d" % n, "a.c", "b.c", cwd=d)
    run("dwz", "-m", "common.debug", "-r", "prog", "two1", "two2", cwd=d)
    ok("debugaltlink" in run("readelf", "-S", "-W", prog), "dwz made a shared file")
    same(want, prog, "the shared file of dwz")
    os.makedirs(os.path.join(d, "far"))
    os.rename(os.path.join(d, "common.debug"), os.path.join(d, "far", "common.debug"))
    same(want, prog, "the shared file of dwz in -D", "-D", os.path.join(d, "far"))
    done = live.record("-V", "other", "-x", prog)
    ok(done.returncode == 0 and "common.debug" in done.stdout + done.stderr, "without it: one that names it",
       done.stdout + done.stderr)


def minidebug():
    """.gnu_debugdata: functions that a stripped program does not name."""
    d = build("mini")
    run("objcopy", "-S", "--remove-section=.gnu_debugdata", "prog", "stripped", cwd=d)
    run("objcopy", "--only-keep-debug", "prog", "syms", cwd=d)
    run("objcopy", "-g", "syms", cwd=d)
    run("xz", "-k", "syms", cwd=d)
    run("objcopy", "--add-section", ".gnu_debugdata=syms.xz", "stripped", cwd=d)
    done = live.record("-F", "other", "-x", os.path.join(d, "stripped"))
    ok(done.returncode == 0 and "other" in done.stdout, ".gnu_debugdata names functions", done.stdout + done.stderr)
    data = os.path.join(tmp, "x.data")
    done = live.record("-o", data, "-e", "other { $arg2 }", "--", os.path.join(d, "stripped"))
    equal([list(e["values"].values())[0] for e in live.events(data)], [0, 0, 3, 1, 6, 2, 6, 3, 9, 4], "and they can be recorded")


# Other roots, files that run


def sysroot():
    d = build("sysroot")
    prog = os.path.join(d, "prog")
    want = look(prog)
    root = os.path.join(d, "root")
    os.makedirs(root + "/opt/bin")
    os.makedirs(root + "/usr/lib/debug/opt/bin")
    run("objcopy", "--only-keep-debug", prog, root + "/usr/lib/debug/opt/bin/prog.debug")
    shutil.copy(prog, root + "/opt/bin/prog-1")
    run("strip", "-g", root + "/opt/bin/prog-1")
    run("objcopy", "--add-gnu-debuglink=" + root + "/usr/lib/debug/opt/bin/prog.debug", root + "/opt/bin/prog-1")
    os.symlink("/opt/bin/prog-1", root + "/opt/bin/prog")
    same(want, "/opt/bin/prog-1", "--sysroot: program and debug file below it", "--sysroot", root)
    same(want, "/opt/bin/prog", "--sysroot: an absolute link means a file below it", "--sysroot", root)


def container():
    """A process under another root: its program and debug file are found there."""
    d = build("container", link=("-static",))
    prog = os.path.join(d, "prog")
    want = look(prog)
    root = os.path.join(d, "root")
    os.makedirs(root + "/app")
    os.makedirs(root + "/usr/lib/debug/app")
    run("objcopy", "--only-keep-debug", prog, root + "/usr/lib/debug/app/prog.debug")
    shutil.copy(prog, root + "/app/prog")
    run("strip", "-g", root + "/app/prog")
    run("objcopy", "--add-gnu-debuglink=" + root + "/usr/lib/debug/app/prog.debug", root + "/app/prog")
    os.unlink(prog)
    p = live.start(["unshare", "-m", "chroot", root, "/app/prog", "x"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    live.wait_for(lambda: os.path.basename(os.readlink("/proc/%d/exe" % p.pid)) == "prog", what="the program")
    time.sleep(0.1)
    out = ""
    for place in PLACES:
        done = live.record("-V", place, "-p", str(p.pid))
        out += "%s %d\n%s%s" % (place, done.returncode, done.stdout, done.stderr)
    equal(without_paths(out), want, "-p of a process under another root")
    p.kill()
    p.wait()


def running():
    """What runs is probed, not what is on the disk by now."""
    d = build("running")
    prog = os.path.join(d, "prog")
    want = look(prog)
    p = live.start([prog, "x"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    live.wait_for(lambda: os.readlink("/proc/%d/exe" % p.pid) == prog, what="the program")
    shutil.copy("/bin/true", prog + ".new")
    os.rename(prog + ".new", prog)
    out = ""
    for place in PLACES:
        done = live.record("-V", place, "-p", str(p.pid))
        out += "%s %d\n%s%s" % (place, done.returncode, done.stdout, done.stderr)
    ok(all(line in without_paths(out) for line in want.splitlines()), "-p of a program that was replaced", out)
    p.kill()
    p.wait()


# Kinds of builds


def kinds():
    for name, cc, flags, link in (("lto", "gcc", ("-flto",), ()), ("thin", "clang", ("-flto=thin",), ("-fuse-ld=lld",)),
                                  ("clang-lto", "clang", ("-flto",), ("-fuse-ld=lld",)),
                                  ("static-pie", "gcc", ("-fPIE",), ("-static-pie",)), ("m32", "gcc", ("-m32",), ()),
                                  ("type-units", "gcc", ("-fdebug-types-section",), ()),
                                  ("types4", "gcc", ("-fdebug-types-section", "-gdwarf-4"), ())):
        prog = os.path.join(build("kind-" + name, cc, *flags, link=link), "prog")
        # Not every kernel runs 32-bit programs.
        got = look(prog) if name == "m32" else values(prog)
        ok("struct pair *p" in got and "readable at" in got if name == "m32" else
           [int(n) for n in re.findall(r"'other'.*?'n': (\d+)", got)] == [0, 0, 3, 1, 6, 2, 6, 3, 9, 4],
           "a build with " + " ".join(flags + link), got)


def split_types():
    """Type units of split builds: assemblers give each a section of its own."""
    for version in (4, 5):
        flags = ("-gdwarf-%d" % version, "-fdebug-types-section")
        plain = os.path.join(build("types-plain%d" % version, "gcc", *flags), "prog")
        d = build("types%d" % version, "gcc", *flags, "-gsplit-dwarf")
        prog = os.path.join(d, "prog")
        want = values(plain)
        equal(values(prog), want, "DWARF %d: type units in .dwo files" % version)


def limits():
    d = build("limits")
    prog = os.path.join(d, "prog")
    want = look(prog)
    done = subprocess.run(["sh", "-c", 'ulimit -s 128; exec "$0" -V twice -x "$1"', live.RECORD, prog], capture_output=True, text=True)
    ok(done.returncode == 0 and without_paths(done.stdout) in want, "a small stack", done.stderr)
    run("gcc", "-shared", "-fPIC", "-g", "-o", "libhere.so", "b.c", cwd=d)
    done = live.record("-V", "libhere.so!other", "-x", prog, cwd=d)
    ok(done.returncode == 1 and "libhere.so" in done.stderr, "a bare name is no file of the current directory", done.stdout + done.stderr)
    done = live.record("-V", "./libhere.so!other", "-x", prog, cwd=d)
    ok(done.returncode == 0 and "struct pair *p" in done.stdout, "a name with a slash is a path", done.stdout + done.stderr)


# The network


def debuginfod():
    if not shutil.which("debuginfod"):
        ok(True, "debuginfod # SKIP no debuginfod")
        return
    d = build("debuginfod")
    prog = os.path.join(d, "prog")
    want = look(prog)
    os.makedirs(d + "/served")
    run("objcopy", "--only-keep-debug", prog, d + "/served/prog.debug")
    run("strip", "-g", prog)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = live.start(["debuginfod", "-d", ":memory:", "-p", str(port), "-t", "3600", "-F", d + "/served"],
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "HOME": d})
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", prog)).group(1)

    def is_served():
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as s:
                s.sendall(b"GET /buildid/%s/debuginfo HTTP/1.0\r\n\r\n" % build_id.encode())
                return b" 200 " in s.recv(100)
        except OSError:
            return False

    live.wait_for(is_served, what="the server")
    env = dict(os.environ, DEBUGINFOD_URLS="http://127.0.0.1:%d" % port, DEBUGINFOD_CACHE_PATH=d + "/cache", HOME=d)
    for name in ("SUDO_UID", "SUDO_GID"):
        env.pop(name, None)
    os.environ.update(env)
    try:
        same(want, prog, "debuginfod")
        server.kill()
        server.wait()
        same(want, prog, "debuginfod: from its cache, without the server")
    finally:
        for name in ("DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH"):
            del os.environ[name]


for compiler in ("gcc", "clang"):
    for dwarf in (4, 5):
        if len(sys.argv) < 2 or "split" in sys.argv[1:]:
            live.case(lambda: split(compiler, dwarf))
for test in (compressed, separate, shared, minidebug, sysroot, container, running, kinds, split_types, limits, debuginfod):
    if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
        live.case(test)
live.done()
