#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests kill -9 at random moments, with the same command again after it. It fails if a seeded
# output differs by one byte from an undisturbed one. It fails if a private output lacks an index
# or has one twice, if its receipt is wrong, or if a token that was once journalled is drawn again. It
# fails if anything half-written is left in the end.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_some_model
texts=4 tokens=60 seeded_kills=20 private_kills=5
short && texts=2 tokens=30 seeded_kills=5 private_kills=2
nightly && tokens=12
references $((2 * texts))
base=(generate -i refs.jsonl -B 2 -N "$texts" -n "$tokens" -e 10 --kind note -q)
now() { date +%s%N; }

pace
begin=$(now)
exits 0 "${base[@]}" --dry-run --bench pace.json
loaded=$((($(now) - begin) / 1000000))
begin=$(now)
exits 0 "${base[@]}" --insecure-seed 1 -o whole.jsonl
whole=$((($(now) - begin) / 1000000))
# Moments from a little before the model stands to the very end.
first=$((loaded * 8 / 10))
span=$((whole + whole / 10 - first))
# Loading may have taken longer than the whole run did, where others use the machine.
((span > 0)) || span=$((whole + 1)) first=0

# The machine may be faster or slower than it was a moment ago: moments that come after the end move
# forward, and others a little back, so that a kill comes before the end nine times in ten.
sooner() { first=$((first * 9 / 10)) span=$((span * 9 / 10 + 1)); }
later() { first=$((first * 101 / 100)) span=$((span * 101 / 100 + 1)); }

# killed COMMAND...: true when the process was killed before its end.
killed() {
	"$CUTTLE" "$@" >out 2>err &
	local pid=$!
	local wait_ms=$((first + (RANDOM * 32768 + RANDOM) % span))
	sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	local code=$?
	[ $code = 137 ] && later && return 0
	[ $code = 0 ] || fail "exit $code: $(cat err)"
	sooner
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
	while killed "${base[@]}" --insecure-seed 1 -o out.jsonl; do
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
	while killed "${base[@]}" -o p.jsonl --ledger l --dataset notes; do
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
