#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate` with units and categories. It fails if the wrong person is charged, if a
# record over the limit is read, if a text is of the wrong category, or if a run with either does
# not resume.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_some_model
number() { sed -n "s/^  \"$1\": \(.*\),/\1/p" "$2"; } # the value of a receipt's member
{
	echo '{"text":"A note of Anna.","who":"Anna","kind":"sea","stars":5}'
	echo '{"text":"More of Anna.","who":"Anna","kind":"land","stars":5.0}'
	echo '{"text":"A note of Berta.","who":"Berta","kind":"sky","stars":1}'
	echo '{"text":"A note of Carla.","who":3,"kind":"land","stars":5}'
	echo '{"text":"A note of nobody.","kind":"sea","stars":5}'
	echo '{"text":"Anna again.","who":"Anna","kind":"land","stars":4}'
	echo '{"text":"Berta again.","who":"Berta","kind":"land","stars":5}'
	echo '{"text":"Not to be read.","who":"Anna","kind":"sea","stars":5}'
} >refs.jsonl
tokens=20 # a tiny model shows in few tokens only what it read
nightly && tokens=2
base=(generate -i refs.jsonl -B 2 -n "$tokens" --kind note -q -e 3 --lots off)
paid=("${base[@]}" -N 2)

# Units: Anna has both records of the first text, Berta and Carla one each.
exits 0 "${paid[@]}" -o all.jsonl --unit-key who --records-per-unit all
[ "$(number unit_weight all.receipt.json)" = 4 ] || fail "weight $(number unit_weight all.receipt.json)"
[ "$(number accountant all.receipt.json)" = '"zcdp"' ] || fail "several records in one text by exact composition"
exits 0 "${paid[@]}" -o one.jsonl --unit-key who --one-per-unit
awk -v all="$(number rho all.receipt.json)" -v one="$(number rho one.receipt.json)" \
	'BEGIN { ratio = all / one; exit !(ratio > 3.999999 && ratio < 4.000001) }' || fail "not four times the rho"
exits 0 "${paid[@]}" -o two.jsonl --unit-key who --records-per-unit 2
awk -v e="$(number epsilon two.receipt.json)" 'BEGIN { exit !(e > 2.9 && e <= 3) }' || fail "-e is not for the whole unit"
awk -v two="$(number clip_fixed two.receipt.json)" -v one="$(number clip_fixed one.receipt.json)" 'BEGIN { exit !(two < 0.75 * one) }' ||
	fail "two records cost no more than one"
for each in all one two; do
	exits 0 receipt verify $each.receipt.json --output $each.jsonl
	says out 'privacy per value of who'
done
says out 'at most 2 texts'
edits_noticed all.receipt.json <<-'END'
	s/"unit_weight": 4/"unit_weight": 1/
	s/"unit_weight": 4/"unit_weight": 0/
	s/"unit_limited": false/"unit_limited": 0/
	s/"unit_key": "who"/"unit_key": null/
	s/"unit_key": "who"/"unit_key": "text"/
	s/"epsilon_exact": null/"epsilon_exact": 2.5/
	s/"categories": null/"categories": 1/
END
exits 0 "${paid[@]/-q/--progress=off}" -o loud.jsonl --unit-key who --records-per-unit all --overwrite
says err '^Warning: one value of who .* 4 times the rho .*--one-per-unit'
pace
exits 0 "${paid[@]}" --dry-run --bench pace.json --unit-key who --records-per-unit 3
says out '^unit .*at most 3 texts'

# What is over the limit, and who has no key, is null: the very same bytes as when nothing stands there.
seeded=("${paid[@]}" --insecure-seed 1)
exits 0 "${seeded[@]}" -N 3 -o - --unit-key who --one-per-unit
cp out limited
sed -e '2s/.*/{}/' -e '5,6s/.*/{}/' refs.jsonl >nulled.jsonl
exits 0 "${seeded[@]}" -N 3 -o - --unit-key who --one-per-unit -i nulled.jsonl
same out limited "a record over the limit was read"
exits 0 "${seeded[@]}" -N 3 -o -
cmp -s out limited && fail "a limit changes nothing"
# Without Anna nothing moves.
sed '/Anna/s/.*/{}/' refs.jsonl >nulled.jsonl
exits 0 "${seeded[@]}" -N 3 -o - --unit-key who --one-per-unit -i nulled.jsonl
[ "$(tail -n +2 out)" = "$(tail -n +2 limited)" ] || fail "without Anna another text changes"

# 3 and "3" are one owner.
for three in 3 '"3"'; do
	sed '2s/.*/{"text":"More of Carla.","who":'"$three"'}/' refs.jsonl >three.jsonl
	exits 0 "${paid[@]}" -o - -i three.jsonl --unit-key who --records-per-unit all --receipt three.json
	[ "$(number unit_weight three.json)" = 2 ] || fail "Carla as $three weighs $(number unit_weight three.json)"
	rm three.json
done

refused 4 "${paid[@]}" -o x.jsonl --unit-key whom --one-per-unit
refused 2 "${paid[@]}" -o x.jsonl --one-per-unit
refused 2 "${paid[@]}" -o x.jsonl --unit-key who
says err '--one-per-unit, --records-per-unit G, or --records-per-unit all'
for wrong in 0 -1 2.5 ALL ''; do refused 2 "${paid[@]}" -o x.jsonl --unit-key who --records-per-unit "$wrong"; done
refused 2 "${paid[@]}" -o x.jsonl --records-per-unit all
refused 2 "${paid[@]}" -o x.jsonl --unit-key who --records-per-unit all --one-per-unit
refused 2 "${paid[@]}" -o x.jsonl --unit-key who --records-per-unit 2 --one-per-unit
refused 2 "${paid[@]}" -o x.jsonl --unit-key who --records-per-unit 4000000000

# The ledger charges what was read: with a limit Anna pays for one record.
exits 0 ledger init --ledger l --dataset persons --rho-limit 10 --unit-key who
exits 0 "${paid[@]}" -o led.jsonl --unit-key who --one-per-unit --ledger l --dataset persons
exits 0 receipt verify led.receipt.json --output led.jsonl --ledger l
exits 0 ledger show --ledger l --dataset persons --json
says out "\"rho_spent\":$(number rho led.receipt.json)"

# Who may stand in three texts and stands in one pays what the receipt promises: how many records somebody has decides no charge.
exits 0 ledger init --ledger l --dataset three --rho-limit 10 --unit-key who
exits 0 "${paid[@]}" -o g3.jsonl --unit-key who --records-per-unit 3 --ledger l --dataset three
exits 0 receipt verify g3.receipt.json --output g3.jsonl --ledger l
says g3.receipt.json '"unit_weight": 3,'
says g3.receipt.json "\"rho\": $(number rho g3.receipt.json)"
exits 0 ledger show --ledger l --dataset three --json
says out "\"rho_spent\":$(number rho g3.receipt.json)"

# Categories: texts 0 of sea (records 0 and 4), 1 of land (1 and 3).
sorted=("${seeded[@]}" --category-field kind --categories 'sea,land' --category-public)
exits 0 "${sorted[@]}" -o cat.jsonl
[ "$(sed 's/.*"kind":"\([a-z]*\)".*/\1/' cat.jsonl | paste -sd' ')" = 'sea land' ] || fail "categories: $(cat cat.jsonl)"
[ "$(indices cat.jsonl)" = '0 1' ] || fail "indices: $(cat cat.jsonl)"
says cat.receipt.json '"kind": "land"'
exits 0 "${sorted[@]}" -o -
same out cat.jsonl "a stream has other bytes"
exits 0 "${base[@]}" --insecure-seed 1 --category-field kind --categories 'sea,land' --category-public -o - --num-per-category 1
same out cat.jsonl "one text per category is not two texts"
sed '3s/of Berta/of somebody else/' refs.jsonl >other.jsonl
exits 0 "${sorted[@]}" -o - -i other.jsonl
same out cat.jsonl "a record of another category was read"
exits 0 "${sorted[@]}" -o table.csv
[ "$(head -1 table.csv)" = $'index,text,tokens,finish,"kind",private,note\r' ] || fail "CSV header: $(head -1 table.csv)"
says table.csv '^1,.*,"land",false'
# Declared in a file, of two fields, by shares: both texts are of land and 5.
printf 'stars,kind,share\n5,land,3\n1,sky,\n' >categories.csv
fields=(--category-field kind --category-field stars --categories categories.csv --category-public)
exits 0 "${seeded[@]}" -N 1 "${fields[@]}" -o -
says out '"kind":"land","stars":"5"'
exits 4 "${base[@]}" --num-per-category 2 "${fields[@]}" --dry-run --bench pace.json
says err 'too few records in 2 of 2 categories of kind,stars \(land,5: [0-9]+ of 12; sky,1: [0-9]+ of 4\); lower --num-per-category or -B'
says out '^category +6 texts, 12 references, kind: land, stars: 5'
says out '^category +2 texts, 4 references, kind: sky, stars: 1'
# Examples show their category; own prompts must have a place for it.
printf 'text,kind\nCalm water.,sea\n' >examples.csv
exits 0 "${sorted[@]}" -o - --public-examples examples.csv
# Of several examples a prompt shows its own category's first, then others.
printf 'text,kind\nHigh hills.,land\nCalm water.,sea\nLow hills.,land\n' >several.csv
exits 0 "${sorted[@]}" -o - --public-examples examples.csv
head -1 out >sea
exits 0 "${sorted[@]}" -o - --public-examples several.csv --examples-per-text 1
same <(head -1 out) sea "a text shows another category's example"
cp out first
head -2 several.csv >one.csv
exits 0 "${sorted[@]}" -o - --public-examples one.csv
same <(tail -1 out) <(tail -1 first) "a text shows another example than the first of its category"
head -3 several.csv >two.csv
exits 0 "${sorted[@]}" -o - --public-examples two.csv
cp out first
exits 0 "${sorted[@]}" -o - --public-examples several.csv --examples-per-text 2
same <(head -1 out) <(head -1 first) "what fills up is not the first of the others"
printf 'A {category} note:\n' >public.txt
printf 'Like this: {reference}\nA {category} note:\n' >private.txt
exits 0 "${sorted[@]}" -o - --prompt-public public.txt --prompt-private private.txt
printf 'Like this: {reference}\nA note:\n' >private.txt
refused 2 "${sorted[@]}" -o - --prompt-public public.txt --prompt-private private.txt

refused 2 "${paid[@]}" -o x.jsonl --category-field kind
refused 2 "${paid[@]}" -o x.jsonl --categories sea
refused 2 "${base[@]}" -o x.jsonl --num-per-category 2
refused 2 "${sorted[@]}" -o x.jsonl --num-per-category 2
refused 2 "${base[@]}" -o x.jsonl "${fields[@]}" --num-per-category 0
refused 2 "${paid[@]}" -o x.jsonl --category-field text --categories sea --category-public
refused 4 "${paid[@]}" -o x.jsonl --category-field kind --categories sea,sea --category-public
says err 'kind: sea is there twice'
refused 4 "${paid[@]}" -o x.jsonl --category-field kind --categories nothing.csv --category-public
refused 4 "${sorted[@]}" -o x.jsonl -N 4
says err 'refs.jsonl: too few records in 1 of [0-9]* categories of kind \(sea: 3 of 4\); '
compgen -G 'x.*' >/dev/null && fail "a run that did not begin left something"

# With a ledger of lines everything up to the last line read is charged.
exits 0 ledger init --ledger l --dataset lines --rho-limit 10
counted=("${paid[@]}" --category-field kind --categories 'sea,land' --category-public --ledger l --dataset lines)
exits 0 "${counted[@]}" -o lines.jsonl
exits 0 receipt verify lines.receipt.json --output lines.jsonl --ledger l
says out '^category 2 declared'
edits_noticed lines.receipt.json <<-'END'
	0,/"texts": 1/s//"texts": 2/
	s/"kind": "sea"/"kind": "land"/
	s/"kind": "sea"/"kine": "sea"/
	s/"kind": "sea"/"kind": 1/
	s/; its category stays//
END
exits 0 ledger check --ledger l --dataset lines --rho 9.99 --first 5
refused 3 ledger check --ledger l --dataset lines --rho 9.99 --first 4

# Stopped in the first category or the second, the same command ends in the same bytes (a limit of bytes per file stops it).
long=("${sorted[@]}" -n 8)
exits 0 "${long[@]}" -o roomy.jsonl
for room in 250 420; do
	(prlimit --fsize=$room --pid "$BASHPID" && exits 6 "${long[@]}" -o tight.jsonl) || exit 1
	exits 0 "${long[@]}" -o tight.jsonl --parallel 1
	same tight.jsonl roomy.jsonl "other bytes after a stop at $room bytes"
	nothing_left tight
	rm tight.*
done
