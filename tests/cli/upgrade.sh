#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what an older version left: a folder that 0.1.0 was killed in, with runs that were half drawn, a ledger, shards and receipts
# (tests/golden/version-0.1.0.tar.gz, units-0.1.0.tar.gz). This version, and one of the same formats with another name, go on with what 0.1.0 began, for the
# charge it made, or refuse it before it costs. It fails if a run is charged again, if a token that was drawn is lost, or if a receipt of the
# same format is not read.
golden=$(dirname "$(realpath "$0")")/../golden
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
this=$CUTTLE
next=$(dirname "$CUTTLE")/tests/cuttle_next
[ -x "$next" ] || fail "no later version: make tests"
unset CUTTLE_MODEL
export OPENBLAS_NUM_THREADS=1
[ "$("$next" --version)" = 'cuttle 0.2.999' ] || fail "it calls itself $("$next" --version)"

ledger=ledger
spent() { # what data set $1 has spent, and in how many runs
	exits 0 ledger show --ledger "$ledger" --dataset "$1" --json
	sed 's/.*_spent":\([^,]*\),"epsilon_spent":\([^,]*\),.*"runs":\([0-9]*\).*/\1 \2 \3/' out
}
tokens() { grep -c '^[0-9]' "$1"; } # of a journal

# reads RECEIPT OPTION...: it is verified, or refused as one of another format.
reads() {
	"$CUTTLE" receipt verify "$@" >out 2>err
	case $? in
	0) echo "$("$CUTTLE" --version): $1 is read" ;;
	4) says err 'another cuttle, in another format' && echo "$("$CUTTLE" --version): $1 is of another format" ;;
	*) fail "$1: $(cat err)" ;;
	esac
}

# goes_on DATASET OUTPUT TOKENS COMMAND...: it draws on, for what was paid, or is refused in one line, and nothing is charged. TOKENS: how many were drawn.
goes_on() {
	local dataset=$1 output=$2 drawn=$3 before
	shift 3
	[ "$(tokens "$output.journal")" = "$drawn" ] || fail "$output.journal was recorded with $drawn tokens"
	before=$(spent "$dataset")
	cp "$output.journal" before
	"$CUTTLE" "$@" --ledger "$ledger" --dataset "$dataset" >out 2>err
	case $? in
	0)
		exits 0 receipt verify "${output%.jsonl}.receipt.json" --output "$output" --ledger "$ledger" --model tiny.gguf
		nothing_left "${output%.jsonl}."
		echo "$("$CUTTLE" --version): $output goes on"
		;;
	2)
		[ "$(wc -l <err)" = 1 ] || fail "$output: not one line: $(cat err)"
		says err 'belongs to another command, or another version of this one: run that again to finish it, or --overwrite it'
		same "$output.journal" before "a refused run changed $output.journal"
		echo "$("$CUTTLE" --version): $output is refused before it costs"
		;;
	*) fail "$output: $(cat err)" ;;
	esac
	[ "$(spent "$dataset")" = "$before" ] || fail "$output: charged again: $before, then $(spent "$dataset")"
}

upgrade() {
	CUTTLE=$1
	rm -rf old && mkdir old && tar -xzf "$golden/version-0.1.0.tar.gz" -C old && tar -xzf "$golden/units-0.1.0.tar.gz" -C old && cd old || exit 1
	# Receipts, the ledger and the shards' papers are read by their format.
	reads done.receipt.json --output done.jsonl --ledger ledger --model tiny.gguf --key officer.pub
	reads clean.receipt.json --output clean.jsonl
	exits 0 ledger verify --ledger ledger
	says out '^[0-9]+ entries'
	sed 's/"receipt": 2/"receipt": 1/' clean.receipt.json >later.json
	refused 4 receipt verify later.json
	says err 'another cuttle, in another format'
	base=(generate -m tiny.gguf -i refs.jsonl -B 2 -e 3 -q -t 1)
	[ "$(spent plain)" != '0.0 0.0 2' ] || fail "the recorded ledger is empty"
	goes_on plain plain.jsonl 123 "${base[@]}" -N 3 -n 60 --lots off -o plain.jsonl
	goes_on lots lots.jsonl 16 "${base[@]}" -N 3 -n 60 --lots on --delta 1e-5 -o lots.jsonl
	goes_on documents documents.jsonl 126 sanitize -m tiny.gguf -i docs.jsonl -n 100 --template continue -q -t 1 -e 4 --alpha 4 -o documents.jsonl
	# What a unit with several records was charged by the rule of then: each of them its part.
	ledger=units.ledger
	base=(generate -m tiny.gguf -i owned.jsonl -B 2 -e 3 -q -t 1 --lots off -n "$(short && echo 60 || echo 200)" --unit-key who)
	goes_on units units.jsonl 500 "${base[@]}" -N 3 --records-per-unit 5 -o units.jsonl
	refused 2 "${base[@]}" -N 4 -o all.jsonl --ledger units.ledger --dataset all
	goes_on all all.jsonl 257 "${base[@]}" -N 4 --records-per-unit all -o all.jsonl
	ledger=ledger
	base=(generate -m tiny.gguf -i refs.jsonl -B 2 -e 3 -q -t 1)
	# A complete output is complete, and not drawn again.
	local before
	before=$(spent plain)
	"$CUTTLE" "${base[@]}" -N 2 -n 4 --lots off -o done.jsonl --ledger ledger --dataset plain >out 2>err
	case $? in 0 | 2) ;; *) fail "done.jsonl: $(cat err)" ;; esac
	[ "$(spent plain)" = "$before" ] || fail "a complete run was charged again"
	# The shard that was half drawn, and what joins both.
	before=$(spent shards)
	"$CUTTLE" generate -m tiny.gguf -i refs.jsonl -B 2 -N 4 -n 40 -e 3 --lots off -q -t 1 -o run --shard 1/2 >out 2>err
	case $? in
	0)
		exits 0 merge run -q -o merged.jsonl --ledger ledger
		exits 0 receipt verify merged.receipt.json --output merged.jsonl --ledger ledger
		echo "$("$CUTTLE" --version): run goes on"
		;;
	2)
		[ "$(wc -l <err)" = 1 ] || fail "the shard: not one line: $(cat err)"
		echo "$("$CUTTLE" --version): run is refused before it costs: $(cat err)"
		;;
	*) fail "the shard: $(cat err)" ;;
	esac
	[ "$(spent shards)" = "$before" ] || fail "the shards were charged again"
	cd ..
}
upgrade "$this"
upgrade "$next"

# What this version begins now, the next one finishes, and reads what this one wrote.
CUTTLE=$this
need_tiny finite
unset CUTTLE_MODEL
references 4
exits 0 ledger init --ledger ledger --dataset now --epsilon-limit 10
run=(generate -m tiny.gguf -i refs.jsonl -B 2 -N 2 -n 60 -e 3 --accountant zcdp --lots off -q -o now.jsonl)
(prlimit --fsize=600 --pid "$BASHPID" && exits 6 "${run[@]}") || exit 1
cp now.jsonl.journal before
CUTTLE=$next
exits 0 "${run[@]}" --ledger ledger --dataset now
exits 0 receipt verify now.receipt.json --output now.jsonl --ledger ledger
says now.receipt.json '"version": "0\.2\.999"'
CUTTLE=$this
exits 0 "${run[@]}" --ledger ledger --dataset now
exits 0 receipt verify now.receipt.json --output now.jsonl --ledger ledger
sed 's/"batch": 2/"batch": 20/' now.receipt.json >edited.json
refused 7 receipt verify edited.json
says err 'does not follow.*; cuttle wrote it in version 0\.2\.999$'
