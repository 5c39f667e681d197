#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests a run that may take only so much memory, then more, until it succeeds. It fails if a run
# without enough does not end with exit code 8 and one line, or leaves a file; or if three references need more than 256 MiB.
# shellcheck source=/dev/null
. "$(dirname "$0")/check.bash"
need_model
if nm "$CUTTLE" 2>/dev/null | grep -q __asan_init; then
	echo "skipped: ${0##*/}: AddressSanitizer takes terabytes of address space"
	exit 0
fi

references 4
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

# An appliance has 256 MiB. They suffice for three references, as addresses (beside those of shared libraries, where the command has some)
# and as the limit of a control group.
libraries=$(ldd "$CUTTLE" 2>/dev/null | awk '$3 ~ /^\// { print $3 }' | xargs -r stat -L -c %s | awk '{ sum += $1 } END { print int(sum / 1048576) }')
head -3 refs.jsonl >three.jsonl
small() { # OUTPUT
	exec "$CUTTLE" generate -m "$CUTTLE_MODEL" -i three.jsonl -o "$1" -B 3 -N 1 -n 4 --ctx-size 512 --parallel 1 -t 1 -e 10 --kind note -q
}
(ulimit -v $(((256 + libraries) << 10)) && small bounded.jsonl) 2>stderr || fail "exit $? with 256 MiB beside $libraries: $(cat stderr)"
group=/sys/fs/cgroup/memory/cuttle-$$ limit=memory.limit_in_bytes
[ ! -e /sys/fs/cgroup/cgroup.controllers ] || group=/sys/fs/cgroup/cuttle-$$ limit=memory.max
if mkdir $group 2>/dev/null && echo 256M 2>/dev/null >$group/$limit; then
	(echo $BASHPID >$group/cgroup.procs && small grouped.jsonl) 2>stderr
	code=$?
	rmdir $group
	[ $code = 0 ] || fail "exit $code in a control group of 256 MiB: $(cat stderr)"
else
	rmdir $group 2>/dev/null
	echo "skipped in part: ${0##*/}: no control group can be made here"
fi

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
