# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What tests of cuttle serve share, beside check.bash: a server that ends with the test, keys, and a ledger. Sourced after it.
servers=()
# Servers with private jobs want a folder in memory. A test makes it with mktemp; here it is removed.
runtime=
trap '[ $BASHPID != $$ ] || { [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null; wait; rm -rf "$work" ${runtime:+"$runtime"}; }' EXIT
# Where ./setup.sh page puts Python's packages.
PYTHONPATH=${CUTTLE_CLIENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/cuttle-clients}
export PYTHONPATH

# need_server: this cuttle has the server, and libmicrohttpd is there.
need_server() {
	local lacks=
	"$CUTTLE" serve -m "$CUTTLE_MODEL" --listen unix:none/none >out 2>err
	grep -q 'built without' err && lacks="this cuttle has no server"
	/sbin/ldconfig -p | grep -q libmicrohttpd.so.12 || lacks="libmicrohttpd12 is not installed: ./setup.sh page"
	[ -n "$lacks" ] || return 0
	echo "skipped: ${0##*/}: $lacks"
	exit 0
}

# start_server LOG ARG...: starts one. When it listens, its address is in $address.
start_server() {
	local log=$1 tries
	shift
	: >"$log"
	"$CUTTLE" serve -m "$CUTTLE_MODEL" "$@" >"$log" 2>&1 &
	servers+=($!)
	for ((tries = 0; tries < 600; tries++)); do
		address=$(sed -n 's/^cuttle serve: listening on //p' "$log")
		[ -z "$address" ] || return 0
		kill -0 "${servers[-1]}" 2>/dev/null || break
		sleep 0.05
	done
	fail "cuttle serve $*: $(cat "$log")"
}

# make_keys: files keys, use.key and officer.key.
make_keys() {
	"$CUTTLE" serve key ada use --keys keys >use.key && "$CUTTLE" serve key otto officer --keys keys >officer.key || fail "no keys"
}

# run_cases CLIENT CASE...: asks that script of Python for each case, "NAME" or "NAME ARGUMENT", in a folder NAME of its own.
run_cases() {
	local client=$1 case name argument
	shift
	for case; do
		read -r name argument <<<"$case"
		mkdir "$name" && cp tiny.gguf "$name" && cd "$name" || exit 1
		python3 "$client" "$name" "$CUTTLE" "$argument" >told 2>&1 || fail "$case: $(cat told)"
		grep skipped told
		cd .. || exit 1
	done
}

# make_ledger: a file ledger with the data set notes.
make_ledger() {
	exits 0 ledger init --ledger ledger --dataset notes --epsilon-limit 20 --delta-limit 1e-6
}
