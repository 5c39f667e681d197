#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests a run that may take only so much memory, then more, until it succeeds. It fails if a run
# without enough does not end with exit code 8 and one line, or leaves a file.
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

# A dry run says all it knows before it says that memory is short, and a run says so at once.
pace
for dry in '--dry-run' ''; do
	(
		ulimit -v $((2400 << 10))
		"$CUTTLE" generate -m "$CUTTLE_MODEL" -i refs.jsonl -o out.jsonl -B 400 -N 1 -n 8 -e 10 --bench pace.json -q $dry >stdout 2>stderr
	)
	code=$?
	if [ -n "$dry" ]; then
		[ $code = 4 ] || fail "a dry run on 4 records: exit $code: $(cat stderr)"
		says stdout '^clip '
		says stdout '^memory '
	else
		[ $code = 8 ] || fail "exit $code: $(cat stderr)"
		says stderr '401 contexts of up to 4096 tokens needs .* make it less with a smaller --ctx-size'
	fi
done
seq 400 | sed 's/.*/{"text":"note &"}/' >refs.jsonl
(
	ulimit -v $((2400 << 10))
	"$CUTTLE" generate -m "$CUTTLE_MODEL" -i refs.jsonl -B 400 -N 1 -n 8 -e 10 --bench pace.json -q --dry-run >stdout 2>stderr
)
code=$?
[ $code = 8 ] || fail "a dry run without the memory: exit $code: $(cat stderr)"
says stdout '^clip '
says stderr '401 contexts of up to 4096 tokens needs'
# Both count the same: the job, and beside it this process with its model, of some hundred MB.
job=$(sed -n 's/.* needs \([0-9]*\) MiB.*/\1/p' stderr)
awk -v job="$job" '/^memory/ { beside = $4 * 1e9 - job * 2 ^ 20; exit !(beside > 5e7 && beside < 1e9) }' stdout ||
	fail "a dry run says $(grep '^memory' stdout), and the job needs $job MiB"
