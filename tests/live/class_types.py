#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""C++ values as gdb prints them: every expression of the PROBE comments of tests/fixtures/classes.cc, at the same
address, in gdb's own notation, for g++ and clang++, with DWARF 4, 5 and type units.

An expression that gs refuses, or whose value is absent where gdb has one, fails the test.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live  # noqa: E402

SOURCE = os.path.join(live.TOP, "tests/fixtures/classes.cc")
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
GDB = """
import gdb, json, os
for command in ("set pagination off", "set confirm off", "set width 0", "set print elements 200", "set host-charset UTF-8",
                "set exec-wrapper env -i PATH=/usr/bin:/bin"):
    gdb.execute(command)
out = open(os.environ["ORACLE_OUT"], "w")
stops = {}
for line, expressions in json.loads(os.environ["ORACLE_STOPS"]):
    stops[gdb.Breakpoint("%s:%d" % (os.environ["ORACLE_SOURCE"], line)).number] = (line, expressions)
def text(expression):
    try:
        return gdb.execute("output " + expression, to_string=True)
    except gdb.error as e:
        return "<error: %s>" % e
def stopped(event):
    if isinstance(event, gdb.BreakpointEvent):
        line, expressions = stops[event.breakpoints[0].number]
        pc = gdb.newest_frame().pc()
        out.write(json.dumps([line, [text(e) for e in expressions]]) + "\\n")
gdb.events.stop.connect(stopped)
gdb.execute("run", to_string=True)
while gdb.selected_inferior().pid:
    gdb.execute("continue", to_string=True)
out.close()
"""


def probes():
    """[(line, [expression])] of the fixture."""
    out = []
    with open(SOURCE) as f:
        for number, line in enumerate(f, 1):
            m = re.search(r"// PROBE: (.*)", line)
            if m:
                out.append((number, [e.strip() for e in m.group(1).split(";")]))
    return out


def run_gdb(binary, stops, directory):
    script, out = os.path.join(directory, "oracle.py"), os.path.join(directory, "gdb.json")
    with open(script, "w") as f:
        f.write(GDB)
    env = dict(ENVIRONMENT, ORACLE_OUT=out, ORACLE_STOPS=json.dumps(stops), ORACLE_SOURCE=os.path.basename(SOURCE))
    done = subprocess.run(["gdb", "-nx", "-batch", "-x", script, binary], env=env, capture_output=True, text=True,
                          timeout=120)
    if not os.path.exists(out):
        raise RuntimeError(done.stderr)
    if "Error" in done.stderr:
        print("# " + done.stderr.replace("\n", "\n# "))
    hits = {}
    with open(out) as f:
        for row in f:
            line, texts = json.loads(row)
            hits.setdefault(line, []).append(texts)
    return hits


def run_gs(binary, stops, directory):
    """({(line, index): [text]}, {(line, index): error}); an item that is refused is taken out, and the rest run."""
    data, refused = os.path.join(directory, "gs.data"), {}
    wanted = [(line, i, e) for line, expressions in stops for i, e in enumerate(expressions)]
    while True:
        command = ["-q", "-o", data]
        for line, i, e in wanted:
            command += ["-e", "p%d_%d=%s:%d{v=%s}" % (line, i, os.path.basename(SOURCE), line, e)]
        done = live.record(*command, "-x", binary, "--", "/usr/bin/setarch", "-R", binary, env=ENVIRONMENT)
        if not done.returncode:
            break
        m = re.search(r"^  p(\d+)_(\d+)=", done.stderr, re.M)
        if not m:
            raise RuntimeError(done.stderr)
        key = int(m.group(1)), int(m.group(2))
        refused[key] = done.stderr.splitlines()[0]
        wanted = [w for w in wanted if w[:2] != key]
    texts = {}
    for line in live.report(data).stdout.splitlines():
        m = re.search(r" p(\d+)_(\d+)\b.*?: v = (.*)$", line)
        if m:
            texts.setdefault((int(m.group(1)), int(m.group(2))), []).append(m.group(3))
    return texts, refused


def normal(text, without_scope):
    """What both print alike: a captured string has no address in gs."""
    text = re.sub(r'0x[0-9a-f]+ (?=[LuU]?8?")', "", text)
    text = re.sub(r"_vptr[.$]\w+ = 0x[0-9a-f]+ <[^>]*(<[^>]*>)*[^>]*>(, )?", "", text)
    text = re.sub(r"static \w+ = [^,}]*(, )?", "", text)
    text = {"true": "1", "false": "0"}.get(text, text)  # comparisons are int here, in C++ too
    text = text.replace(", }", "}")
    if without_scope:  # names in type units of their own lose their namespace
        text = text.replace("shapes::", "")
    return text


def compare(name, binary, stops, directory):
    gdb = run_gdb(binary, stops, directory)
    gs, refused = run_gs(binary, stops, directory)
    equal, wrong, types = 0, [], "types" in name
    for line, expressions in stops:
        for i, e in enumerate(expressions):
            want = [normal(hit[i], types) for hit in gdb.get(line, [])]
            got = gs.get((line, i), [])
            # Type units: gs finds no name by their namespace, nor statics declared there; gdb fails at others.
            if types and ("shapes::" in e or "population" in e or any("<error" in w for w in want)):
                continue
            if (line, i) in refused:
                wrong.append("%d: %s: refused: %s\n    gdb: %s" % (line, e, refused[line, i], want[:1]))
            elif want != [normal(g, types) for g in got]:
                wrong.append("%d: %s\n    gs:  %s\n    gdb: %s" % (line, e, "\n         ".join(got), "\n         ".join(want)))
            else:
                equal += len(want)
    print("".join("# %s\n" % line for text in wrong for line in text.split("\n")), end="")
    live.ok(not wrong and equal > 100, "%s: as gdb prints it (%d values)" % (name, equal))


def main():
    live.plan_or_skip()
    directory, stops = live.directory(), probes()
    for compiler in ("g++", "clang++"):
        for flags in (["-gdwarf-5"], ["-gdwarf-4", "-fdebug-types-section"]):
            name = " ".join([compiler] + flags)
            if sys.argv[1:] and not name.startswith(sys.argv[1]):
                continue
            binary = os.path.join(directory, "classes")
            live.compile_c(SOURCE, binary, "-std=gnu++20", "-O0", "-w", *flags, cc=compiler)
            live.case(lambda: compare(name, binary, stops, directory))
    live.done()


main()
