# SPDX-License-Identifier: BSD-2-Clause
"""Compares what gs recorded at a site with what gdb printed there, and keeps the counts."""
import collections
import fractions
import re
import struct

Finding = collections.namedtuple("Finding", "kind site hit path gs gdb")


def same_float(gs, gdb):
    size = 4 if "?f32" in gdb else 8
    try:
        ours = float(gs)
    except (TypeError, ValueError):
        return False
    if size == 4:
        theirs = struct.unpack("<f", struct.pack("<I", gdb["?f32"]))[0]
    else:
        theirs = gdb["?f"]
    if ours != ours or theirs != theirs:
        return ours != ours and theirs != theirs
    code = "<f" if size == 4 else "<d"
    try:
        return struct.pack(code, ours) == struct.pack(code, theirs)
    except OverflowError:
        return False


def extended_bits(text):
    """Mantissa (64 bits) and exponent of a decimal, rounded to nearest even as x87 does."""
    text = str(text).lower()
    if "nan" in text or "invalid" in text:
        return "nan"
    if "inf" in text:
        return text[0] == "-", "inf"
    number = fractions.Fraction(text)
    if number == 0:
        return text.startswith("-"), 0
    sign, number = number < 0, abs(number)
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    if number < fractions.Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, -16382)
    return sign, round(number / fractions.Fraction(2) ** (exponent - 63)), exponent


def member_pointer(text):
    """Address or offset, and adjustment, of gs's 0xADDRESS+N and of gdb's text."""
    virtual = re.search(r"virtual table offset (\d+)", str(text))
    if virtual:  # the ABI marks these by an odd pointer
        text = "%#x%s" % (int(virtual.group(1)) + 1, text[virtual.end():])
    ours = re.fullmatch(r"(0x[0-9a-f]+)(?:\+(-?\d+))?", str(text))
    m = ours or re.search(r"(0x[0-9a-f]+)[^,]*(?:, this adjustment (-?\d+))?$", str(text))
    return m and (int(m.group(1), 16), int(m.group(2) or 0))


def is_absent(gdb):
    """gdb has no value, or an aggregate without any."""
    if isinstance(gdb, dict):
        return "?" in gdb or bool(gdb) and all(is_absent(v) for v in gdb.values())
    return isinstance(gdb, list) and bool(gdb) and all(is_absent(v) for v in gdb)


def is_aggregate(gdb):
    return isinstance(gdb, (dict, list)) and not (isinstance(gdb, dict) and any(k[:1] == "?" for k in gdb))


def why_absent(gdb):
    while "?" not in gdb:
        gdb = list(gdb.values())[0] if isinstance(gdb, dict) else gdb[0]
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", gdb["?"])


def has_value(gs, status, path):
    """Whether gs has any leaf of an aggregate."""
    if isinstance(gs, dict):
        return any(has_value(v, status, path + "." + k) for k, v in gs.items())
    if isinstance(gs, list):
        return any(has_value(v, status, "%s[%d]" % (path, i)) for i, v in enumerate(gs))
    return path not in status


def same_bases(gs, gdb):
    """Base classes are keyed by their names, in which gdb rewrites template arguments (`unsigned long'): by order."""
    ours = [k for k in gs if k not in gdb and "<" in k]
    theirs = [k for k in gdb if k not in gs and "<" in k]
    if not ours or [k.split("<")[0] for k in ours] != [k.split("<")[0] for k in theirs]:
        return gs
    names = dict(zip(ours, theirs))
    return {names.get(k, k): v for k, v in gs.items()}


def compare_value(gs, gdb, status, reason, path, add):
    """Calls add(kind, path, gs, gdb) for every leaf."""
    word = status.get(path)
    if isinstance(gdb, dict) and "?c" in gdb:
        return add("container", path, word or "by content", gdb["?c"])
    if word is not None and word != "truncated":
        if is_absent(gdb):
            return add("absent", path, word, why_absent(gdb))
        if is_aggregate(gdb):
            for key, want in gdb.items() if isinstance(gdb, dict) else enumerate(gdb):
                below = path + ("." + key if isinstance(gdb, dict) else "[%d]" % key)
                compare_value(None, want, dict(status, **{below: word}),
                              dict(reason, **{below: reason.get(path, "")}), below, add)
            return None
        why = reason.get(path, "")
        if re.search(r"in [xyz]mm\d|vector|in st", why):
            return add("vector", path, why, gdb)
        return add("gdbs", path, "%s %s" % (word, why), gdb)
    if is_absent(gdb):
        if gs == "NaN" and "Invalid floating" in gdb.get("?", ""):  # gdb's word for an 80-bit pattern that is no number
            return add("equal", path, gs, gdb)
        kind = "ours" if has_value(gs, status, path) else "absent"
        return add(kind, path, gs, why_absent(gdb))
    if isinstance(gdb, dict) and "?m" in gdb:
        return add("equal" if member_pointer(gs) == member_pointer(gdb["?m"]) else "different", path, gs, gdb)
    if isinstance(gdb, dict) and "?n" in gdb:  # gdb gives std::nullptr_t no size of its own
        same = (int(gs, 16) ^ gdb["?n"]) & 0xffffffff == 0
        return add("equal" if same else "different", path, gs, gdb)
    if isinstance(gdb, dict) and "?l" in gdb:
        same = extended_bits(gs) == extended_bits(gdb["?l"])
        return add("equal" if same else "different", path, gs, gdb)
    if isinstance(gdb, dict) and ("?f" in gdb or "?f32" in gdb):
        return add("equal" if same_float(gs, gdb) else "different", path, gs, gdb)
    if isinstance(gdb, dict):
        if not isinstance(gs, dict):
            return add("different", path, gs, gdb)
        gs = same_bases(gs, gdb)
        for key in set(gs) - set(gdb):
            add("different", path + "." + key, gs[key], "no such member")
        for key, want in gdb.items():
            if key not in gs and is_absent(want):
                add("absent", path + "." + key, "no such member", why_absent(want))
            elif key not in gs and key in shared:  # a virtual base is shown in the first class that has it
                add("absent", path + "." + key, "shown elsewhere", "")
            elif key in gs:
                compare_value(gs[key], want, status, reason, path + "." + key, add)
            else:
                add("different", path + "." + key, "no such member", want)
        return None
    if isinstance(gdb, list):
        short = word == "truncated"
        if not isinstance(gs, list) or len(gs) != len(gdb) and not (short and 0 < len(gs) < len(gdb)):
            return add("different", path, gs, gdb)
        for i, want in enumerate(gdb[: len(gs)]):
            compare_value(gs[i], want, status, reason, "%s[%d]" % (path, i), add)
        return None
    if word == "truncated" and isinstance(gdb, str) and isinstance(gs, str) and gs:
        return add("equal" if gdb.startswith(gs) else "different", path, gs, gdb)
    if isinstance(gdb, str) and "\ufffd" in gdb and "\\x" in str(gs):  # not characters, written in two ways
        return add("unset", path, gs, gdb)
    same = gs == gdb and isinstance(gs, bool) == isinstance(gdb, bool)
    return add("equal" if same else "different", path, gs, gdb)


def only(values, names):
    return {k: v for k, v in values.items() if k in names}


def plain_name(name):
    """The last component of a function's name, without template arguments and parameters."""
    depth, out = 0, ""
    for i, c in enumerate(name or ""):
        if c in "<(" and not out.endswith("operator"):
            depth += 1
        elif c in ">)" and depth:
            depth -= 1
        elif depth == 0:
            out += c
    return out.split("::")[-1].strip()


def compare_site(build, site, rows, stops, limit, found):
    """One address: its hits by number. At the first instruction of a function only its arguments are compared; what
    gdb reads from frames that are not made yet is wrong, and then its value after the prologue is the truth."""
    wanted, rows = stops.get(site, [])[:limit], rows[:limit]
    if len(rows) != len(wanted):
        found.append(Finding("different", site, 0, "hits", len(rows), len(wanted)))
    later = stops.get(build.after_prologue(site), []) if build.is_entry(site) else None
    for hit, (event, stop) in enumerate(zip(rows, wanted)):
        here = []
        if stop.get("elsewhere"):
            found.append(Finding("elsewhere", site, hit, "function", event["func"], "not at this address"))
            continue
        if later is not None:
            event = dict(event, values=only(event["values"], stop["args"]))
            stop = dict(stop, values=only(stop["values"], stop["args"]))
        compare_hit(site, hit, event, stop["values"], here)
        if later is not None and len(later) == len(wanted) and (
                not build.optimised or any(f.kind != "equal" for f in here)):
            here = at_entry(build, site, hit, event, only(later[hit]["values"], stop["args"]), here)
        found.extend(f._replace(kind="unset") if f.kind == "different" and base_name(f.path) in stop["unset"] else f
                     for f in here)


def base_name(path):
    return re.match(r"[^.\[]*", path).group(0)


def at_entry(build, site, hit, event, values, here):
    """Judged by gdb's values after the prologue: without optimisation all, else what was not equal at the entry."""
    again = []
    compare_hit(site, hit, event, values, again)
    if not build.optimised:
        return again
    later = {f.path: f for f in again}
    return [f if f.kind in ("equal", "vector", "absent") or f.path not in later or
            f.kind == "gdbs" and later[f.path].kind == "equal" else later[f.path] for f in here]


# Members of the whole value that is being compared, by name.
shared = set()


def member_names(value):
    if isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from member_names(below)


def compare_hit(site, hit, event, values, found):
    status, reason = event.get("status", {}), event.get("reason", {})

    def add(kind, path, gs, gdb):
        found.append(Finding(kind, site, hit, path, gs, gdb))

    for name, want in values.items():
        if name in event["values"]:
            shared.clear()
            shared.update(member_names(event["values"][name]))
            compare_value(event["values"][name], want, status, reason, name, add)
        elif is_absent(want):
            add("absent", name, "not an item", why_absent(want))
        else:
            add("gdbs", name, "no such item", want)
    for name in event["values"]:
        if name not in values and name not in status:
            add("ours", name, event["values"][name], "no such symbol")


def indeterminate(found, again):
    """What differs between two runs of the same program under gs has no right value: unset memory in which the
    system left random numbers."""
    other = {(f.site, f.hit, f.path): f.gs for f in again}
    return [f._replace(kind="random") if f.kind == "different" and f.path != "hits"
            and other.get((f.site, f.hit, f.path), f.gs) != f.gs else f for f in found]


def judge(build, found, witness):
    """Settles by the program's own account what gdb gets wrong or cannot say. WITNESS: (function, path) to values, one
    a call; the site must be passed once a call."""
    out = []
    for f in found:
        if f.kind in ("different", "ours", "gdbs"):
            values = witness.get((build.function(f.site)[2].split(".")[0], f.path), [])
            if f.hit < len(values):
                truth = values[f.hit]
                if f.kind != "gdbs" and str(f.gs) == truth:
                    f = f._replace(kind="proven")
                elif f.kind == "gdbs" and not same_text(f.gdb, truth):
                    f = f._replace(kind="gdbwrong")
        out.append(f)
    return out


def same_text(gdb, truth):
    if isinstance(gdb, dict):
        return same_float(truth, gdb) if "?f" in gdb or "?f32" in gdb else False
    return str(gdb) == truth


class Totals:
    """Counts of all configurations, and of the causes of what is not equal."""

    def __init__(self):
        self.count = collections.Counter()
        self.causes = collections.Counter()
        self.examples = {}

    def add(self, build, f):
        self.count[f.kind] += 1
        if f.kind == "equal":
            return
        cause = (f.kind, str(f.gs) if f.kind in ("gdbs", "absent", "vector") else "",
                 str(f.gdb) if f.kind in ("ours", "absent") else "")
        if f.kind == "different":
            cause = (f.kind, build.function(f.site)[2], re.sub(r"\[\d+\]", "[]", f.path))
        self.causes[cause] += 1
        self.examples.setdefault(cause, []).append((build, f))

    def compared(self):
        return self.count["equal"] + self.count["different"]

    def print(self, explain=None):
        for cause, n in sorted(self.causes.items(), key=lambda c: (c[0][0], -c[1])):
            if cause[0] in ("absent", "vector", "random", "proven", "unset", "container", "elsewhere") and not explain:
                continue
            print("# %s x%d: %s" % (cause[0], n, " | ".join(c for c in cause[1:] if c)))
            for build, f in self.examples[cause][:: max(1, n // 2)][:2]:
                print("#     %s %#x %s: %s: gs %s, gdb %s"
                      % (build.name, f.site, build.place(f.site), f.path, repr(f.gs)[:90], repr(f.gdb)[:90]))
        c = self.count
        print("# compared %d: equal %d, different %d; absent in both %d, ours only %d (and %d that the program proves "
              "against gdb), gdb's only %d, vector registers %d; gdb wrong where gs has none %d, random in each run %d"
              % (self.compared(), c["equal"], c["different"], c["absent"], c["ours"], c["proven"], c["gdbs"],
                 c["vector"], c["gdbwrong"], c["random"]))
