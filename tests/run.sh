#!/bin/bash
# Runs test programs and the shell tests of tests/cli, from the repository root. One more runs at
# once than there are processors, as some wait for a clock. The output of each appears whole, in the order given, with its
# seconds and those of a processor, which a busy machine hardly changes. The ten that take most come last.
# usage: run.sh PROGRAM...
# Environment:
#   CUTTLE, CUTTLE_EXAMPLE, CUTTLE_MODEL    what the tests run and read
#   CUTTLE_DATA                             the folder of data sets that some tests need
#   CUTTLE_ISA                              forces the command's kernel tier
#   CUTTLE_TEST_CLI=0                       leaves the shell tests out
#   CUTTLE_TEST_WITHOUT                     names of tests that are left out, as "docs test_model"
#   CUTTLE_TEST_CLIENTS=1                   lets a browser and OpenAI's client ask the server, too
#   CUTTLE_TEST_JOBS                        how many run at once
#   CUTTLE_TEST_RUNNER                      the emulator that runs the programs
set -u
# Those that wait most come first, so that none of them is alone at the end.
[ "${CUTTLE_TEST_CLI-1}" = 0 ] || set -- tests/cli/serve*.sh tests/cli/[!s]*.sh tests/cli/s[!e]*.sh "$@"
programs=()
for program; do
	name=${program##*/}
	[[ " ${CUTTLE_TEST_WITHOUT-} " == *" ${name%.sh} "* ]] || programs+=("$program")
done
most=${CUTTLE_TEST_JOBS:-$(($(nproc) + 1))} shown=0 failed=
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'kill 0' INT TERM

# run NUMBER: runs that program. Its output goes to NUMBER.log. NUMBER.status gets its exit code, its
# seconds and those of a processor, and appears only when all are written.
run() {
	local status=0 TIMEFORMAT='%R %U %S' whole user system
	# shellcheck disable=SC2086 # a command and its arguments
	{ time ${CUTTLE_TEST_RUNNER-} "./${programs[$1]}" >"$folder/$1.log" 2>&1; } 2>"$folder/$1.times" || status=$?
	read -r whole user system <"$folder/$1.times"
	echo $status "$whole $user $system" | awk '{ printf "%d %.1f %.1f\n", $1, $2, $3 + $4 }' >"$folder/$1.new"
	mv "$folder/$1.new" "$folder/$1.status"
}

# show: prints the output of the programs that have ended, up to the first that still runs.
show() {
	local status seconds used
	while [ -e "$folder/$shown.status" ]; do
		read -r status seconds used <"$folder/$shown.status"
		echo "== ${programs[$shown]}, $seconds s, $used of a processor" | tee -a "$folder/all"
		cat "$folder/$shown.log"
		grep '^skipped' "$folder/$shown.log" >>"$folder/skipped"
		[ "$status" = 0 ] || failed="$failed ${programs[$shown]}"
		rm "$folder/$shown".*
		shown=$((shown + 1))
	done
}

for ((number = 0; number < ${#programs[@]}; number++)); do
	[ "$(jobs -rp | wc -l)" -lt "$most" ] || wait -n
	show
	run "$number" &
done
wait
show
echo "== the ten that took most of a processor"
sort -t, -k3 -rn "$folder/all" | head -10 | cut -c4-
if [ -s "$folder/skipped" ]; then
	echo "== left out on this machine"
	cat "$folder/skipped"
fi
if [ -n "$failed" ]; then
	echo "FAILED:$failed" >&2
	exit 1
fi
echo "all $shown test programs passed"
