#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a place text finds in C++, and what absent strings and thread-locals of a library say."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403

plan_or_skip()
tmp = directory()
data = os.path.join(tmp, "gs.data")
fixtures = os.path.join(TOP, "tests", "fixtures")


def values(binary, probe):
    r = record("-o", data, "-e", probe, "--", binary)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return [e["values"] for e in events(data)], r.stderr


def folded():
    """gcc -O2 makes second(int) another symbol of outer::first: it has no code in DWARF, but it is called."""
    binary = compile_c(os.path.join(fixtures, "names.cc"), os.path.join(tmp, "names"), "-O2", cc="g++")
    rows, err = values(binary, "second")
    numbers = [list(v.values())[0] for v in rows if "text" not in v]
    equal(sorted(numbers), [0, 1, 2, 10, 11, 12], "folded: each call of both functions with that code")
    equal([v["n"] for v in rows if "text" in v], [0, 1, 2], "folded: the other overload")
    ok("same code as" in err, "folded: it is said that their calls are not told apart", err)
    rows, err = values(binary, "second(char const*, int)")
    equal(len(rows), 3, "an overload by its parameters is it alone")
    ok("same code" not in err, "and nothing is said of others", err)


def parameters():
    for level in ("-O0", "-O2"):
        binary = compile_c(os.path.join(fixtures, "names.cc"), os.path.join(tmp, "names" + level), level, cc="g++")
        for text in ("operator==(point const&)", "point::operator==(outer::point const&)", "operator==",
                     "take(point const&, outer::point*, unsigned long)"):
            rows, err = values(binary, text)
            equal(len(rows), 3, "%s: %s" % (level, text))
            ok("same code" not in err, "%s: %s is not taken for a fold of itself" % (level, text), err)
        r = record("-o", data, "-e", "operator==(other::point const&)", "--", binary)
        equal(r.returncode, 1, level + ": another scope does not match")
        r = record("-o", data, "-e", "operator==(int const&)", "--", binary)
        equal(r.returncode, 1, level + ": another type does not match")


def absent_in_library():
    library = os.path.join(tmp, "libpreempt.so")
    compile_c(os.path.join(fixtures, "preempt.c"), library, "-O0", "-fPIC", "-shared")
    main = os.path.join(tmp, "main.c")
    with open(main, "w") as f:
        f.write("int preempt_call(int); int main(void) { return preempt_call(1) ? 0 : 1; }\n")
    binary = compile_c(main, os.path.join(tmp, "main"), "-O0", "-Wl,--no-as-needed", library)
    r = record("-o", data, "-e", "libpreempt.so!preempt_call { preempt_text, preempt_tls, preempt_own, preempt_number }",
               "--", binary)
    row = events(data)[0]
    equal(row["values"], {"preempt_text": None, "preempt_tls": 3, "preempt_own": "own", "preempt_number": 5},
          "a library's variables")
    equal(row["status"], {"preempt_text": "unavailable"},
          "a string whose pointer cannot be read has the pointer's status")
    ok("preemptible" in row["reason"]["preempt_text"], "and its reason", row)
    ok("it is readable at" not in r.stderr, "no other place is offered for what is readable nowhere", r.stderr)


def alias():
    binary = compile_c(os.path.join(fixtures, "alias.c"), os.path.join(tmp, "alias"), "-O0")
    for place in ("alias_of", "alias_of:+3", "alias_of+4"):
        rows, _ = values(binary, place + " { n, sink }")
        equal([v["n"] for v in rows], [0, 1, 2], "an alias: " + place)
    equal([v["sink"] for v in values(binary, "alias_of:+3 { n, sink }")[0]], [0, 1, 3], "three lines below: after the sum")
    r = record("-L", "alias_of", "-x", binary)
    ok(r.returncode == 0 and "alias.c" in r.stdout, "the lines of an alias", r.stdout + r.stderr)


for function in (folded, parameters, absent_in_library, alias):
    case(function)
done()
