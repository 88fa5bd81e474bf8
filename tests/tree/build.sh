#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The other builds: clang without warnings, the reporter alone, install and uninstall, sanitizers.
cd "$(dirname "$0")/../.." && . tests/tap.sh
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT

clang_syntax() {
	ls common/*.c format/*.c bpf/*.c record/*.c report/*.c | xargs -P 2 -n 8 clang -std=gnu11 -I. \
		-D_GNU_SOURCE -DGS_VERSION='"0"' -Wall -Wextra -Werror -Wno-unused-parameter -fsyntax-only
}
ok "clang compiles everything without a warning" clang_syntax
ok "install into DESTDIR" make -s install DESTDIR="$tmp/root" prefix=/usr
is "what install puts there" "$(cd "$tmp/root" && find . -type f | sort | tr '\n' ' ')" \
	"./usr/bin/gs-record ./usr/bin/gs-report ./usr/share/doc/gs/LICENSE ./usr/share/doc/gs/README.md ./usr/share/man/man1/gs-record.1 ./usr/share/man/man1/gs-report.1 ./usr/share/man/man5/gs-file.5 ./usr/share/man/man7/gs-probe.7 "
ok "uninstall" make -s uninstall DESTDIR="$tmp/root" prefix=/usr
is "nothing is left of it" "$(cd "$tmp/root" && find . -type f)" ""
is "gs-report links only what a reader needs" \
	"$(ldd ./gs-report | grep -E 'libbpf|libelf|libdw' || :)" ""
ok "unit tests under AddressSanitizer and UBSan" make -s check-asan
done_testing
