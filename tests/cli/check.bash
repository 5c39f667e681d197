# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the shell tests of the command share. Each test is a bash script that sources this file; it ends with 0 when all is well.
# Environment: CUTTLE, CUTTLE_MODEL; CUTTLE_TEST_SHORT=1 takes the smallest sizes that still test the thing, for kernels that are slow.
set -u
CUTTLE=$(realpath "${CUTTLE:-build/cuttle}")
CUTTLE_MODEL=$(realpath -m "${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}")
export CUTTLE_MODEL
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}" # generate is not dumpable, so the leak checker cannot look into it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
	echo "FAILED: ${0##*/}: $*"
	exit 1
}

need_model() {
	[ -r "$CUTTLE_MODEL" ] && return
	echo "skipped: ${0##*/}: there is no model (set CUTTLE_MODEL)"
	exit 0
}

short() { [ -n "${CUTTLE_TEST_SHORT-}" ]; }

# exits WANTED ARG...: runs cuttle, keeps what it said in files out and err.
exits() {
	local wanted=$1
	shift
	"$CUTTLE" "$@" >out 2>err
	local code=$?
	[ $code = "$wanted" ] || fail "cuttle $*: exit $code instead of $wanted: $(cat err)"
}

# refused WANTED ARG...: nothing but one line on standard error.
refused() {
	exits "$@"
	[ "$(wc -l <err)" = 1 ] || fail "cuttle ${*:2}: not one line of error: $(cat err)"
	[ ! -s out ] || fail "cuttle ${*:2}: output besides the error"
}

# says FILE PATTERN: a line of the file matches the extended regular expression.
says() {
	grep -Eq -e "$2" "$1" || fail "$1 does not say $2: $(cat "$1")"
}

# same FILE FILE WHAT: equal bytes.
same() {
	cmp -s "$1" "$2" || fail "$3: $(head -c 300 "$1") instead of $(head -c 300 "$2")"
}

# indices FILE: the indices of its lines, in one line.
indices() {
	sed 's/^{"index":\([0-9]*\),.*/\1/' "$1" | paste -sd' '
}

# nothing_left NAME: no file of an unfinished run.
nothing_left() {
	local file
	for file in "$1"*; do
		case $file in *journal | *part | *tmp) fail "left over: $file" ;; esac
	done
}

# edits_noticed RECEIPT: each line of standard input is a sed command that changes the receipt; verify must not believe what comes of it.
edits_noticed() {
	local edit
	while read -r edit; do
		sed "$edit" "$1" >edited.json
		cmp -s edited.json "$1" && fail "$edit changes nothing"
		"$CUTTLE" receipt verify edited.json >out 2>err
		case $? in 4 | 7) ;; *) fail "$edit is not noticed" ;; esac
	done
}

# hash_of FILE
hash_of() { sha256sum "$1" | cut -d' ' -f1; }

# references COUNT: short invented notes in refs.jsonl.
references() {
	local more=", a gardener, has coughed for a week. Lungs clear. Rest and fluids"
	short && more=
	for i in $(seq 1 "$1"); do echo "{\"text\":\"Patient $i$more.\"}"; done >refs.jsonl
}
