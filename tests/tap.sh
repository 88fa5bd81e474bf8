# SPDX-License-Identifier: BSD-2-Clause
# TAP for shell tests: . tests/tap.sh; ok "name" command...; is "name" "$got" "$want"; done_testing
tap_n=0
tap_bad=0
tap_result() { # status name
	tap_n=$((tap_n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_n - $2"
	else
		tap_bad=$((tap_bad + 1))
		echo "not ok $tap_n - $2"
	fi
}
ok() {
	tap_name=$1
	shift
	tap_out=$("$@" 2>&1)
	tap_st=$?
	[ $tap_st = 0 ] || printf '%s\n' "$tap_out" | head -n 40 | sed 's/^/# /'
	tap_result $tap_st "$tap_name"
}
is() {
	if [ "$2" = "$3" ]; then
		tap_result 0 "$1"
	else
		printf 'got:  %s\nwant: %s\n' "$2" "$3" | sed 's/^/# /'
		tap_result 1 "$1"
	fi
}
like() { # name text extended-regex
	if printf '%s\n' "$2" | grep -Eq -- "$3"; then
		tap_result 0 "$1"
	else
		printf 'got:  %s\nlike: %s\n' "$2" "$3" | sed 's/^/# /'
		tap_result 1 "$1"
	fi
}
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
done_testing() {
	echo "1..$tap_n"
	[ $tap_bad = 0 ]
	exit
}
