#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Locations that are neither memory nor a register: dropped pointers, thread-locals of libraries, globals after LTO.

Every value is compared with a witness that the program computes itself.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403

plan_or_skip()
tmp = directory()
data = os.path.join(tmp, "gs.data")
fixtures = os.path.join(TOP, "tests", "fixtures")


def rows_of(probes, *command, flags=()):
    arguments = [a for p in probes for a in ("-e", p)]
    r = record("-o", data, *flags, *arguments, "--", *command)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return events(data)


def dropped_pointers():
    binary = compile_c(os.path.join(fixtures, "dropped.c"), os.path.join(tmp, "dropped"), "-O2")
    rows = rows_of(["through_number { q, w=*q }", "through_pair { p, w=p->a * 100 + (*p).b, b=p[0].b }",
                    "through_text { t, w=t[1] }", "hook { x }"], binary, flags=("--depth", "1"))
    witness = [r["values"]["x"] for r in rows if r["probe"] == "hook"]
    seen = {r["probe"]: r for r in rows if r["probe"] != "hook"}
    equal(sorted(seen), ["through_number", "through_pair", "through_text"], "dropped pointers: each place is hit")
    for number, name in enumerate(("through_number", "through_pair", "through_text")):
        got = seen[name]["values"]["w"]
        ok(got is None and "w" in seen[name]["status"] or got == witness[number],
           "%s: what the pointer leads to, or nothing" % name, (seen[name], witness))
    equal(seen["through_number"]["values"]["q"], {"@": None, "*": 7}, "a dropped pointer with its pointee")
    equal(seen["through_number"]["status"].get("q.@"), "unavailable", "and it is said that itself is not there")


def thread_locals():
    user = os.path.join(fixtures, "thread_local_user.c")
    for name, flags, loaded in (("gd", (), False), ("desc", ("-mtls-dialect=gnu2",), False),
                                ("ie", ("-ftls-model=initial-exec",), False), ("gd", (), True),
                                ("desc", ("-mtls-dialect=gnu2",), True)):
        library = os.path.join(tmp, "lib%s.so" % name)
        compile_c(os.path.join(fixtures, "thread_local.c"), library, "-O1", "-shared", "-fPIC", *flags, "-Wl,--no-as-needed", "-lc")
        link = () if loaded else (library,)
        main = compile_c(user, os.path.join(tmp, "user-%s-%d" % (name, loaded)), "-O1", "-Wl,--no-as-needed", *link,
                         "-lpthread", "-ldl")
        rows = rows_of([library + "!tls_look { witness, tls_mine, tls_shared, tls_text }"], main,
                       *((library,) if loaded else ()))
        equal(len(rows), 6, "%s loaded %d: all hits" % (name, loaded))
        want = [(5, 7, "x"), (6, 9, "xb"), (5, 7, "x"), (8, 13, "xd"), (6, 9, "xb"), (16, 29, "xk")]
        for i, (row, expected) in enumerate(zip(rows, want)):
            v = row["values"]
            got = (v["tls_mine"], v["tls_shared"], v["tls_text"])
            status = set(row.get("status", {}).values())
            if loaded and name == "gd":  # nothing tells whether the thread's block is still a closed library's
                good = got == (None, None, None) and status == {"unavailable"}
            else:  # a thread that has not used anything of the library's may have no block yet
                lazy = loaded and i in (0, 2) and got == (None, None, None) and status == {"not-collected"}
                good = lazy or got == expected and not status
            ok(good, "%s loaded %d: hit %d" % (name, loaded, i), row)


def thread_locals_of_a_number_used_again():
    main = compile_c(os.path.join(fixtures, "thread_local_reuse.c"), os.path.join(tmp, "reuse"), "-O1", "-lpthread", "-ldl")
    # Blocks that are too large for the place that every thread has from its start.
    for name, flags in (("gd", ()), ("desc", ("-mtls-dialect=gnu2",))):
        libraries = [os.path.join(tmp, "lib%s-%d.so" % (name, i)) for i in (1, 2)]
        for library in libraries:
            compile_c(os.path.join(fixtures, "thread_local.c"), library, "-O1", "-shared", "-fPIC", *flags,
                      "-DTEXT_BYTES=100000", "-Wl,--no-as-needed", "-lc")
        rows = rows_of([libraries[1] + "!tls_look { witness, tls_mine, tls_shared }"], main, *libraries)
        equal(len(rows), 3, name + " again: all hits")
        for i, (row, want) in enumerate(zip(rows, ((5, 7), (5, 7), (8, 13)))):
            got = (row["values"]["tls_mine"], row["values"]["tls_shared"])
            ok(got == (None, None) if name == "gd" or i < 2 else got == want,  # no block is made before its use
               "%s again: hit %d is never the closed library's" % (name, i), row)


def global_after_lto():
    for name, text in (("a.c", "int lto_global = 41; extern int look(int);\n"
                        "int main(int c, char **v) { lto_global += c; return look(c); }\n"),
                       ("b.c", "extern int lto_global;\n__attribute__((noinline)) int look(int x)\n"
                        "{ __asm__ volatile(\"\" ::: \"memory\"); return x + lto_global - 43; }\n")):
        with open(os.path.join(tmp, name), "w") as f:
            f.write(text)
    binary = compile_c(os.path.join(tmp, "a.c"), os.path.join(tmp, "lto"), "-O1", "-flto", os.path.join(tmp, "b.c"))
    rows = rows_of(["look { x, lto_global }"], binary)
    equal([r["values"] for r in rows], [{"x": 1, "lto_global": 42}], "a global that link-time optimisation made local")


for function in (dropped_pointers, thread_locals, thread_locals_of_a_number_used_again, global_after_lto):
    case(function)
done()
