# SPDX-License-Identifier: BSD-2-Clause
"""The configurations of the matrix test: how each is built, and where its statements are."""
import bisect
import collections
import os
import re
import shutil
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Exactly the environment of both runs, so that the stacks are at the same addresses.
ENV = {"PATH": "/usr/bin:/bin"}
COMPILERS = {"gcc": {"c": "gcc", "cc": "g++"}, "clang": {"c": "clang", "cc": "clang++"}}

STANDARD = {"c": [], "cc": ["-std=c++20"]}

Configuration = collections.namedtuple("Configuration", "name compiler language flags link post")


def _make(compiler, language, name, flags, link=(), post=None):
    return Configuration("%s-%s-%s" % (compiler, language, name), compiler, language, list(flags), list(link), post)


# What `make check' takes: each level and each way to link once or twice.
SAMPLE = """gcc-cc-O0dwarf-5 gcc-c-O1dwarf-4 gcc-c-O2dwarf-5 gcc-c-lto gcc-cc-static-pie gcc-cc-O3dwarf-4
gcc-cc-split clang-c-O0dwarf-4 clang-c-O2dwarf-5 clang-c-types clang-cc-O1dwarf-5 clang-cc-debuglink
clang-cc-compressed""".split()
WAYS = [
    ("split", ["-gsplit-dwarf"], [], None),
    ("split4", ["-gsplit-dwarf", "-gdwarf-4"], [], None),
    ("compressed", ["-gz=zlib"], ["-gz=zlib"], None),
    ("debuglink", [], [], "debuglink"),
    ("lto", ["-flto"], ["-flto"], None),
    ("static-pie", ["-fPIE"], ["-static-pie"], None),
    ("no-pie", ["-fno-pie"], ["-no-pie"], None),
    ("sections", ["-ffunction-sections", "-fdata-sections"], ["-Wl,--gc-sections"], None),
    ("types", ["-fdebug-types-section"], [], None),
    ("nofp", ["-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"], [], None),
]


def configurations(everything):
    out = []
    for language in ("c", "cc"):
        for compiler in ("gcc", "clang"):
            for level in ("-O0", "-O1", "-O2", "-O3", "-Og"):
                for dwarf in ("-gdwarf-4", "-gdwarf-5"):
                    out.append(_make(compiler, language, level[1:] + dwarf[2:], [level, dwarf]))
            for name, flags, link, post in WAYS:
                lld = ["-fuse-ld=lld"] if compiler == "clang" and name == "lto" else []
                out.append(_make(compiler, language, name, ["-O2", *flags], link + lld, post))
    return [c for c in out if shutil.which(COMPILERS[c.compiler][c.language])
            and (everything or c.name in SAMPLE)]


_witness = {}


def witness(language, directory, turns):
    """What the program says of itself when it is built to: (function, path) to the values, one a call."""
    if language not in _witness:
        binary = os.path.join(directory, "witness-" + language)
        source = os.path.join(TOP, "tests/fixtures/matrix." + language)
        subprocess.run([COMPILERS["gcc"][language], "-w", "-DWITNESS", *STANDARD[language], "-o", binary, source],
                       check=True)
        out = collections.defaultdict(list)
        text = subprocess.run([binary, turns], capture_output=True, text=True, check=True).stdout
        for m in re.finditer(r"^W (\S+) (\S+) (.*)$", text, re.M):
            out[(m.group(1), m.group(2))].append(m.group(3))
        _witness[language] = out
    return _witness[language]


class Build:
    """One configuration, built: its binary, symbols and statement rows."""

    def __init__(self, configuration, directory):
        self.name = configuration.name
        self.configuration = configuration
        self.options = []
        self.gdb_options = []
        source = os.path.join(TOP, "tests/fixtures/matrix." + configuration.language)
        compiler = COMPILERS[configuration.compiler][configuration.language]
        self.binary = os.path.join(directory, "m-" + self.name)
        obj = self.binary + ".o"
        flags = ["-g", "-w", *STANDARD[configuration.language], "-fcf-protection", *configuration.flags]
        subprocess.run([compiler, *flags, "-c", "-o", obj, source], check=True, cwd=directory)
        subprocess.run([compiler, *flags, *configuration.link, "-Wl,-z,now", "-o", self.binary, obj], check=True, cwd=directory)
        self.optimised = "-O0" not in configuration.flags
        self.symbols = self._symbols()
        self.rows = self._rows(os.path.basename(source))
        if configuration.post == "debuglink":
            subprocess.run(["objcopy", "--only-keep-debug", self.binary, self.binary + ".debug"], check=True)
            subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + self.binary + ".debug", self.binary],
                           check=True)

    def _symbols(self):
        out = []
        text = subprocess.run(["nm", "-S", self.binary], capture_output=True, text=True, check=True).stdout
        for line in text.splitlines():
            m = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (\S+)$", line)
            if m:
                out.append((int(m.group(1), 16), int(m.group(2), 16), m.group(3)))
        return sorted(out)

    def symbol(self, name):
        return next(s[0] for s in self.symbols if s[2] == name)

    def function(self, address):
        """(start, size, name) of the function around an address, or None."""
        i = bisect.bisect(self.symbols, (address, 1 << 64, "")) - 1
        if i >= 0 and self.symbols[i][0] <= address < self.symbols[i][0] + self.symbols[i][1]:
            return self.symbols[i]
        return None

    def _rows(self, source):
        """address -> line of every statement row of the fixture's file, ends of sequences left out."""
        text = subprocess.run(["objdump", "--dwarf=decodedline", self.binary], capture_output=True, text=True).stdout
        out = {}
        for line in text.splitlines():
            m = re.match(r"(\S+)\s+(\d+)\s+((?:0x[0-9a-f]+|0))(?:\[\d+\])?(?:\s+\d+)?\s+x$", line)
            if m and os.path.basename(m.group(1)) == source:
                out.setdefault(int(m.group(3), 16), int(m.group(2)))
        return out

    def statements(self):
        return sorted(a for a in self.rows if self.function(a))

    def place(self, address):
        f = self.function(address)
        return "%s+%d line %d" % (f[2] if f else "?", address - f[0] if f else 0, self.rows.get(address, 0))

    def is_entry(self, address):
        return self.function(address)[0] == address

    def after_prologue(self, address):
        start, size, _ = self.function(address)
        return min((a for a in self.rows if start < a < start + size), default=None)
