#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Containers of the C++ library by content: what is reported is what the program itself prints, and
what is not is marked. Objects that are broken are told, never misread. Budget: 45 s."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live  # noqa: E402
from live import equal, ok  # noqa: E402

live.plan_or_skip()
work = live.directory()
source = os.path.join(live.TOP, "tests", "fixtures", "containers.cc")
probes = ["strings", "vectors", "lists", "maps", "hashes", "pointers", "request", "aligned"]
NODES, ARRAY, STRING, CHILDREN = 32, 200, 200, 32


def build(name, *flags):
    binary = os.path.join(work, name.replace(" ", ""))
    live.compile_c(source, binary, "-std=c++17", *flags, cc=name.split()[0])
    return binary


class Differs(Exception):
    pass


def cut(got, want, path, status, limits):
    """Whether GOT may be only the beginning of WANT."""
    if len(got) == len(want):
        return
    if len(got) > len(want) or status.get(path) != "truncated" or len(got) not in limits:
        raise Differs("%s: %d of %d, %s" % (path, len(got), len(want), status.get(path)))


def same(got, want, path, status, place=0):
    if got is None and status.get(path) == "not-collected":
        # Only what is beyond the elements whose own content is recorded.
        if place < CHILDREN:
            raise Differs("%s: not collected" % path)
    elif isinstance(want, str):
        cut(got, want, path, status, [STRING])
        if got != want[:len(got)]:
            raise Differs("%s: %r is not %r" % (path, got, want))
    elif isinstance(got, dict) and isinstance(want, list):
        cut(got, want, path, status, [NODES])
        for i, ((key, value), pair) in enumerate(zip(got.items(), want)):
            same(key, pair[0], "%s[%d].first" % (path, i), status, i)
            same(value, pair[1], "%s[%d].second" % (path, i), status, i)
    elif isinstance(want, list):
        cut(got, want, path, status, [NODES, ARRAY])
        for i, (a, b) in enumerate(zip(got, want)):
            if path.count("[") == 0:
                place = i
            same(a, b, "%s[%d]" % (path, i), status, place)
    elif isinstance(want, dict):
        for key in want:
            same(got[key], want[key], path + "." + key, status, place)
    elif got != want and not (want is None and got == "0x0"):
        raise Differs("%s: %r is not %r" % (path, got, want))


def check_calls(binary, data):
    args = [a for p in probes for a in ("-e", p)]
    run = live.record("-o", data, *args, "--", binary)
    ok(run.returncode == 0, "recorded", run.stderr)
    told = [line.split(" ", 1) for line in run.stdout.splitlines()]
    calls = [(name, json.loads(text)) for name, text in told]
    events = live.events(data)
    equal([e["probe"] for e in events], [name for name, _ in calls], "each call is an event")
    wrong, values = [], 0
    for event, (name, want) in zip(events, calls):
        for (key, got), value in zip(event["values"].items(), want):
            values += 1
            try:
                same(got, value, key, event.get("status", {}))
            except Differs as e:
                wrong.append("%s: %s" % (name, e))
    ok(values > 130 and not wrong, "%d values are those that the program prints" % values,
       "\n".join(wrong))


def check_broken(binary):
    data = os.path.join(work, "broken.data")
    live.record("-o", data, "-e", "broken", "--", binary)
    first, second = [(e["values"], e["status"]) for e in live.events(data)]
    equal((first[0]["s"], first[1]["s"]), (None, "bad-range"), "a length of 2^63")
    equal((first[0]["v"], first[1]["v"]), (None, "bad-range"), "a vector that ends before it begins")
    equal((first[0]["l"], first[1]["l"]), ([1, 2, 3], "truncated"),
          "a list that says that it has 2^62 nodes ends where it ends")
    equal((first[0]["m"], first[1]["m"]), ([[1, 1], [2, 2]], "truncated"), "a tree with a cycle")
    equal((second[0]["s"], second[1]["s"]), (None, "fault"), "a string at no address")
    equal((second[0]["v"], second[1]["v"]), (None, "fault"), "a vector at no address")
    equal((second[0]["l"], second[1]["l"]), ([1], "truncated"), "a node that leads to itself")
    equal((second[0]["m"], second[1]["m"]), (None, "fault"), "a tree at no address")
    text = live.report(data).stdout
    ok("std::list of length 3 = {1...}" in text, "text says that there is more", text)


def check_chains(binary):
    data = os.path.join(work, "chain.data")
    run = live.record("-o", data, "-e", "chain { l = list(head, next, 4), m = list(head, next, 16) }",
                      "--", binary)
    ok(run.returncode == 0, "list(...) is recorded", run.stderr)
    events = live.events(data)

    def told(key):
        return [([n["id"] for n in e["values"][key]], e.get("status", {}).get(key)) for e in events]

    equal(told("l"), [([], None), ([0, 1, 2, 3], "truncated"), ([0, 1, 2, 3], "truncated"),
                      ([0, 1, 2, 3], "truncated"), ([0, 1, 2], None), ([0, 1], "truncated")],
          "four nodes at most")
    equal(told("m"), [([], None), ([0, 1, 2, 3, 4], None), ([0, 1, 2, 3, 4], None),
                      ([0, 1] + [2, 3, 4] * 4 + [2, 3], "truncated"), ([0, 1, 2], None),
                      ([0, 1], "truncated")],
          "to the end, once round a ring, on in a loop, up to a fault")
    equal(events[1]["values"]["l"][3]["name"], "name", "strings of nodes")
    for text, mark, word in (("list(head, nxt, 4)", "nxt", "next"),
                             ("list(head, name, 4)", "name", "link to the next node"),
                             ("list(head->id, next, 4)", "head->id", "pointer to its first node"),
                             ("list(head, next, 1000)", "1000", "at most 256")):
        err = live.record("-o", data, "-e", "chain { %s }" % text, "--", binary).stderr
        ok(word in err and "^" in err, "error of " + text, err)


def check_raw(binary):
    data = os.path.join(work, "raw.data")
    live.record("--raw-containers", "-o", data, "-e", "request", "--", binary)
    value = live.events(data)[0]["values"]["r"]
    ok("_M_dataplus" in value["uri"] and "_M_impl" in str(value["v"]), "raw containers", value)
    live.record("-o", data, "-e", "request { n = r.v._M_impl._M_start[2], r }", "--", binary)
    equal(live.events(data)[0]["values"]["n"], 3, "members of a container by expression")
    out = live.report("--csv", data).stdout
    ok('"[1,2,3]"' in out, "a container is one cell of CSV", out)


def check_conditions(binary):
    """std::string in conditions, at the hit and in the report."""
    data = os.path.join(work, "if.data")
    for text, n in (('s == "short"', 1), ('s != "short"', 3), ('starts_with(l, "long en")', 1),
                    ('contains(l, "heap")', 1)):
        live.record("-o", data, "-e", "strings if " + text, "--", binary)
        equal(len(live.events(data)), n, "if " + text)
        live.record("-o", data, "-e", "strings", "--", binary)
        equal(len(live.events(data, "--where", text)), n, "--where " + text)
    live.record("-o", data, "-e", "strings { t = str(l, 4) }", "--", binary)
    equal(live.events(data)[1]["values"]["t"], "long", "str of a std::string")
    err = live.record("-o", data, "-e", 'strings if w == "x"', "--", binary).stderr
    ok("does not end in NUL" in err and "^" in err, "a view has no end", err)


def check_fallbacks(binary):
    """The features of older kernels: the same values."""
    for off in ("", "no-task-storage", "no-sleepable", "no-sleepable,no-task-storage", "no-multi"):
        data = os.path.join(work, "off.data")
        env = dict(os.environ, GS_FEATURES_OFF=off)
        args = [a for p in ("maps", "lists", "request") for a in ("-e", p)]
        run = live.record("-o", data, *args, "--", binary, env=env)
        values = [e["values"] for e in live.events(data)] if run.returncode == 0 else run.stderr
        if not off:
            first = values
        else:
            equal(strip(values), strip(first), "without " + off[3:])


def strip(values):
    return values if isinstance(values, str) else [json.dumps(v) for v in values]


for name, flags in (("g++", ("-O0",)), ("g++ 2", ("-O2",)),
                    ("clang++", ("-O0", "-fstandalone-debug")),
                    ("clang++ 2", ("-O2", "-fstandalone-debug"))):
    program = build(name, *flags)
    live.case(lambda: check_calls(program, os.path.join(work, "calls.data")))
    if name == "g++":
        live.case(lambda: check_broken(program))
        live.case(lambda: check_chains(program))
        live.case(lambda: check_raw(program))
        live.case(lambda: check_conditions(program))
        live.case(lambda: check_fallbacks(program))
live.done()
