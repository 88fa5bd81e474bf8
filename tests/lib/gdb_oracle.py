# SPDX-License-Identifier: BSD-2-Clause
"""Runs inside gdb: stops at given addresses and writes what gdb reads there, one JSON object a stop.

Input (environment): ORACLE_STOPS, a file with a JSON list of {"id", "where"} and maybe "func"; "where" is a gdb location, an
address as "*0x..." is a link-time address (the load bias is added: ORACLE_BIAS, or what the link-time address
ORACLE_MAIN of main tells). ORACLE_OUT: the output file. ORACLE_LIMIT: how many hits of each stop are wanted.
ORACLE_OBJECT: part of the path of the module that the addresses are in: its place is then looked up;
ORACLE_VADDR: its first link-time address.
ORACLE_ENV: the environment of the program.
Values follow the JSON contract of gs-report, except that what gdb cannot read is {"?": reason}.
"""
import json
import os
import re
import struct
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from matrix_compare import plain_name  # noqa: E402


# gs shows these by content; tests of their own compare that.
CONTAINER = re.compile(r"std::(__cxx11::|__debug::)?(basic_string|basic_string_view|vector|deque|list|forward_list|map|set|"
                       r"multimap|multiset|unordered_\w+|unique_ptr|shared_ptr|weak_ptr|optional|variant|tuple|pair|array|"
                       r"function|any|span|initializer_list)<")
AGGREGATES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)


def is_char(t):
    return t.code == gdb.TYPE_CODE_INT and t.name == "char"


def plain(t):
    return t.strip_typedefs().unqualified()


def bytes_to_text(raw):
    out = []
    while raw:
        try:
            out.append(raw.decode("utf-8"))
            break
        except UnicodeDecodeError as e:
            out.append(raw[: e.start].decode("utf-8"))
            out.append("\\x%02x" % raw[e.start])
            raw = raw[e.start + 1 :]
    return "".join(out)


def read_string(address, limit=200):
    inferior = gdb.selected_inferior()
    raw = b""
    while len(raw) <= limit:
        byte = bytes(inferior.read_memory(address + len(raw), 1))
        if byte == b"\0":
            return bytes_to_text(raw)
        raw += byte
    return bytes_to_text(raw[:limit])


def wide_char(t):
    names = {t.name, plain(t).name} | {t.unqualified().name}
    return bool(names & {"wchar_t", "char8_t", "char16_t", "char32_t"})


def wide_text(units):
    """Text of wide characters up to the end, as gs shows it; or why there is none."""
    out = b""
    try:
        for unit in units:
            if int(unit) == 0:
                break
            out += (int(unit) & (1 << 8 * unit.type.sizeof) - 1).to_bytes(unit.type.sizeof, "little")
            size = unit.type.sizeof
        return out.decode({1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}[size], "replace") if out else ""
    except gdb.error as e:
        return {"?": str(e)}


def enum_name(t, number):
    fields = [(f.name.split("::")[-1], f.enumval) for f in t.fields()]
    if number >= 1 << 63:  # gdb gives enumerators as signed 64-bit numbers
        fields = [(name, value & (1 << 64) - 1) for name, value in fields]
    for name, value in fields:
        if value == number:
            return name
    flags = all(v >= 0 and bin(v).count("1") <= 1 for _, v in fields)
    if not flags or number <= 0:
        return number
    names, rest = [], number
    for name, value in fields:
        if value and rest & value == value:
            names.append(name)
            rest &= ~value
    return number if rest else "|".join(names)


def number_of_float(value, t):
    if t.sizeof > 8:
        return {"?l": value.format_string(format="f")}
    if t.sizeof == 4:
        return {"?f32": struct.unpack("<I", struct.pack("<f", float(value)))[0]}
    return {"?f": float(value)}


def convert(value):
    """A gdb.Value as JSON contract value; raises gdb.error when it cannot be read."""
    t = plain(value.type)
    code = t.code
    if code == gdb.TYPE_CODE_VOID:  # std::nullptr_t
        return {"?n": int(value)}
    if value.is_optimized_out and code not in AGGREGATES:  # an aggregate may be so in part
        return {"?": "optimized out"}
    if code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return convert(value.referenced_value())
    if code in (gdb.TYPE_CODE_MEMBERPTR, gdb.TYPE_CODE_METHODPTR):
        return {"?m": value.format_string(format="x")}
    if code == gdb.TYPE_CODE_STRUCT and CONTAINER.match(t.name or ""):
        return {"?c": t.name}
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        out = {}
        for f in t.fields():
            if not hasattr(f, "bitpos"):
                continue
            if f.artificial and f.name and f.name.startswith("_vptr"):
                continue
            member = safe(lambda f=f: convert(value[f]))
            if f.is_base_class:
                out[unscoped(f.name)] = member
            elif f.name is None or f.name == "":
                out.update(member if isinstance(member, dict) else {})
            else:
                out[f.name] = member
        return out
    if code == gdb.TYPE_CODE_ARRAY:
        low, high = t.range()
        if is_char(plain(t.target())):
            high = min(high, low + 299)
            try:
                raw = bytes((int(value[i]) & 0xFF) for i in range(low, high + 1))
            except gdb.error as e:
                return {"?": str(e)}
            return bytes_to_text(raw.split(b"\0")[0])
        if wide_char(t.target()):
            return wide_text(value[i] for i in range(low, min(high, low + 199) + 1))
        return [safe(lambda i=i: convert(value[i])) for i in range(low, min(high, low + 299) + 1)]
    if code == gdb.TYPE_CODE_PTR:
        if "synthetic pointer" in value.format_string():
            return {"?p": safe(lambda: convert(value.dereference()))}
        address = int(value)
        if is_char(plain(t.target())):
            if address == 0:
                return None
            try:
                return read_string(address)
            except gdb.MemoryError:
                return {"?": "fault"}
        if wide_char(t.target()):
            return wide_text(value[i] for i in range(200)) if address else None
        return "0x%x" % address
    if code == gdb.TYPE_CODE_ENUM:
        return enum_name(t, int(value))
    if code == gdb.TYPE_CODE_COMPLEX:
        gdb.set_convenience_variable("complex", value)
        half = plain(t.target())
        return [number_of_float(gdb.parse_and_eval("$_%s($complex)" % part), half) for part in ("creal", "cimag")]
    if code == gdb.TYPE_CODE_BOOL:
        return bool(value) if int(value) in (0, 1) else int(value)
    if code == gdb.TYPE_CODE_FLT:
        return number_of_float(value, t)
    if t.sizeof == 16:  # int() refuses; the contract is a string of digits
        number = int(value.format_string(format="x"), 16)
        return str(number - (1 << 128) if number >> 127 and "unsigned" not in t.name else number)
    return int(value)


def unscoped(name):
    """A class name without its scope, but with its template arguments."""
    depth, start = 0, 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if depth == 0 and name.startswith("::", i):
            start = i + 2
    return name[start:]


def safe(function):
    try:
        return function()
    except gdb.error as e:
        return {"?": str(e)}


def is_constant(symbol):
    """A variable that is nothing but a constant, which gdb tells from an enumerator by its type alone."""
    t = plain(symbol.type)
    return symbol.is_constant and not (t.code == gdb.TYPE_CODE_ENUM and any(
        f.name.split("::")[-1] == symbol.name for f in t.fields()))


def visible(frame, function):
    """What `info args` and `info locals` show of the innermost function at the pc, or of the one called FUNCTION that
    it is inlined in: arguments, then locals; of shadowed ones the innermost. What has the name of one before it is
    NAME#2. Unset: whose declaration the line has not passed."""
    args, local, seen = [], [], set()
    line = frame.find_sal().line
    block = gdb.block_for_pc(frame.pc())
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if symbol.is_argument:
                args.append(symbol)
            elif (symbol.is_variable or is_constant(symbol)) and symbol.name not in seen:
                local.append(symbol)
        seen.update(s.name for s in local)
        if block.function is not None:
            if function is None or plain_name(block.function.name) == plain_name(function):
                return level(frame_of(frame, block.function), args, local, line)
            args, local, seen = [], [], set()
        block = block.superblock
    return {"values": {}, "args": [], "unset": [], "elsewhere": True}


def frame_of(frame, function):
    """The frame of the function among the inlined ones; gdb has none where one begins."""
    f = frame
    while f is not None and f.function() != function:
        if f.type() != gdb.INLINE_FRAME:
            return frame
        f = f.older()
    return f or frame


def level(frame, args, local, line):
    out, names, unset = {}, [], []
    for symbol in args + local:
        name, n = symbol.name, 2
        while name in out:
            name, n = "%s#%d" % (symbol.name, n), n + 1
        out[name] = safe(lambda s=symbol: convert(s.value(frame)))
        if symbol.is_argument:
            names.append(name)
        elif symbol.line >= line and symbol.addr_class != gdb.SYMBOL_LOC_STATIC:
            unset.append(name)
    return {"values": out, "args": names, "unset": unset}


def load_bias():
    """What is added to a link-time address: told, or from the address of main, or where a module was mapped."""
    if "ORACLE_OBJECT" in os.environ:
        gdb.execute("tbreak main")
        gdb.execute("continue", to_string=True)
        for line in gdb.execute("info proc mappings", to_string=True).splitlines():
            if os.environ["ORACLE_OBJECT"] in line:
                return int(line.split()[0], 16) - int(os.environ["ORACLE_VADDR"], 0)
    if "ORACLE_MAIN" not in os.environ:
        return int(os.environ.get("ORACLE_BIAS", "0"), 0)
    return int(gdb.parse_and_eval("(long)&main")) - int(os.environ["ORACLE_MAIN"], 0)


def main():
    with open(os.environ["ORACLE_STOPS"]) as f:
        stops = json.load(f)
    limit = int(os.environ.get("ORACLE_LIMIT", "0"))
    environment = os.environ.get("ORACLE_ENV", "PATH=/usr/bin:/bin")
    out = open(os.environ["ORACLE_OUT"], "w")
    for command in ("set pagination off", "set confirm off", "set width 0", "set breakpoint pending off",
                    "set print elements 200", "set disable-randomization on",
                    # Exactly the environment that gs-record gives it: the stack is then at the same addresses.
                    "set exec-wrapper env -i " + environment):
        gdb.execute(command)
    gdb.execute("starti", to_string=True)
    bias = load_bias()
    ids, hits, functions = {}, {}, {}
    for stop in stops:
        where = stop["where"]
        if where.startswith("*"):
            where = "*%#x" % (int(where[1:], 0) + bias)
        breakpoint = gdb.Breakpoint(where)
        breakpoint.silent = True
        ids[breakpoint.number] = stop["id"]
        functions[breakpoint.number] = stop.get("func")

    def on_stop(event):
        if not isinstance(event, gdb.BreakpointEvent):
            return
        frame = gdb.newest_frame()
        for breakpoint in event.breakpoints:
            if breakpoint.number in ids:
                hits[breakpoint.number] = hits.get(breakpoint.number, 0) + 1
                if hits[breakpoint.number] == limit:
                    breakpoint.enabled = False
                row = {"id": ids[breakpoint.number], **visible(frame, functions[breakpoint.number])}
                out.write(json.dumps(row) + "\n")

    gdb.events.stop.connect(on_stop)
    while gdb.selected_inferior().pid:
        gdb.execute("continue", to_string=True)
    out.close()


main()
