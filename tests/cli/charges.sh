#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what a run of `cuttle generate` tells its ledger, and when. It fails if a charge is less
# than the receipt says, or if a token is kept anywhere before its charge is made. The model is
# tiny, so a run takes no time.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny
kinds=(sea land)
for i in $(seq 0 11); do
	echo "{\"text\":\"A note, number $i, of quite some length.\",\"id\":$i,\"who\":\"p$((i % 2))\",\"kind\":\"${kinds[i % 2]}\"}"
done >refs.jsonl
base=(generate -i refs.jsonl -B 2 -N 3 -n 2 -q)
number() { sed -n "s/^ *\"$1\": \([0-9.e-]*\),*$/\1/p" "$2"; } # the values of a receipt's members of that name

# What is charged is what the receipt claims, to the last digit: p0 and p1 have a record in each text. So it is for who has a record in one
# text and might have had it in three. With another way of rounding some of these numbers would differ.
exits 0 ledger init --ledger l --dataset persons --rho-limit 1000 --unit-key who
exits 0 ledger init --ledger l --dataset records --rho-limit 1000 --unit-key id
for clip in 0.3 0.4 0.5 0.6 0.7 0.8; do
	run=("${base[@]}" --clip "$clip" --accountant zcdp -o out.jsonl --overwrite --ledger l)
	for limit in '--records-per-unit all' '--records-per-unit 3'; do
		# shellcheck disable=SC2086 # an option and its value
		exits 0 "${run[@]}" --dataset persons --unit-key who $limit
		number rho out.receipt.json | paste -sd' ' >both # of the ledger's entry, then of the receipt
		awk 'NF != 2 || $1 != $2 { exit 1 }' both || fail "$clip $limit: charged and claimed: $(cat both)"
	done
	for limit in --one-per-unit '--records-per-unit 3'; do
		# shellcheck disable=SC2086
		exits 0 "${run[@]}" --dataset records --unit-key id $limit
		number rho out.receipt.json | paste -sd' ' >both
		awk 'NF != 2 || $1 != $2 { exit 1 }' both || fail "$clip $limit: charged for one record, and claimed: $(cat both)"
	done
done

# What was approved is what is run and charged, and nothing else: not one that costs more or less, nor another command.
exits 0 ledger init --ledger l --dataset asked --rho-limit 1000 --unit-key who
asked=("${base[@]}" --clip 0.5 --unit-key who --records-per-unit 3 --ledger l --dataset asked)
exits 0 "${asked[@]}" --dry-run --json
command=$(sed -E 's/.*"command_sha256":"([0-9a-f]*)".*/\1/' out) loss=$(sed -E 's/.*"loss":([0-9.e-]*),.*/\1/' out)
other=$(tr 0-9a-f 1-9a-f0 <<<"$command")
for wrong in "$command:$(awk -v loss="$loss" 'BEGIN { printf "%.17g", loss * 1.0001 }')" "$command:0" "$other:$loss"; do
	refused 2 "${asked[@]}" -o asked.jsonl --approved "$wrong"
	says err 'not what was approved'
done
refused 2 "${asked[@]}" -o asked.jsonl --approved "$command:$loss" -n 3
for wrong in "$command" "$command:" "$command:x" "$command:-1" "$loss" "${command}0:$loss"; do
	refused 2 "${asked[@]}" -o asked.jsonl --approved "$wrong"
	says err 'must be COMMAND:LOSS'
done
refused 2 "${base[@]}" --clip 0.5 -o asked.jsonl --approved "$command:$loss"
says err 'needs --ledger'
exits 0 ledger show --ledger l --dataset asked --json
says out '"runs":0'
compgen -G 'asked*' >/dev/null && fail "a run that nobody approved left something"
exits 0 "${asked[@]}" -o asked.jsonl --approved "$command:$loss"
exits 0 ledger show --ledger l --dataset asked --json
says out '"runs":1'

# A run waits where it says its guarantee, since nobody reads that: it has reserved and has not drawn. When its charge is given back
# meanwhile it must stop before its first token is kept.
exits 0 ledger init --ledger l --dataset free --epsilon-limit 10
mkfifo pipe
exec 3<>pipe
dd if=/dev/zero of=pipe bs=4096 oflag=nonblock status=none 2>/dev/null
"$CUTTLE" "${base[@]/-q/--progress=off}" -e 5 -o free.jsonl --ledger l --dataset free 2>pipe >out &
pid=$!
reserved() { "$CUTTLE" ledger history --ledger l --dataset free | grep -q ' reserve '; }
soon reserved || fail "nothing is reserved"
exits 0 ledger release --ledger l --dataset free --run "$(cat free.jsonl.run)"
cat <&3 >/dev/null &
reader=$!
wait $pid
code=$?
kill $reader
exec 3>&-
[ $code = 3 ] || fail "a run whose charge was given back: exit $code"
compgen -G 'free.jsonl.journal*' >/dev/null && fail "it kept tokens that nobody pays for"
exits 0 ledger show --ledger l --dataset free --json
says out '"rho_spent":0.0,'

# Each category's texts are written from its own records: what one of another says changes nothing, what one of its own says does.
seeded=(generate -i refs.jsonl -B 2 -N 2 -n 12 -q --clip 4 --insecure-seed 1 --category-field kind --categories 'sea,land' --category-public -o -)
exits 0 "${seeded[@]}"
cp out plain
for line in 1 2; do
	sed "$line s/A note/Something else altogether/" refs.jsonl >other.jsonl
	exits 0 "${seeded[@]}" -i other.jsonl
	[ "$(sed -n "$((3 - line))p" out)" = "$(sed -n "$((3 - line))p" plain)" ] || fail "a text read a record of the other category"
	[ "$(sed -n "${line}p" out)" != "$(sed -n "${line}p" plain)" ] || fail "a text did not read its own record"
done
