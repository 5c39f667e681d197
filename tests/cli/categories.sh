#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate` with categories that stay private, and with declared ones. It fails if
# --category-public gives other bytes than --category-field once did, if a record's category shows
# anywhere but in its own count and its category's texts, if counts are drawn twice, or if a receipt
# does not hold together.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
# 300 records: 196 of sea, 98 of land, 6 of sky.
for i in $(seq 1 300); do
	kind=sea
	[ $((i % 3)) = 0 ] && kind=land
	[ $((i % 50)) = 7 ] && kind=sky
	echo "{\"text\":\"Note number $i about the weather.\",\"kind\":\"$kind\"}"
done >refs.jsonl
run=(generate --kind note -q -n 12)

# Declared public: the bytes of --category-field before categories could be private.
head -30 refs.jsonl >small.jsonl
exits 0 "${run[@]}" -i small.jsonl -B 3 -N 4 --clip 4 --insecure-seed 1 --category-field kind --categories sea,land -o - \
	--category-public --lots off
[ "$(hash_of out)" = 668d6ae1f61de5667aa1c6241f727dfa4d41d1a2bd946ff5b3f82ed90a8db9f6 ] ||
	fail "declared categories give other bytes: $(cat out)"

private=("${run[@]}" -i refs.jsonl -B 4 -N 10 -e 3 --category-field kind --categories 'sea,land,sky')
seeded=("${private[@]}" --insecure-seed 7)
exits 0 "${private[@]}" -o out.jsonl
exits 0 receipt verify out.receipt.json --output out.jsonl
says out 'of the batches of each category at most 12 in 75 were used'
says out '^category 3 declared, private'
says out.receipt.json '"replace one reference by null, its category with it"'
grep -q 'it counts as public\.$' <(grep 'category of any record' out) && fail "a private category is called public"
nothing_left out.jsonl
exits 0 "${seeded[@]}" -o seeded.jsonl
[ "$(wc -l <seeded.jsonl)" = 10 ] || fail "not ten texts: $(cat seeded.jsonl)"
edits_noticed out.receipt.json <<-'END'
	s/"rule": 2/"rule": 1/
	s/"t": 9/"t": 10/
	s/"wanted": 10/"wanted": 11/
	0,/"texts": [0-9]*/s//"texts": 99/
	s/"used": 12/"used": 11/
	s/"records": 300/"records": 301/
	s/"rows_cap": [0-9]*/"rows_cap": 5/
	s/"epsilon_if_known": [0-9.]*/"epsilon_if_known": 3.5/
	s/, its category with it//
	/"histogram"/,/}/d
END
awk '/"counts"/ { n = 1 } n && /[0-9]/ && !done { sub(/[0-9]+/, "9"); done = 1 } { print }' out.receipt.json >edited.json
refused 7 receipt verify edited.json
sed '/"rule": 2/d' out.receipt.json >edited.json
refused 7 receipt verify edited.json
says err 'by another rule: verify it with the cuttle that wrote it'

# A dry run counts records, and reads nothing of them.
pace
sed 's/"kind":"sea"/"kind":"other"/' refs.jsonl >others.jsonl
exits 0 "${private[@]}" --dry-run --bench pace.json
sed '/^command/d' out >dry
says out '^categories +3, private: their texts, 10 or fewer'
exits 0 "${private[@]}" --dry-run --bench pace.json -i others.jsonl
sed '/^command/d' out >dry.others
same dry dry.others "a dry run shows what categories there are"

# Two worlds: record 61 (sea) is null in one of them, with equal noise and equal lots. One count is less by one. Texts of other categories, and
# all that is said, are the same; so is the receipt but for the count, and for hashes.
mkdir one two
cp refs.jsonl one
sed '61s/.*/{}/' refs.jsonl >two/refs.jsonl
one_less "a record's category" "${seeded[@]/-q/--progress=off}"
for world in one two; do grep -v '"sea"' $world.texts >$world.rest; done
same one.rest two.rest "a record's category shows in texts of other ones"
[ -s one.rest ] || fail "there is no text of another category"

# Stopped after the counts, in the first text or later: the same counts, the same bytes. Without a seed the counts stay, too.
# Room for these counts is not enough: there must be room for the longest, so that a disk tells nothing of them.
(prlimit --fsize=240 --pid "$BASHPID" && exits 6 "${seeded[@]}" -o tight.jsonl) || exit 1
[ ! -e tight.jsonl.journal ] || ! grep -q counts tight.jsonl.journal || fail "counts on a disk that is too small for others"
exits 0 "${seeded[@]}" -o tight.jsonl
same tight.jsonl seeded.jsonl "other bytes after a disk without room for counts"
rm tight.*
for room in 300 320 1500; do
	(prlimit --fsize=$room --pid "$BASHPID" && exits 6 "${seeded[@]}" -o tight.jsonl) || exit 1
	[ "$(sed -n 2p tight.jsonl.journal | cut -d' ' -f1)" = counts ] || fail "no counts after $room bytes"
	exits 0 "${seeded[@]}" -o tight.jsonl --parallel 1
	same tight.jsonl seeded.jsonl "other bytes after a stop at $room bytes"
	nothing_left tight
	rm tight.*
done
(prlimit --fsize=300 --pid "$BASHPID" && exits 6 "${private[@]}" -o tight.jsonl) || exit 1
counts=$(sed -n 2p tight.jsonl.journal | sed 's/^counts //; s/ [0-9a-f]*$//')
exits 0 "${private[@]}" -o tight.jsonl
[ "$(sed -n '/"counts"/,/]/p' tight.receipt.json | grep -oE -e '-?[0-9]+' | paste -sd' ')" = "$counts" ] ||
	fail "not the counts $counts: $(cat tight.receipt.json)"

# Fewer texts than wanted, down to none, are said and are no error.
exits 0 "${seeded[@]/-q/--progress=off}" -i others.jsonl -N 40 -o few.jsonl
lines=$(wc -l <few.jsonl)
[ "$lines" -lt 40 ] || fail "sea has no record, and 40 texts were written"
says err "^Warning: .*room for $lines of the 40 texts"
# Which have none follows from their noisy counts, which the receipt tells: sea has no record, and so it is named.
says err "room for $lines of the 40 texts; lower -B or -N\\. No text is of kind: sea(; kind: sky)?\\.$"
exits 0 "${private[@]}" -i small.jsonl -B 1000 -o none.jsonl
[ ! -s none.jsonl ] || fail "texts from counts that are mostly noise: $(cat none.jsonl)"
exits 0 receipt verify none.receipt.json --output none.jsonl

# Counts alone are drawn, too: such a run ends with a ledger, and what it spent stays spent.
exits 0 ledger init --ledger c --dataset none --epsilon-limit 5
exits 0 "${private[@]}" -i small.jsonl -B 1000 -o counted.jsonl --ledger c --dataset none
exits 0 receipt verify counted.receipt.json --output counted.jsonl --ledger c
exits 0 ledger export --ledger c
refused 2 ledger release --ledger c --dataset none --run "$(grep -oE '"run":"[0-9a-f]+"' out | tail -1 | cut -d'"' -f4)"
exits 3 "${private[@]}" -i small.jsonl -B 1000 -o again.jsonl --ledger c --dataset none

# Killed between the counts and the first token: it goes on with these counts, for the one charge.
exits 0 ledger init --ledger c --dataset between --epsilon-limit 50
between=("${run[@]}" -i refs.jsonl -B 4 -N 10 -n "$(short && echo 60 || echo 150)" -e 3 --category-field kind --categories 'sea,land,sky' -o between.jsonl --ledger c --dataset between)
interrupted KILL between.jsonl.journal 3 "${between[@]}"
head -2 between.jsonl.journal >journal
cat journal >between.jsonl.journal # the file stays, with its mode
counts=$(sed -n 's/^counts \(.*\) [0-9a-f]*$/\1/p' journal)
[ -n "$counts" ] || fail "no counts in $(cat journal)"
exits 0 ledger show --ledger c --dataset between
cp out before
exits 0 "${between[@]}"
exits 0 ledger show --ledger c --dataset between
same out before "a run that had counts alone was charged again"
exits 0 receipt verify between.receipt.json --output between.jsonl --ledger c
[ "$(tr -d ' \n' <between.receipt.json | grep -o '"counts":\[[^]]*' | cut -d[ -f2)" = "${counts// /,}" ] ||
	fail "other counts than $counts: $(cat between.receipt.json)"

# A ledger is charged for all 300 lines, whichever kind it counts.
for charge in epsilon rho; do
	exits 0 ledger init --ledger l --dataset $charge --$charge-limit 10
	exits 0 "${private[@]}" -o $charge.jsonl --ledger l --dataset $charge --charge $charge
	exits 0 receipt verify $charge.receipt.json --output $charge.jsonl --ledger l
done
exits 0 ledger export --ledger l
says out '"kind":"reserve","loss":"2\.9.*"measure":"epsilon"'
exits 3 ledger check --ledger l --dataset rho --rho 9.9 --first 299
exits 0 ledger check --ledger l --dataset rho --rho 9.9 --first 300

# Where how many records each has is public, all that have too few are named, with the option that was used.
declared=("${run[@]}" -i refs.jsonl -e 3 --category-field kind --category-public --categories "sea,land,sky,moon" -o short.jsonl --lots off)
refused 4 "${declared[@]}" -N 40 -B 10
says err 'refs.jsonl: too few records in 3 of 4 categories of kind \(land: 98 of 100; sky: 6 of 100; moon: 0 of 100\); lower -N or -B\. cuttle expand'
says err 'cuttle learn reads any number$'
refused 4 "${declared[@]}" --num-per-category 3 -B 20 --shots 2
says err '\(land: 98 of 120; sky: 6 of 120; moon: 0 of 120\); lower --num-per-category, --shots or -B\. '
refused 4 "${declared[@]}" --num-per-category 1 -B 2
says err 'too few records in 1 of 4 categories of kind \(moon: 0 of 2\); lower --num-per-category or -B\. '

# What private categories exclude.
printf 'kind,share\nsea,2\nland,1\n' >uneven.csv
for wrong in '--unit-key who' '--lots off' '-e 0.00001'; do
	# shellcheck disable=SC2086 # an option and its value
	refused 2 "${private[@]}" -o x.jsonl $wrong
done
refused 2 "${private[@]}" -o x.jsonl --categories uneven.csv
refused 2 "${run[@]}" -i refs.jsonl -B 4 --category-field kind --categories sea -e 3 --num-per-category 2 -o x.jsonl
refused 2 "${run[@]}" -i refs.jsonl -B 4 -N 2 --category-field kind --categories sea --clip 2 -o x.jsonl
refused 2 "${run[@]}" -i - -B 4 -N 2 --category-field kind --categories sea -e 3 -o x.jsonl <refs.jsonl
refused 2 "${run[@]}" -i refs.jsonl -B 4 -N 2 -e 3 --category-public -o x.jsonl
compgen -G 'x.*' >/dev/null && fail "a run that did not begin left something"

# ---- whatever a text is, its record keeps its category --------------------------------------------
# Categories have as many records as their texts read, so that one which moves is one too few.
floors=(--category-field floor --categories "1,2" --category-public)
echo '{"type":"object","properties":{"note":{"type":"string","maxLength":40},"floor":{"enum":[1,2]}},"required":["note","floor"]}' >floor.json
for form in csv jsonl; do
	for i in 1 2 3 4 5 6 7 8; do
		[ $form = jsonl ] || echo "note $i,$((1 + i % 2)).0"
		[ $form = csv ] || echo "{\"note\":\"note $i\",\"floor\":$((1 + i % 2)).0}"
	done >rows
	odds=($'n\xe9' '' 'null')
	[ $form = csv ] || odds+=('n\\ud83d' $'tab\there')
	rm -f first.out first.bias
	for odd in "${odds[@]}"; do
		{
			[ $form = jsonl ] || echo note,floor
			LC_ALL=C sed "4s/note 4/$odd/" rows
		} >odd.$form
		exits 0 generate -i odd.$form -o odd.out.jsonl --schema floor.json -B 2 -N 4 -n 6 --clip .00025 -k 1 --lots off -q "${floors[@]}"
		[ -e first.out ] || cp odd.out.jsonl first.out
		same odd.out.jsonl first.out "$form: a text of another category for one record, '$odd'"
		exits 0 learn -i odd.$form -o odd.bias --schema floor.json --tokens 6 -e 3 -q "${floors[@]}"
		grep -o '"records":[0-9]*' odd.bias odd.bias.receipt.json >told
		[ -e first.bias ] || cp told first.bias
		same told first.bias "$form: records of categories, '$odd'"
		rm odd.*
	done
	[ -s first.bias ] || fail "no numbers of records"
done
exit 0
