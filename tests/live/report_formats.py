#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One real recording of values of every kind, told by JSON and by CSV: each cell must be in both, alike."""
import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import live  # noqa: E402

PROBES = ["scalars", "enums", "pointers", "by_pointer", "by_value_small", "by_value_two", "by_value_wide",
          "bitfields", "unions", "arrays", "floats", "many", "statics { $args, last, global_int, table2 }",
          "again=by_pointer { *r, r->at, X = r->at.x, n = depth, n = depth + 1, r->name, r->next }"]


class Number(str):
    """A number as it was written: digits beyond a double's count."""


def unique(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key twice: %s" % keys)
    return dict(pairs)


def cells(text):
    """Rows of (quoted, content), by RFC 4180: csv does not tell an empty string from no value."""
    rows, row, i = [], [], 0
    while i < len(text):
        if text[i] == '"':
            content, i = "", i + 1
            while True:
                end = text.index('"', i)
                content, i = content + text[i:end], end + 1
                if text[i] != '"':
                    break
                content, i = content + '"', i + 1
            row.append((True, content))
        else:
            end = min(text.index(c, i) for c in ",\r" if text.find(c, i) >= 0)
            row.append((False, text[i:end]))
            i = end
        if text[i] == ",":
            i += 1
            continue
        if text[i:i + 2] != "\r\n":
            raise ValueError("no line end at %r" % text[i:i + 20])
        rows.append(row)
        row, i = [], i + 2
    return rows


def plain(value):
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, Number):
        return value
    return "".join(c if c in "\n\t" or " " <= c != "\x7f" else "\\x%02x" % ord(c) for c in value)


class Row:
    def __init__(self, probe, header, row):
        self.probe, self.cells, self.used, self.wrong = probe, dict(zip(header, row)), set(header[:9]), []

    def find(self, path):
        for name in (self.probe + ":" + path, path):
            if name in self.cells:
                return name
        return None

    def below(self, path):
        starts = [p + s for p in (path, self.probe + ":" + path) for s in ".["]
        return [c for c in self.cells if any(c.startswith(s) for s in starts)]

    def compare(self, path, value):
        name = self.find(path)
        if isinstance(value, dict):
            for key, member in value.items():
                self.compare(path + "." + key, member)
        elif name is None and isinstance(value, list):
            for i, element in enumerate(value):
                self.compare("%s[%d]" % (path, i), element)
        elif name is None and value is None:
            self.used.update(self.below(path))
            self.wrong += [c for c in self.below(path) if self.cells[c] != (False, "")]
        elif name is None:  # a null pointer of those that are followed
            self.used.update(self.below(path))
            self.compare(path + ".@", value)
        else:
            self.used.add(name)
            self.leaf(name, value)

    def leaf(self, name, value):
        quoted, content = self.cells[name]
        if value is None:
            good = (quoted, content) == (False, "")
        elif isinstance(value, list):
            good = json.loads(content, parse_int=Number, parse_float=Number) == value
        else:
            good = content == plain(value) and (quoted or value != "")
        if not good:
            self.wrong.append((name, self.cells[name], value))

    def rest(self):
        return [c for c in self.cells if c not in self.used and self.cells[c] != (False, "")]


def statuses(cell):
    return dict(e.rsplit("=", 1) for e in cell.split(";")) if cell else {}


def unnamed(row, json_status):
    """Words of one format that the other does not have: CSV names cells, JSON the whole of what is absent."""
    wrong, named = [], statuses(row.cells["status"][1])
    for path, word in named.items():
        above = [p for p in json_status if path == p or path.startswith(p + ".") or path.startswith(p + "[")]
        if not above and word != "not-collected":  # cells below a null pointer
            wrong.append(("csv alone", path, word))
    for path, word in json_status.items():
        below = [w for p, w in named.items() if p == path or p.startswith(path + ".") or p.startswith(path + "[")]
        if not any(w.split(" (")[0] == word for w in below):
            wrong.append(("json alone", path, word))
    return wrong


def compare_formats(data, depth):
    out = [subprocess.run([live.REPORT, f, "--no-guard", data], capture_output=True, check=True).stdout.decode()
           for f in ("--json", "--csv")]
    events = [json.loads(line, object_pairs_hook=unique, parse_int=Number, parse_float=Number)
              for line in out[0].splitlines()]
    rows = cells(out[1])
    live.equal([[c for _, c in row] for row in rows], list(csv.reader(io.StringIO(out[1], newline=""))),
               "depth %d: two readers of CSV agree" % depth)
    header = [name for _, name in rows.pop(0)]
    live.equal(len(set(header)), len(header), "depth %d: no column twice" % depth)
    live.equal(",".join(header[:9]), "ts,cpu,pid,tid,comm,probe,func,src,status", "depth %d: header" % depth)
    live.ok(len(rows) == len(events) > 30, "depth %d: as many rows as events" % depth, (len(rows), len(events)))
    wrong = []
    for event, cells_ in zip(events, rows):
        row = Row(event["probe"], header, cells_)
        for key, value in event["values"].items():
            row.compare(key, value)
        wrong += row.wrong + row.rest() + unnamed(row, event.get("status", {}))
    live.equal(wrong, [], "depth %d: the same values and words" % depth)


def main():
    live.plan_or_skip()
    where = live.directory()
    binary = live.compile_c(os.path.join(live.TOP, "tests/fixtures/values.c"), os.path.join(where, "values"), "-O1")
    for depth in (0, 1):
        data = os.path.join(where, "depth%d.data" % depth)
        args = [a for p in PROBES for a in ("-e", p)]
        done = live.record("-o", data, "--depth", str(depth), *args, "--", binary, "3")
        live.equal(done.returncode, 0, "depth %d: recorded" % depth) or print("#", done.stderr)
        live.case(lambda d=data, n=depth: compare_formats(d, n))
    live.done()


main()
