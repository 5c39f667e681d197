#!/bin/sh
# Runs test programs and the shell tests of tests/cli, one after the other, from the repository root. usage: run.sh PROGRAM...
# Environment: CUTTLE, CUTTLE_EXAMPLE, CUTTLE_MODEL; CUTTLE_ISA forces a kernel tier.
set -u
passed=0 failed=
for program in "$@" tests/cli/*.sh; do
	echo "== $program"
	if "./$program"; then passed=$((passed + 1)); else failed="$failed $program"; fi
done
if [ -n "$failed" ]; then
	echo "FAILED:$failed" >&2
	exit 1
fi
echo "all $passed test programs passed"
