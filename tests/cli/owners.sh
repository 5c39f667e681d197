#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate --lots on --unit-key FIELD --one-per-unit`: lots of owners, whose number is private. It fails if an owner shows
# anywhere but in the noisy count and in the text of its lot, if further records of an owner are read, if counts are drawn twice, or if a
# receipt does not hold together.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
# 600 records of 300 owners: two of each, and the second ones say so. Record 601 is nobody's.
for i in $(seq 1 300); do echo "{\"text\":\"Note number $i.\",\"who\":$i}"; done >refs.jsonl
for i in $(seq 1 300); do echo "{\"text\":\"Another one of $i.\",\"who\":\"$i\"}"; done >>refs.jsonl
echo '{"text":"Nobody wrote this."}' >>refs.jsonl
lots=(generate --kind note -q -n 8 -i refs.jsonl -B 4 -N 20 -e 3 --lots on --unit-key who --one-per-unit)
seeded=("${lots[@]}" --insecure-seed 7)
number() { sed -n "s/^ *\"$2\": \([0-9.-]*\),*$/\1/p" "$1" | head -1; }
exits 0 "${lots[@]}" -o out.jsonl
nothing_left out.jsonl
exits 0 receipt verify out.receipt.json --output out.jsonl
says out 'of the batches at most 21 in 151 were used'
says out '^unit +everybody with one value of who: one record in each of at most 1 texts'
says out.receipt.json '"replace all references of one unit by null"'
grep -q '^category' out && fail "there are no categories: $(cat out)"
edits_noticed out.receipt.json <<-'END'
	s/"t": 9/"t": 10/
	s/"wanted": 20/"wanted": 21/
	s/"texts": [0-9]*/"texts": 99/
	s/"used": 21/"used": 20/
	s/"records": 601/"records": 300/
	s/"rows_cap": [0-9]*/"rows_cap": 5/
	s/"epsilon_if_known": [0-9.]*/"epsilon_if_known": 3.5/
	s/"unit_limited": true/"unit_limited": false/
	/"histogram"/,/}/d
END
# The count is of owners: noise has a deviation of 13. At the share that -N has of 601 records, 300 owners have about half of the texts.
count=$(sed -n '/"counts"/{n;p}' out.receipt.json | tr -dc '0-9-')
((count > 150 && count < 450)) || fail "300 owners are counted as $count"
[ "$(number out.receipt.json texts)" -le 16 ] || fail "more texts than the share"
# Batches follow from the count that is told, of a run with a seed, too, whose receipt nobody verifies.
exits 0 "${seeded[@]}" -o seed.jsonl
list() { sed -n "/\"$1\": \[/{n;p}" seed.receipt.json | tr -dc '0-9-'; }
[ "$(list batches)" = $((($(list counts) + 3) / 4)) ] || fail "$(list batches) batches of $(list counts) owners"
[ "$(list batches)" != 75 ] || fail "these are as many batches as 300 owners have: take another seed"
# -e buys more: lots use 21 of 151 batches.
exits 0 "${lots[@]}" --lots off -o index.jsonl
awk -v a="$(number out.receipt.json clip)" -v b="$(number index.receipt.json clip)" 'BEGIN { exit !(a > 1.5 * b) }' ||
	fail "lots buy nothing: $(number out.receipt.json clip) $(number index.receipt.json clip)"

# A dry run counts the records, and reads nothing of owners.
pace
sed 's/"who":[^}]*/"who":1/' refs.jsonl >alone.jsonl
exits 0 "${lots[@]}" --dry-run --bench pace.json
sed '/^command/d' out >dry
says out '^lots of units .*, 20 or fewer'
exits 0 "${lots[@]}" --dry-run --bench pace.json -i alone.jsonl
sed '/^command/d' out >dry.others
same dry dry.others "a dry run shows what owners there are"

# What an owner's further records say is read by nobody; their place in the file moves no owner.
exits 0 "${seeded[@]}" -o seeded.jsonl
sed -n '/"counts"/,/]/p' seeded.receipt.json >counts.seeded
cp refs.jsonl kept.jsonl
sed -i 's/Another one of/Something else about/' refs.jsonl
exits 0 "${seeded[@]}" -o further.jsonl
same further.jsonl seeded.jsonl "a second record of an owner is read"
# Of each pair of first records the second comes first: the batches are the same, and the order within them does not count.
awk 'NR > 300 { print; next } NR % 2 { last = $0; next } { print; print last }' kept.jsonl >refs.jsonl
exits 0 "${seeded[@]}" -o turned.jsonl
same turned.jsonl seeded.jsonl "an owner's lot follows from the place of a record"
cp kept.jsonl refs.jsonl

# Two worlds: owner 61 is gone in one of them, with equal noise and lots: one count is less by one, texts of other lots and all else are the same.
mkdir one two
cp refs.jsonl one
sed '61s/.*/{}/; 361s/.*/{}/' refs.jsonl >two/refs.jsonl
one_less "an owner" "${seeded[@]/-q/--progress=off}"
[ "$(diff one.texts two.texts | grep -c '^<')" -le 1 ] || fail "an owner is in more than one text"

# Stopped behind the count: the same one, the same bytes.
(prlimit --fsize=240 --pid "$BASHPID" && exits 6 "${seeded[@]}" -o tight.jsonl) || exit 1
[ "$(sed -n 2p tight.jsonl.journal | cut -d' ' -f1)" = counts ] || fail "no count: $(cat tight.jsonl.journal)"
exits 0 "${seeded[@]}" -o tight.jsonl --parallel 1
same tight.jsonl seeded.jsonl "other bytes after a stop"
nothing_left tight

# A field that no record has is no error: how many have it is private.
exits 0 "${lots[@]}" --unit-key nothing -o none.jsonl

# A ledger of owners is charged rho for each of them, read or not.
exits 0 ledger init --ledger l --dataset owners --rho-limit 1.2 --unit-key who
exits 0 "${lots[@]}" -o rho.jsonl --ledger l --dataset owners
exits 0 receipt verify rho.receipt.json --output rho.jsonl --ledger l
says rho.receipt.json '"accountant": "zcdp"'
for who in 1 300 301; do
	for i in 1 2; do echo "{\"text\":\"Note $i.\",\"who\":$who}"; done >who.jsonl
	exits $((who == 301 ? 0 : 3)) generate --kind note -q -n 8 -i who.jsonl -B 1 -N 2 --clip 0.5 -o who$who.jsonl --ledger l --dataset owners --unit-key who --one-per-unit
done

# What they exclude.
refused 2 "${lots[@]}" -o x.jsonl --ledger l --dataset owners --charge epsilon
refused 2 "${lots[@]}" -o x.jsonl -i - <refs.jsonl
refused 2 "${lots[@]}" -o x.jsonl --category-field who --categories 1,2 --category-public
refused 2 generate --kind note -q -i refs.jsonl -B 4 -N 2 -e 3 --lots on --unit-key who -o x.jsonl
refused 2 generate --kind note -q -i refs.jsonl -B 4 -N 2 -e 3 --lots on --unit-key who --records-per-unit 2 -o x.jsonl
refused 2 generate --kind note -q -i refs.jsonl -B 4 -N 2 --clip 1 --lots on --unit-key who --one-per-unit -o x.jsonl
compgen -G 'x.*' >/dev/null && fail "a run that did not begin left something"
exit 0
