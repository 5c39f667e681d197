#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that a receipt of any kind is read strictly. gen_edits makes each member of it missing, null, of another type, negative, empty or far
# too long, one at a time. It fails if receipt verify's checks accept one of these, crash, or refuse a receipt as it was written; or if receipt
# verify has no words for one. Receipts in the words before today's (tests/golden/receipts-0.2.0.tar.gz) are read as strictly.
golden=$(dirname "$(realpath "$0")")/../golden
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
edits=$(dirname "$CUTTLE")/tests/gen_edits
[ -x "$edits" ] || fail "no gen_edits: make tests"
for i in $(seq 0 23); do
	echo "{\"text\":\"note $i of a gardener\",\"kind\":\"$([ $((i % 3)) = 0 ] && echo sea || echo land)\",\"who\":\"p$((i / 2))\"}"
done >refs.jsonl
for i in $(seq 1 20); do echo "{\"text\":\"A note about $i.\"}"; done >open.jsonl
cat >docs.jsonl <<'END'
{"id":"a","text":"To Ann Roe: see us on 5 May.","spans":[{"start":3,"end":10,"entity_type":"PERSON"},{"start":22,"end":27,"entity_type":"DATE"}]}
{"id":"b","text":"From Ann Roe.","spans":[{"start":5,"end":12,"entity_type":"PERSON"}]}
{"id":7,"text":"Nobody is here.","spans":[]}
END
letters=({a..f})
for ((i = 0; i < 60; i++)); do
	echo "w${letters[i % 6]}${letters[i / 6 % 6]}${letters[i / 36]} 0.$((i % 7))1 -0.$((i % 5))2 0.$((i % 11))3 $((i % 3)).$i"
done >glove.txt
exits 0 words --vectors glove.txt --format glove -o w.cw
exits 0 ledger init --ledger l --dataset d --epsilon-limit 30 --delta-limit 1e-4
exits 0 ledger init --ledger r --dataset d --rho-limit 30

while read -r name options; do
	# shellcheck disable=SC2086 # options and their values
	exits 0 generate -q -o "$name.jsonl" -n 4 -i $options
done <<-'END'
	plain refs.jsonl -B 2 -N 4 -e 1 --lots off --ledger l --dataset d --stop END --stop auto --drop loops,duplicates --trace tr
	rho refs.jsonl -B 2 -N 2 -e 1 --lots off --ledger r --dataset d
	lots refs.jsonl -B 2 -N 4 -e 1 --lots on
	categories refs.jsonl -B 2 -N 4 -e 1 --category-field kind --categories sea,land --category-public --lots on
	private refs.jsonl -B 2 -N 4 -e 3 --category-field kind --categories sea,land
	units refs.jsonl -B 2 -N 3 -e 3 --unit-key who --records-per-unit all
	limited refs.jsonl -B 2 -N 3 -e 3 --unit-key who --one-per-unit
	owners refs.jsonl -B 2 -N 2 -e 3 --unit-key who --one-per-unit --lots on
	rounds refs.jsonl -B 2 -N 3 -e 3 --rounds 2 --public-examples open.jsonl
	saved refs.jsonl -B 2 -N 2 -e 3 --token-bank --public-when 0.5 --gain 1.5
	adapmixed refs.jsonl -B 2 -N 2 --method adapmixed --not-private
	dp-prompt refs.jsonl -B 1 -N 2 -e 400 --method dp-prompt --accountant zcdp
	pmixed refs.jsonl -B 2 -N 2 -e 40 --method pmixed
	amin refs.jsonl -B 3 -N 2 -e 10 --method amin --units 4 --svt-noise 4
END
for mix in all average capped; do
	exits 0 sanitize -i docs.jsonl -n 6 --template continue -q -o $mix.jsonl --mix $mix -e 40 --group PERSON --group DATE --no-sweep
done
exits 0 sanitize -i docs.jsonl -n 6 --template continue -q -o swept.jsonl --leave DATE -e 4
exits 0 perturb --words w.cw -i refs.jsonl -k 3 -q -o words.jsonl
exits 0 evolve -n 12 --seed 3 -i refs.jsonl -o evolved.jsonl -e 1 -N 4 --variations 2 --generations 1 -q
exits 0 expand -i categories.jsonl -o more.jsonl -N 3 -q
mkdir former && tar -xzf "$golden/receipts-0.2.0.tar.gz" -C former || exit 1
grep -qE '"guarantee": "(Post-processing.*)?Guarantee[^:]*: (whatever|whoever)' ./*.receipt.json && fail "today's words are former ones"
receipts=(./*.receipt.json) former=(former/*.receipt.json)
[ "${#receipts[@]} ${#former[@]}" = '21 27' ] || fail "receipts: ${receipts[*]} ${former[*]}"
receipts+=("${former[@]}")
# By day one in three of the former ones: their words differ, and their numbers are checked by the same code.
edited=("${receipts[@]}")
! short || edited=(./*.receipt.json former/{plain,lots,rounds,saved,swept,words,evolved,adapmixed,unmarked}.receipt.json)
"$edits" "${edited[@]}" >out || fail "edits are not noticed: $(cat out)"
for receipt in "${receipts[@]}"; do
	"$CUTTLE" receipt verify "$receipt" >out 2>err
	code=$?
	[[ $code = 0 || $code = 4 ]] || fail "receipt verify $receipt: exit $code: $(cat err)"
done

# A receipt of a run with a token prior, as cuttle 0.1 and 0.2.0 wrote them: nothing here checks its numbers.
sed 's/^  "top_k":/  "token_prior": {"kept": 3, "public_texts": 20, "rho": 0.05},\n&/' plain.receipt.json >old.json
grep -q token_prior old.json || fail "nothing was added to the receipt"
refused 4 receipt verify old.json
says err 'old.json: this receipt is of a token prior, which cuttle 0.2 no longer checks: use the version that wrote it'
refused 4 expand -i plain.jsonl --receipt old.json -o further.jsonl -N 1
exit 0
