#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that may take more and more memory: exit 8 with one line and no file left, until all is well.
# shellcheck source=/dev/null
. "$(dirname "$0")/check.bash"
need_model
if nm "$CUTTLE" 2>/dev/null | grep -q __asan_init; then
	echo "skipped: ${0##*/}: AddressSanitizer takes terabytes of address space"
	exit 0
fi

references 4
# Where its own threads find no memory OpenBLAS waits for ever when a process ends, whatever the process was.
export OPENBLAS_NUM_THREADS=1
refusals=0
for mib in 90 150 220 300 400 600 1200 2400; do
	(
		ulimit -v $((mib << 10))
		timeout 60 "$CUTTLE" generate -m "$CUTTLE_MODEL" -i refs.jsonl -o out.jsonl -B 2 -N 1 -n 2 --ctx-size 512 -e 10 --kind note -q \
			>stdout 2>stderr
	)
	code=$?
	[ $code != 0 ] || break
	[ $code != 127 ] || continue # not even the loader had room
	[ $code = 8 ] || fail "exit $code with $mib MiB: $(cat stderr)"
	[ "$(wc -l <stderr)" = 1 ] || fail "not one line of error with $mib MiB: $(cat stderr)"
	[ -z "$(find . -name 'out.*')" ] || fail "left with $mib MiB: $(find . -name 'out.*')"
	refusals=$((refusals + 1))
done
[ "$code" = 0 ] || fail "exit $code with $mib MiB: $(cat stderr)"
[ $refusals -ge 2 ] || fail "memory was short $refusals times only"
