#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Rules of the sources that a machine can check.
cd "$(dirname "$0")/../.." && . tests/tap.sh
sources=$(ls common/*.[ch] format/*.[ch] bpf/*.[ch] record/*.[ch] report/*.[ch])
tests=$(ls tests/*.h tests/unit/*.c tests/lib/*.[ch] tests/fuzz/*.c 2>/dev/null)

is "every source begins with its licence" \
	"$(for f in $sources $tests; do head -n 1 "$f" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' || echo "$f"; done)" ""
is "every source says its purpose" \
	"$(for f in $sources; do sed -n 2p "$f" | grep -q '^/\*' || echo "$f"; done)" ""
is "no source file over 800 lines" \
	"$(wc -l $sources | awk '$2 != "total" && $1 > 800 { print $2, $1 }')" ""
is "no function over 100 lines" "$(awk '
	FNR == 1 { start = 0 }
	/^[a-zA-Z_].*[)]?$/ && !/;$/ && !/^(struct|enum|union|typedef)[^(]*$/ { head = $0 }
	/^\{/ { start = FNR; name = head }
	/^\}/ && start { if (FNR - start > 100) print FILENAME ": " name; start = 0 }
	' $(ls common/*.c format/*.c bpf/*.c record/*.c report/*.c))" ""
is "nothing is left for later" \
	"$(grep -nE '\b(TODO|FIXME|XXX)\b|not implemented|for now' $sources | head)" ""
is "no banned functions" \
	"$(grep -nE '\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|atoi|atol)\(' $sources | head)" ""
is "only main exits" \
	"$(grep -nE '[^_a-zA-Z]exit\(' $sources | grep -v '/main.c:' | grep -v ' \* ' | head)" ""
if command -v clang-format >/dev/null; then
	is "clang-format has nothing to say" \
		"$(clang-format --dry-run $sources $tests 2>&1 | grep warning: | cut -d: -f1 | sort | uniq -c)" ""
fi
done_testing
