#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every option of --help is in the man page, and the other way round; the pages format without complaint.
cd "$(dirname "$0")/../.." && . tests/tap.sh

long_options() { grep -oE -- '--[a-z][a-z0-9-]+' | sort -u; }
for tool in gs-record gs-report; do
	page=Documentation/$tool.1
	# The pages write options as \-\-name or \fB\-\-name\fR; only the OPTIONS section counts.
	want=$(./$tool --help | long_options)
	got=$(sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$page" | sed 's/\\-/-/g' |
		grep -E '^(\.TP|\.BR|\.B|\.BI|\.IP|\.OP)' | long_options)
	is "$tool: the man page has each option of --help" \
		"$(for o in $want; do echo "$got" | grep -qxe "$o" || echo "$o"; done)" ""
	is "$tool: --help has each option of the man page" \
		"$(for o in $got; do echo "$want" | grep -qxe "$o" || echo "$o"; done)" ""
	is "$tool: --version" "$(./$tool --version | grep -c "^$tool ")" 1
done
for page in Documentation/*.[1-8]; do
	if command -v man >/dev/null; then
		is "$page formats without warnings" \
			"$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | head -n 5)" ""
	fi
done
done_testing
