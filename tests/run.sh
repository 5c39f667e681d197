#!/bin/sh
# Runs test programs and the shell tests of tests/cli, one after the other, from the repository root. usage: run.sh PROGRAM...
# Environment: CUTTLE, CUTTLE_EXAMPLE, CUTTLE_MODEL; CUTTLE_ISA forces the command's kernel tier; CUTTLE_TEST_CLI=0 leaves the shell tests out.
set -u
passed=0 failed=
[ "${CUTTLE_TEST_CLI-1}" = 0 ] || set -- "$@" tests/cli/*.sh
for program in "$@"; do
	echo "== $program"
	if "./$program"; then passed=$((passed + 1)); else failed="$failed $program"; fi
done
if [ -n "$failed" ]; then
	echo "FAILED:$failed" >&2
	exit 1
fi
echo "all $passed test programs passed"
