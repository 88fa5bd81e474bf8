#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Big programs of others: random functions and lines of sqlite, python, glibc and a C++ program with much of the
standard library, each with $args and $locals.

Nearly all attach, what is refused or absent is tabulated by cause, the values equal gdb's, and the program prints what
it prints without probes. GS_BIG=all takes 200 functions and lines of each and builds sqlite from its source package;
otherwise a sample of those whose debug information is installed.
"""
import collections
import glob
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from live import *  # noqa: E402,F403
import matrix_compare as mc  # noqa: E402

EVERYTHING = os.environ.get("GS_BIG") == "all"
WANTED = 200 if EVERYTHING else 40
SEED = int(os.environ.get("GS_BIG_SEED", "3"))
HITS = 4
# Memory of the heap alone: uprobes take a page of the process, and mappings made later move.
ENV = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc", "MALLOC_MMAP_MAX_": "0"}
EXPLAIN = os.environ.get("GS_MATRIX_EXPLAIN")
PYTHON_WORK = """
import json, re
data = {'k%d' % i: [i, i * 0.5, 'v' * (i % 7), None, {'n': (i, -i)}] for i in range(40)}
text = json.dumps(data, sort_keys=True, indent=1)
print(len(text), json.loads(text) == json.loads(json.dumps(data)))
print(sorted(re.findall(r'"(k\\d)": ', text)), 3 ** 77, '%.12g' % (2 ** 0.5))
class A:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return self.n < other.n
print([a.n for a in sorted(A(i * 7 % 11) for i in range(11))], sum(x for x in range(99) if x % 3))
try:
    {}['missing']
except KeyError as e:
    print('error', e)
"""
SQL = """create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<60)
insert into t select i, printf('row%03d', i*7%60), i/8.0 from n;
create index ti on t(b);
select count(*), sum(c), min(b), max(b) from t where b like 'row0%';
select a, b from t order by b desc limit 3;
update t set c = c*2 where a%5=0; delete from t where a>50;
select x.a, y.b from t x join t y on x.a=y.a+1 where x.b<y.b order by 1 limit 4;
select group_concat(b,'/') from (select b from t group by a%7 order by 1);
select json_extract('{"a":[1,2,{"b":3}]}','$.a[2].b'), hex('blob'), strftime('%Y','2001-02-03');
begin; insert into t values(99,'x',null); rollback; pragma integrity_check;
"""


class Target:
    """A module, where its debug information is, and a command that uses it. Speaks as a build of the matrix does."""
    optimised = True

    def __init__(self, name, module, debug, command, prefix="", stdin=""):
        self.name, self.module, self.debug, self.command = name, module, debug, command
        self.prefix, self.stdin = prefix, stdin
        self.functions = {}

    def function(self, site):
        return site, 0, self.functions.get(site, ("?", "?"))[0]

    def place(self, site):
        return "%s %s" % self.functions.get(site, ("?", "?"))

    def is_entry(self, site):
        return False

    def after_prologue(self, site):
        return None


def debug_file(path):
    """The separate debug file of a distribution's binary, by its build-id; None if it is not installed."""
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    m = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", text)
    found = m and "/usr/lib/debug/.build-id/%s/%s.debug" % m.groups()
    return found if found and os.path.exists(found) else None


def build_cc(tmp):
    binary = os.path.join(tmp, "bigcc")
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-w", "-o", binary,
                    os.path.join(TOP, "tests/fixtures/big.cc")], check=True)
    return binary


def build_sqlite(tmp):
    """The amalgamation, made of the distribution's source package; its own lists of packages are not touched."""
    given = os.environ.get("GS_BIG_SQLITE")
    if given:
        return given
    apt = os.path.join(tmp, "apt")
    for d in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(apt, d))
    with open("/etc/os-release") as f:
        suite = re.search(r"VERSION_CODENAME=(\w+)", f.read()).group(1)
    with open(os.path.join(apt, "sources.list"), "w") as f:
        f.write("deb-src http://deb.debian.org/debian %s main\n" % suite)
    options = []
    for o in ("Dir::Etc::sourcelist=" + apt + "/sources.list", "Dir::Etc::sourceparts=-",
              "Dir::State::lists=" + apt + "/lists", "Dir::Cache=" + apt + "/cache", "APT::Sandbox::User=root"):
        options += ["-o", o]

    def run(*command, cwd=tmp):
        subprocess.run(command, cwd=cwd, check=True, capture_output=True)

    run("apt-get", *options, "-q", "update")
    run("apt-get", *options, "-q", "source", "--download-only", "sqlite3")
    run("tar", "xf", glob.glob(tmp + "/sqlite3_*.orig.tar.xz")[0])
    source = glob.glob(tmp + "/sqlite3-*/")[0]
    run("./configure", "-q", cwd=source)
    run("make", "sqlite3.c", "shell.c", cwd=source)
    binary = os.path.join(tmp, "sqlite")
    run("gcc", "-O2", "-g", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-o", binary, "shell.c", "sqlite3.c",
        "-lm", cwd=source)
    return binary


def targets(tmp):
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    python = "/usr/bin/python3.11"
    work = os.path.join(tmp, "work.py")
    with open(work, "w") as f:
        f.write(PYTHON_WORK)
    binary = build_cc(tmp)
    yield Target("c++", binary, binary, [binary, "40"])
    if os.path.exists(python) and debug_file(python):
        command = [python, "-S", "-s", work]
        yield Target("python", python, debug_file(python), command)
        if os.path.exists(libc) and debug_file(libc):
            yield Target("glibc", libc, debug_file(libc), command, "libc.so.6!")
    if EVERYTHING or os.environ.get("GS_BIG_SQLITE"):
        binary = build_sqlite(tmp)
        yield Target("sqlite", binary, binary, [binary, "-batch", ":memory:"], stdin=SQL)


# ---- what is probed ----

def random_functions(t, chance):
    text = subprocess.run([RECORD, "-F", "*", "-x", t.module], capture_output=True, text=True, check=True).stdout
    names = set()
    for line in text.splitlines():
        m = re.match(r"(.*?)  (\S+:\d+)", line)
        if m and not line.startswith(" "):
            names.add(m.group(1))
    names = sorted(names)
    return ["%s'%s' { $args, $locals }" % (t.prefix, n) for n in chance.sample(names, min(WANTED, len(names)))]


def random_lines(t, chance):
    text = subprocess.run(["objdump", "--dwarf=decodedline", t.debug], capture_output=True, text=True).stdout
    lines = {m.group(1, 2) for m in re.finditer(
        r"^(\S+\.(?:c|h|cc|tcc|def))\s+(\d+)\s+0x[0-9a-f]+(?:\[\d+\])?(?:\s+\d+)?\s+x$", text, re.M)}
    lines = sorted((f, int(n)) for f, n in lines if int(n))
    return ["%s%s:%d { $args, $locals }" % (t.prefix, f, n) for f, n in chance.sample(lines, min(WANTED, len(lines)))]


def stdin_file(t, directory):
    """The same kind of file for each run: programs allocate by it."""
    path = os.path.join(directory, "stdin")
    with open(path, "w") as f:
        f.write(t.stdin)
    return path


def gs(t, probes, directory, *options):
    path = os.path.join(directory, "probes")
    with open(path, "w") as f:
        f.writelines(p + "\n" for p in probes)
    where = [] if t.prefix else ["-x", t.module]
    command = [RECORD, *options, *where, "-f", path, "--", "/usr/bin/setarch", "-R", *t.command]
    with open(stdin_file(t, directory)) as f:
        return subprocess.run(command, env=ENV, stdin=f, capture_output=True, text=True, timeout=600)


def accepted(t, probes, directory):
    """(probes that attach, reason of each that does not, the dry run of the first)"""
    refused = {}
    while True:
        rest = [p for p in probes if p not in refused]
        done_ = gs(t, rest, directory, "-q", "--dry-run")
        if done_.returncode == 0:
            return rest, refused, done_.stdout
        message = done_.stderr
        bad = next((p for p in rest if "  " + p in message), None) or \
            next((p for p in rest if p.split(" {")[0] in message), None)
        if bad is None:
            raise RuntimeError(message[:800])
        refused[bad] = re.sub(r"gs-record: |`[^']*'|0x[0-9a-f]+|\d+", "", message.splitlines()[0]).strip()


def tabulate(title, counter):
    for cause, n in counter.most_common(14):
        print("#     %-9s %6d  %s" % (title, n, cause))


def absences(dry):
    """Variables of the dry run by cause, those that are read as `read'."""
    count = collections.Counter()
    for line in dry.splitlines():
        m = re.match(r"    ([^ ].*?): (.*)$", line)
        if not m or m.group(1) in ("instruction", "plan"):
            continue
        where = m.group(2)
        w = re.search(r", (optimized-out|unavailable: [^;]*|not-collected.*)(?:;|$)", where)
        cause = w.group(1) if w else "read"
        cause = re.sub(r"\bin [xyz]mm\d+|in st\(?\d\)?", "in a vector register", cause)
        count[re.sub(r"entry_value\(\w+\)", "entry_value", cause)] += 1
    return count


# ---- values ----

def record_values(t, probes, directory):
    data = os.path.join(directory, "gs.data")
    done_ = gs(t, probes, directory, "-q", "--system-wide", "-o", data)
    if done_.returncode:
        raise RuntimeError(done_.stderr[:800])
    rows = collections.defaultdict(list)
    text = report("--json", "--addr", data)
    if text.returncode:
        raise RuntimeError(text.stderr[:800])
    seen = {}
    for line in text.stdout.splitlines():
        event = json.loads(line, parse_float=Decimal)
        site = int(event["addr"], 16)
        if event["comm"] == "setarch":  # which starts the command
            continue
        if seen.setdefault(site, event["probe"]) == event["probe"] and len(rows[site]) < HITS:
            rows[site].append(event)
            t.functions[site] = event["func"], event["src"]
    return rows, done_.stdout


Decimal = type("Decimal", (str,), {})


def gdb_values(t, sites, directory):
    stops, out = os.path.join(directory, "stops.json"), os.path.join(directory, "gdb.json")
    with open(stops, "w") as f:
        json.dump([{"id": s, "where": "*%#x" % s, "func": t.functions[s][0]} for s in sites], f)
    env = dict(ENV, ORACLE_STOPS=stops, ORACLE_OUT=out, ORACLE_LIMIT=str(HITS), ORACLE_OBJECT=os.path.realpath(t.module),
               ORACLE_VADDR=first_address(t.module), ORACLE_ENV=" ".join("%s=%s" % e for e in ENV.items()))
    with open(stdin_file(t, directory)) as f:
        done_ = subprocess.run(["gdb", "-nx", "-batch", "-x", os.path.join(TOP, "tests/lib/gdb_oracle.py"), "--args",
                                *t.command], env=env, stdin=f, capture_output=True, text=True, timeout=900)
    rows = collections.defaultdict(list)
    if not os.path.exists(out):
        raise RuntimeError(done_.stderr[:800])
    t.gdb_died = done_.returncode != 0
    if t.gdb_died:
        print("# gdb ended before the program: " + " ".join(done_.stderr.split())[-120:])
    with open(out) as f:
        for line in f.read().split("\n")[:-1]:  # a last line without an end is of a gdb that died
            row = json.loads(line)
            rows[row["id"]].append(row)
    return rows


def first_address(module):
    text = subprocess.run(["readelf", "-lW", module], capture_output=True, text=True, check=True).stdout
    return re.search(r"LOAD +0x0+ (0x[0-9a-f]+)", text).group(1)


def compare(t, rows, stops):
    found = []
    for site in rows:
        if stops.get(site):
            mc.compare_site(t, site, rows[site], stops, HITS, found)
    return [moved(f) for f in found if f.path != "hits" or not t.gdb_died]


def moved(f):
    """The page that uprobes map into a process moves mappings that are made later."""
    both = [re.fullmatch("0x7ffff[0-7][0-9a-f]{6}", str(v)) for v in (f.gs, f.gdb)]
    return f._replace(kind="random") if f.kind == "different" and all(both) else f


# ---- one target ----

def one(t, tmp, totals):
    chance = random.Random(SEED)
    plain = subprocess.run(t.command, env=ENV, input=t.stdin, capture_output=True, text=True, timeout=300)
    good = []
    for what, probes, share in (("functions", random_functions(t, chance), 0.95), ("lines", random_lines(t, chance), 0.90)):
        rest, refused, dry = accepted(t, probes, tmp)
        count = absences(dry)
        print("# %s: %d of %d %s attach" % (t.name, len(rest), len(probes), what))
        tabulate("refused", collections.Counter(refused.values()))
        tabulate("variables", count)
        if EXPLAIN:
            for p, why in refused.items():
                print("#       %s: %s" % (p, why))
        ok(len(rest) >= share * len(probes), "%s: random %s attach" % (t.name, what), refused)
        ok(not [c for c in list(refused.values()) + list(count) if "unsupported operation" in c],
           "%s: no unsupported operation at %s" % (t.name, what))
        good += rest
    rows, output = record_values(t, good, tmp)
    equal(output, plain.stdout, "%s: the program prints the same" % t.name)
    stops = gdb_values(t, list(rows), tmp)
    found = compare(t, rows, stops)
    if any(f.kind == "different" for f in found):
        found = mc.indeterminate(found, compare(t, record_values(t, good, tmp)[0], stops))
    for f in found:
        totals.add(t, f)
    count = collections.Counter(f.kind for f in found)
    print("# %s: %s at %d sites" % (t.name, dict(count), len(rows)))
    ok(count["equal"] and not count["different"], "%s: values equal gdb's" % t.name, dict(count))


def main():
    plan_or_skip()
    tmp = directory()
    totals = mc.Totals()
    for t in targets(tmp):
        if re.search(os.environ.get("GS_BIG_ONLY", ""), t.name):
            case(lambda t=t: one(t, tmp, totals))
    totals.print(EXPLAIN)
    ok(totals.count["equal"] >= (3000 if EVERYTHING else 500), "enough values equal gdb's", totals.count["equal"])
    done()


main()
