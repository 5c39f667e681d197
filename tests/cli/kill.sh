#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests kill -9 at many places of a run, with the same command again after it. It fails if a seeded
# output differs by one byte from an undisturbed one. It fails if a private output lacks an index
# or has one twice, if its receipt is wrong, or if a token that was once journalled is drawn again. It
# fails if anything half-written is left in the end.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_some_model
texts=4 tokens=60 seeded_kills=20 private_kills=5
short && texts=2 seeded_kills=5 private_kills=2
nightly && tokens=12
references $((2 * texts))
base=(generate -i refs.jsonl -B 2 -N "$texts" -n "$tokens" -e 10 --kind note -q)

exits 0 "${base[@]}" --insecure-seed 1 -o whole.jsonl
runs=0 most=$((texts * tokens)) # lines that a journal may come to, beside its first

# killed OUTPUT KILL KILLS COMMAND...: true when the process was killed before its end, with KILL of KILLS parts of its tokens in the
# journal, and a few more. By night at any place.
killed() {
	local output=$1 lines=$(($2 * most / $3))
	((++runs < 1000)) || fail "no run is killed before its end"
	! nightly || lines=$((RANDOM % most))
	"$CUTTLE" "${@:4}" -o "$output" >out 2>err &
	pid=$!
	soon lines_in "$output.journal" "$lines"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	local code=$?
	[ $code = 137 ] && return 0
	[ $code = 0 ] || fail "exit $code: $(cat err)"
	most=$((most * 9 / 10 + 1)) # texts may be shorter
	return 1
}

# A journal with its first line may only grow: its whole lines are a beginning of the next one. A kill while it is begun leaves it
# empty or torn, and it is begun anew (tests/io/test_io_output.c, a_kill_while_a_journal_is_begun).
grew() {
	[ -f "$1.journal" ] || return 0
	if [ -f before ] && [ "$(wc -l <before)" -gt 0 ]; then
		head -n "$(wc -l <before)" "$1.journal" | cmp -s - <(head -n "$(wc -l <before)" before) || fail "journalled tokens changed"
	fi
	cp "$1.journal" before
}

kills=0
while [ $kills -lt $seeded_kills ]; do
	rm -f out.* before
	while killed out.jsonl $kills $seeded_kills "${base[@]}" --insecure-seed 1; do
		kills=$((kills + 1))
		grew out.jsonl
		[ $kills -lt $seeded_kills ] || break
	done
	exits 0 "${base[@]}" --insecure-seed 1 -o out.jsonl
	same out.jsonl whole.jsonl "other bytes after $kills kills"
	same out.receipt.json whole.receipt.json "another receipt after $kills kills"
	nothing_left out
done

# The same with a ledger. What a kill in the very moment leaves of the run's name is put there by hand.
# Its name ends as that of the output's own scratch file.
exits 0 ledger init --ledger l --dataset notes --epsilon-limit 1000
kills=0 planted=0
# A few kills may all come before a token is drawn: then there are more.
enough() { [ $kills -ge $private_kills ] && { [ $planted -gt 0 ] || [ $kills -ge $((20 * private_kills)) ]; }; }
while ! enough; do
	rm -f p.* before
	while killed p.jsonl $((kills % private_kills + 1)) $((private_kills + 1)) "${base[@]}" --ledger l --dataset notes; do
		kills=$((kills + 1))
		grew p.jsonl
		for file in p.jsonl.part-*; do
			[ -e "$file" ] || continue
			printf 0123 >"p.jsonl.run${file#p.jsonl}"
			planted=$((planted + 1))
		done
		enough && break
	done
	exits 0 "${base[@]}" -o p.jsonl --ledger l --dataset notes
	nothing_left p
	[ "$(indices p.jsonl)" = "$(seq -s' ' 0 $((texts - 1)))" ] || fail "indices: $(cat p.jsonl)"
	[ "$(sed 's/^{"index":[0-9]*,//' p.jsonl | sort -u | wc -l)" = "$texts" ] || fail "a text stands twice: $(cat p.jsonl)"
	says p.receipt.json '"private": true'
	says p.receipt.json "\"output_sha256\": \"$(hash_of p.jsonl)\""
done
[ $planted -gt 0 ] || fail "no run was killed while it drew"
