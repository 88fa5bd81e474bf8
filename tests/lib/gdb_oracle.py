# SPDX-License-Identifier: BSD-2-Clause
"""Runs inside gdb: stops at given addresses and writes what gdb reads there, one JSON object a stop.

Input (environment): ORACLE_STOPS, a JSON list of {"id", "where", "names"}; "where" is a gdb location, an
address as "*0x..." is a link-time address (the load bias is added). ORACLE_OUT: the output file.
Values follow the JSON contract of gs-report, except that what gdb cannot read is {"?": reason}.
"""
import json
import os
import struct

import gdb


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
    if t.sizeof == 4:
        return {"?f32": struct.unpack("<I", struct.pack("<f", float(value)))[0]}
    return {"?f": float(value)}


def convert(value):
    """A gdb.Value as JSON contract value; raises gdb.error when it cannot be read."""
    if value.is_optimized_out:
        return {"?": "optimized out"}
    t = plain(value.type)
    code = t.code
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        out = {}
        for f in t.fields():
            if not hasattr(f, "bitpos"):
                continue
            member = convert(value[f])
            if f.name is None or f.name == "":
                out.update(member if isinstance(member, dict) else {})
            else:
                out[f.name] = member
        return out
    if code == gdb.TYPE_CODE_ARRAY:
        low, high = t.range()
        if is_char(plain(t.target())):
            raw = bytes((int(value[i]) & 0xFF) for i in range(low, high + 1))
            return bytes_to_text(raw.split(b"\0")[0])
        return [convert(value[i]) for i in range(low, high + 1)]
    if code == gdb.TYPE_CODE_PTR:
        address = int(value)
        if is_char(plain(t.target())):
            if address == 0:
                return None
            try:
                return read_string(address)
            except gdb.MemoryError:
                return {"?": "fault"}
        return "0x%x" % address
    if code == gdb.TYPE_CODE_ENUM:
        return enum_name(t, int(value))
    if code == gdb.TYPE_CODE_COMPLEX:
        gdb.set_convenience_variable("complex", value)
        half = plain(t.target())
        return [number_of_float(gdb.parse_and_eval("$_%s($complex)" % part), half) for part in ("creal", "cimag")]
    if code == gdb.TYPE_CODE_BOOL:
        return bool(value)
    if code == gdb.TYPE_CODE_FLT:
        return number_of_float(value, t)
    if t.sizeof == 16:  # int() refuses; the contract is a string of digits
        number = int(value.format_string(format="x"), 16)
        return str(number - (1 << 128) if number >> 127 and "unsigned" not in t.name else number)
    return int(value)


def safe(function):
    try:
        return function()
    except gdb.error as e:
        return {"?": str(e)}


def visible(frame):
    """Innermost declaration of every name in the function, as `info args` and `info locals` show."""
    out = {}
    block = frame.block()
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if (symbol.is_argument or symbol.is_variable) and symbol.name not in out:
                out[symbol.name] = safe(lambda s=symbol: convert(s.value(frame)))
        if block.function is not None:
            break
        block = block.superblock
    return out


def main():
    stops = json.loads(os.environ["ORACLE_STOPS"])
    out = open(os.environ["ORACLE_OUT"], "w")
    for command in ("set pagination off", "set confirm off", "set width 0", "set breakpoint pending off",
                    "set print elements 200", "set disable-randomization on",
                    # Exactly the environment that gs-record gives it: the stack is then at the same addresses.
                    "set exec-wrapper env -i PATH=/usr/bin:/bin"):
        gdb.execute(command)
    gdb.execute("starti", to_string=True)
    bias = int(os.environ.get("ORACLE_BIAS", "0"), 0)
    ids = {}
    for stop in stops:
        where = stop["where"]
        if where.startswith("*"):
            where = "*%#x" % (int(where[1:], 0) + bias)
        ids[gdb.Breakpoint(where).number] = stop["id"]

    def on_stop(event):
        if not isinstance(event, gdb.BreakpointEvent):
            return
        frame = gdb.newest_frame()
        for breakpoint in event.breakpoints:
            if breakpoint.number in ids:
                out.write(json.dumps({"id": ids[breakpoint.number], "values": visible(frame)}) + "\n")

    gdb.events.stop.connect(on_stop)
    while gdb.selected_inferior().pid:
        gdb.execute("continue", to_string=True)
    out.close()


main()
