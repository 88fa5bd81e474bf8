#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The matrix: compilers, levels, DWARF versions and ways to link, against gdb, at every statement.

The fixtures matrix.c and matrix.cc are built in each configuration. At every statement row of the line table of
every function, gs records all arguments and locals of a run, and gdb prints them at the same addresses of the same
run (equal address spaces); the hits are matched by number and the values compared to the bit.

Counts: compared = equal + different; absent = in both; ours = gs has a value and gdb has none; gdbs = the reverse,
but vector = because it is in a vector register. GS_MATRIX=all runs every configuration, otherwise a sample.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403
import matrix_compare as mc  # noqa: E402
import matrix_build as mb  # noqa: E402

HITS = int(os.environ.get("GS_MATRIX_HITS", "3"))
TURNS = os.environ.get("GS_MATRIX_TURNS", "3")
# gs's floats stay text: a long double has more digits than Python's.
Decimal = type("Decimal", (str,), {})
# What gs does not read yet where gdb does, by its reason; all else must be read, and nothing may differ.
KNOWN = re.compile(r"DW_OP_|entry value|caller|optimised out|not-collected|a virtual base|arithmetic on floating|not yet in its slot|"
                   r"no such item|optimized-out|^unavailable *$")
EXPLAIN = os.environ.get("GS_MATRIX_EXPLAIN")


def gs_run(build, sites, directory):
    """Events of every site by address; sites that gs refuses, with the reason."""
    refused = {}
    data = os.path.join(directory, "gs.data")
    probes = os.path.join(directory, "probes")
    while True:
        wanted = [s for s in sites if s not in refused]
        with open(probes, "w") as f:
            f.writelines("*%#x { $args, $locals }\n" % s for s in wanted)
        done_ = subprocess.run([RECORD, "-q", "-o", data, "-f", probes, *build.options, "-x", build.binary, "--", "/usr/bin/setarch", "-R",
                                build.binary, TURNS], env=mb.ENV, capture_output=True, text=True, timeout=300)
        if done_.returncode == 0:
            break
        m = re.search(r"\*(0x[0-9a-f]+)", done_.stderr)
        if not m or int(m.group(1), 16) in refused:
            raise RuntimeError("gs-record: " + done_.stderr[:600])
        refused[int(m.group(1), 16)] = done_.stderr.splitlines()[0]
    rows = collections.defaultdict(list)
    text = report("--json", "--addr", data)
    if text.returncode:
        raise RuntimeError(text.stderr[:600])
    for line in text.stdout.splitlines():
        event = json.loads(line, parse_float=Decimal)
        rows[int(event["addr"], 16)].append(event)
    return rows, refused, done_.stdout


def gdb_run(build, sites, directory):
    wanted = os.path.join(directory, "stops.json")
    out = os.path.join(directory, "gdb.json")
    with open(wanted, "w") as f:
        json.dump([{"id": s, "where": "*%#x" % s} for s in sites], f)
    env = dict(mb.ENV, ORACLE_STOPS=wanted, ORACLE_OUT=out, ORACLE_MAIN=hex(build.symbol("main")),
               ORACLE_LIMIT=str(HITS))
    done_ = subprocess.run(["gdb", "-nx", "-batch", *build.gdb_options, "-x",
                            os.path.join(TOP, "tests/lib/gdb_oracle.py"), "--args", build.binary, TURNS],
                           env=env, capture_output=True, text=True, timeout=600)
    rows = collections.defaultdict(list)
    if not os.path.exists(out):
        raise RuntimeError("gdb: " + done_.stderr[:600])
    with open(out) as f:
        for line in f:
            row = json.loads(line)
            rows[row["id"]].append(row)
    os.unlink(out)
    if not rows:
        raise RuntimeError("gdb: " + done_.stderr[:600])
    return rows


def compare(build, sites, rows, stops):
    found = []
    for site in sites:
        if site in stops:
            mc.compare_site(build, site, rows[site], stops, HITS, found)
    return found


def one(build, directory, totals):
    began = time.monotonic()
    sites = build.statements()
    rows, refused, _ = gs_run(build, sites, directory)
    middle = time.monotonic()
    stops = gdb_run(build, [s for s in sites if s not in refused], directory)
    found = compare(build, sites, rows, stops)
    if any(f.kind == "different" for f in found):
        again = gs_run(build, [s for s in sites if s not in refused], directory)[0]
        found = mc.indeterminate(found, compare(build, sites, again, stops))
    found = mc.judge(build, found, mb.witness(build.configuration.language, directory, TURNS))
    count = collections.Counter(f.kind for f in found)
    for f in found:
        totals.add(build, f)
    compared = count["equal"] + count["different"]
    print("# %-24s %4d statements, %5d compared: %5d equal, %d different, %d absent in both, %d ours, %d gdb's, "
          "%d vector, %d proven, %d random, %d refused (%.1f s gs, %.1f s gdb)"
          % (build.name, len(sites), compared, count["equal"], count["different"], count["absent"], count["ours"],
             count["gdbs"], count["vector"], count["proven"] + count["gdbwrong"], count["random"], len(refused), middle - began, time.monotonic() - middle))
    for site, why in list(refused.items())[:4]:
        print("#   refused %#x %s: %s" % (site, build.place(site), why))
    new = [f for f in found if f.kind == "gdbs" and not KNOWN.search(str(f.gs))]
    ok(count["equal"] > 0 and not count["different"] and not new, build.name, new[:4])


def main():
    plan_or_skip()
    totals = mc.Totals()
    tmp = directory()
    pattern = os.environ.get("GS_MATRIX_ONLY", "")
    for configuration in mb.configurations(os.environ.get("GS_MATRIX") == "all"):
        if pattern and not re.search(pattern, configuration.name):
            continue
        try:
            one(mb.Build(configuration, tmp), tmp, totals)
        except Exception:
            ok(False, configuration.name, traceback.format_exc())
    totals.print(EXPLAIN)
    ok(totals.compared() >= 10000 or pattern, "at least 10000 values compared", totals.compared())
    done()


main()
