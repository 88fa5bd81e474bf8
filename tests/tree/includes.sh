#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The include rules of the layout: the folders are the data flow, and includes point one way.
cd "$(dirname "$0")/../.." && . tests/tap.sh

# folder: project folders that it may include, then library headers that it may include
rules='common:common:
format:format|common:lz4
bpf:bpf|common|format/event.h:bpf/|linux/bpf|linux/perf_event|linux/btf
record:record|bpf|format|common:elfutils/|libelf|gelf|elf|dwarf|capstone/|linux/bpf
report:report|format|common:capstone/'
libs='lz4|bpf/|elfutils/|libelf|gelf|dwarf|capstone/'

check_folder() { # folder project-allowed library-allowed
	grep -nE '^#[ \t]*include' "$1"/*.[ch] 2>/dev/null | while IFS= read -r line; do
		what=${line#*include}
		case $what in
		*\"*)
			inc=${what#*\"}
			inc=${inc%%\"*}
			echo "$inc" | grep -Eq "^($2)(/|\$)" || echo "$line"
			;;
		*)
			inc=${what#*<}
			inc=${inc%%>*}
			echo "$inc" | grep -Eq "^($libs)" || continue
			[ -n "$3" ] && echo "$inc" | grep -Eq "^($3)" || echo "$line"
			;;
		esac
	done
}

IFS_=$IFS
IFS='
'
for rule in $rules; do
	IFS=$IFS_
	folder=${rule%%:*}
	rest=${rule#*:}
	is "$folder includes only what it may" \
		"$(check_folder "$folder" "${rest%%:*}" "${rest#*:}")" ""
done
done_testing
