#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests secret lots from outside: cuttle budget amplify, the plan with records, and generate --lots. It fails if a number is wrong, if two
# ways to the same lots give other bytes, if auto draws lots where it must not, or if a lot or its key can be found afterwards.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
says_not() { ! grep -q -- "$2" "$1" || fail "$1 says $2"; }
for i in $(seq 0 23); do echo "{\"text\":\"note $i of a gardener\",\"kind\":\"$([ $((i % 3)) = 0 ] && echo sea || echo land)\"}"; done >refs.jsonl

# Numbers of mpmath; q counts for 2^-40 of it more.
while read -r wanted options; do
	# shellcheck disable=SC2086 # options and their values
	exits 0 budget amplify $options
	awk -v got="$(head -1 out)" -v wanted="$wanted" 'BEGIN { d = got / wanted - 1; exit !(d < 1e-12 && d > -1e-12) }' ||
		fail "amplify $options: $(head -1 out) instead of $wanted"
done <<-'END'
	1.75291195309957 -e 3 --q 0.25
	.359407799278924 -e 0.5 --q 2/3
	2.90047709788939 -e 1 --q 0.1 --inverse
	12.9956891426906 -e 10 --q 5/100 --inverse
	3 -e 3 --q 1
END
exits 0 budget amplify -e 1 --delta 1e-6 --q 1/10 --inverse --json
says out '"delta":9.99999999999'
for q in 0 1.5 2/1 0/5 1/0 x 0.1.1 .1234567890123456789; do refused 2 budget amplify -e 1 --q $q; done
refused 2 budget amplify -e 1 --delta 0.2 --q 0.1 --inverse
says err 'delta / q would be 1 or more$'
refused 2 budget amplify --q 0.1
refused 2 budget clip -e 1 -B 7 -n 100 --temperature 1 --q 0.1
exits 0 budget plan -e 1,3 -B 7,31 -n 100 --temperature 1 -N 100 --records 3100 --rows-per-second 900 --format csv
says out ',q,clip_lots,'
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 { exit !($at["clip_lots"] > 0.358 && $at["clip_lots"] < 0.361 && $at["q"] > 0.2257 && $at["q"] < 0.2258) }' out ||
	fail "the plan's lots: $(cat out)"
exits 0 budget plan -e 1 -B 7 -n 100 --temperature 1 --rows-per-second 900 --format csv
says_not out 'clip_lots'

# Where lots pay, auto has them; else it is the run without them, to the byte.
paid=(generate -i refs.jsonl -B 2 -n 4 -e 1 -q)
base=("${paid[@]}" --insecure-seed 3)
exits 0 "${base[@]}" -N 4 -o auto.jsonl
exits 0 "${base[@]}" -N 4 -o on.jsonl --lots on
same auto.jsonl on.jsonl "auto draws no lots"
says auto.receipt.json '"rows_cap": '
exits 0 "${paid[@]}" -N 4 -o paid.jsonl
exits 0 receipt verify paid.receipt.json --output paid.jsonl
says out 'counts on lots nobody saw: 4 of 12 batches'
exits 0 "${base[@]}" -N 4 -o off.jsonl --lots off
says_not off.receipt.json lots
cmp -s off.jsonl auto.jsonl && fail "lots change nothing"
exits 0 "${base[@]}" -N 7 -o many.jsonl
says_not many.receipt.json '"lots"'
exits 0 "${base[@]}" -N 4 -o pipe.jsonl -i <(cat refs.jsonl)
says_not pipe.receipt.json '"lots"'
exits 0 "${paid[@]}" -N 4 -o kinds.jsonl --category-field kind --categories sea,land --lots on
exits 0 receipt verify kinds.receipt.json --output kinds.jsonl
nothing_left auto
nothing_left paid
nothing_left kinds
refused 2 "${base[@]}" -N 4 -o x.jsonl --lots on -i <(cat refs.jsonl)
refused 2 "${base[@]}" -N 4 -o x.jsonl --lots on --unit-key kind
refused 2 "${base[@]}" -N 4 -o x.jsonl --lots on --delta 0.5
says err 'delta must be less than the share of batches that are used$'
refused 4 "${base[@]}" -N 13 -o x.jsonl --lots on
says err 'N x B = 13 x 2 = 26 are needed'
refused 2 "${base[@]}" -N 4 -o auto.jsonl.lots.jsonl --receipt refs.jsonl
cp refs.jsonl y.jsonl.lots
refused 2 "${base[@]}" -N 4 -o y.jsonl -i y.jsonl.lots
pace
exits 0 generate -i refs.jsonl -B 2 -n 4 -e 1 -N 4 --dry-run --bench pace.json
says out '^lots  *24 records in 12 batches, 4 of them used'
says out '^if known  *epsilon 1\.81'

# A ledger is charged epsilon for all lines, read or not.
exits 0 ledger init --ledger l --dataset notes --epsilon-limit 3 --delta-limit 1e-5
counted=("${paid[@]}" -N 4 -o counted.jsonl --ledger l --dataset notes)
exits 0 "${counted[@]}"
says counted.receipt.json '"delta": 9.9999999999999995e-7,'
exits 0 receipt verify counted.receipt.json --output counted.jsonl --ledger l
exits 0 ledger show --ledger l --dataset notes
says out '^spent .*epsilon 0.99'
exits 0 ledger history --ledger l
says out 'reserve  epsilon'
exits 0 ledger verify --ledger l
refused 3 generate -i refs.jsonl -B 2 -n 4 -e 2.5 -q -N 4 -o more.jsonl --ledger l --dataset notes
says err 'spent epsilon 0.99'
refused 2 generate -i refs.jsonl -B 2 -n 4 -e 1 -q -N 4 -o more.jsonl --ledger l --dataset notes --charge rho
edits_noticed counted.receipt.json <<-'END'
	s/"rows_cap": /"rows_cap": 1/
	s/"batches": 12/"batches": 13/
	s/"used": 4/"used": 3/
	s/"records": 24/"records": 240/
END

# What a run says does not depend on how many rows its texts have: other seeds have other lots.
for seed in 5 6; do
	exits 0 generate -i refs.jsonl -B 2 -n 4 -e 1 -N 4 --lots on --insecure-seed $seed -o same.jsonl --progress=off
	mv err said.$seed
	mv same.jsonl texts.$seed
	rm same.receipt.json
done
same said.5 said.6 "standard error tells two lots apart"
cmp -s texts.5 texts.6 && fail "two seeds gave the same texts"

# The clip follows from the largest share of batches that any category uses, wherever that one stands.
for i in $(seq 1 120); do echo "{\"text\":\"Note $i.\",\"ward\":\"w$((i % 2))\"}"; done >wards.jsonl
printf 'ward,share\nw0,5\nw1,1\n' >first.csv
printf 'ward,share\nw1,1\nw0,5\n' >last.csv
printf 'ward,share\nw1,1\nw0,1\n' >even.csv
for shares in first last even; do
	exits 0 generate -m tiny.gguf -i wards.jsonl -o $shares.jsonl -e 5 -B 2 -N 12 -n 4 --category-field ward --categories $shares.csv \
		--category-public --lots on -q
	sed -n 's/^  "clip": \(.*\),/\1/p' $shares.receipt.json >$shares.clip
	exits 0 receipt verify $shares.receipt.json
done
same first.clip last.clip "the clip follows from where the largest share stands"
awk 'NR == FNR { of = $1; next } { exit !($1 > of) }' first.clip even.clip || fail "a larger share buys no smaller clip: $(cat first.clip even.clip)"
exit 0
