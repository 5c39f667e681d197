#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests --method pmixed and dp-decoding of `cuttle generate` from outside, on a tiny model. It fails if parameters that contradict
# themselves are taken, if a receipt says another guarantee than follows from its numbers, if a bound of one order is charged as rho or at
# another order, or if a run that was stopped, with a filter, too, does not go on.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
for i in $(seq 0 39); do echo "{\"text\":\"Note $i of a gardener, who planted beans and coughs at night.\"}"; done >refs.jsonl
base=(generate -i refs.jsonl -q -N 3 -n 12 --delta 1e-5)
mixed=("${base[@]}" --method pmixed -B 4)
alone=("${base[@]}" --method dp-decoding -B 1)
# value KEY FILE: the first number of that key.
value() { sed -nE "s/^ *\"$1\": ([-0-9.e+]+),?\$/\1/p" "$2" | head -1; }
no() {
	local wanted=$1 words=$2
	shift 2
	refused "$wanted" "$@" -o no.jsonl
	says err "$words"
	for file in no.jsonl*; do [ ! -e "$file" ] || fail "$*: left $file"; done
}
no 2 'needs -e or --divergence' "${mixed[@]}"
no 2 'needs -e or --divergence' "${mixed[@]}" -e 3 --divergence 0.1
no 2 '2\.\.16, or inf' "${mixed[@]}" -e 3 --order 17
no 2 'out of range for this --order' "${mixed[@]}" --divergence 17
no 2 'not a number above 0' "${mixed[@]}" --divergence 0
no 2 'out of range for this --order' "${mixed[@]}" --divergence 50 --order 16
no 2 'epsilon: "0" is not a number above 0, as in 3' "${mixed[@]}" -e 0
no 2 '--record-filter needs -e' "${mixed[@]}" --record-filter --order 3 --divergence 1
no 2 'needs an --order from 2' "${mixed[@]}" --record-filter -e 8
no 2 'at most 16' "${mixed[@]}" -e 3 --temperature 17
no 3 'at --order 2 epsilon is above 10\.1266: raise' "${mixed[@]}" --order 2 -e 10
no 2 'needs -e or --mix' "${alone[@]}"
no 2 'at least 1/65536 and below 1' "${alone[@]}" --mix 1e-9
no 2 'at least 1/65536 and below 1' "${alone[@]}" --mix 1
no 2 'has no --public-when and no --complete' "${alone[@]}" --mix 0.1 --complete
no 2 'has no --public-when and no --complete' "${alone[@]}" --mix 0.1 --public-when 0.9
no 3 'the nearest is --mix 0\.0000152588, with epsilon' "${alone[@]}" -e 1e-3
# An epsilon beyond what the exact accountant computes is not called too small.
for large in "${mixed[*]}" "${alone[*]}"; do
	# shellcheck disable=SC2086 # a line has several words
	no 2 'out of range of the exact accountant; use zcdp' $large -e 300
done
no 2 'give -B 1' "${base[@]}" --method dp-decoding -B 2 --mix 0.1

# ---- receipts ------------------------------------------------------------------------------------
exits 0 "${mixed[@]}" -e 6 -o inf.jsonl
says inf.receipt.json '"order": "infinity"'
says inf.receipt.json '"null": "public row"'
says inf.receipt.json '"ledger": "rho"'
# eta = ln((m - 1 + e^(2b)) / m)
awk -v b="$(value divergence inf.receipt.json)" -v eta="$(value eta inf.receipt.json)" \
	'BEGIN { d = log((3 + exp(2 * b)) / 4) - eta; exit !(d < 1e-12 && d > -1e-12) }' || fail "eta: $(cat inf.receipt.json)"
awk -v e="$(value epsilon inf.receipt.json)" 'BEGIN { exit !(e <= 6 && e > 5.999) }' || fail "epsilon of infinity"
exits 0 "${mixed[@]}" -e 8 --order 4 -o order.jsonl
says order.receipt.json 'This holds at Renyi order 4 only\.'
says order.receipt.json '"accountant": "renyi"'
says order.receipt.json '"rho": null'
exits 0 "${mixed[@]}" -e 8 --order 4 --record-filter -o filter.jsonl
says filter.receipt.json '"record_filter": true'
awk -v one="$(value loss_of_text order.receipt.json)" -v other="$(value loss_of_text filter.receipt.json)" \
	'BEGIN { exit !(other < one * 1.000001 && other > one * .999999) }' || fail "the filter's budget is not the order's"
awk -v one="$(value divergence order.receipt.json)" -v other="$(value divergence filter.receipt.json)" 'BEGIN { exit !(other > 3 * one) }' ||
	fail "a filter leaves each token as little as without"
exits 0 "${alone[@]}" --mix 0.1 -o mix.jsonl
says mix.receipt.json 'epsilon is [0-9.]+ a token, [0-9.]+ the text: no protection in practice\.'
awk -v v="$(value vocabulary mix.receipt.json)" -v mix="$(value mix mix.receipt.json)" -v eta="$(value eta mix.receipt.json)" \
	'BEGIN { d = log(1 + v * mix / (1 - mix)) - eta; exit !(d < 1e-9 && d > -1e-9) }' || fail "eta: $(cat mix.receipt.json)"
for name in inf order filter mix; do
	exits 0 receipt verify $name.receipt.json -o $name.jsonl
	edits_noticed $name.receipt.json <<-'END'
		s/"order": "infinity"/"order": 3/;s/"order": 4,/"order": 5,/;s/"mix": [0-9.]*/"mix": 2/
		s/"record_filter": [a-z]*/"record_filter": 1/;s/"mix": [0-9.]*/"mix": null/
		s/"divergence": [0-9.]*/"divergence": -1/;s/"mix": [0-9.]*/"mix": -1/
		s/"epsilon": [0-9.]*/"epsilon": 0.5/
		s/"loss_of_text": [0-9.]*/"loss_of_text": 0.5/;s/"eta": [0-9.]*/"eta": 0.0005/
	END
done
# The budget of a filter is the whole guarantee, of one unit: it asks neither for the cap, B nor T.
for name in inf order mix; do
	edits_noticed $name.receipt.json <<-'END'
		s/"tokens": 12/"tokens": 6/
		s/"batch": 4/"batch": 8/;s/"vocabulary": [0-9]*/"vocabulary": 7/
		s/"divergence": [0-9.]*/"divergence": 0.01/;s/"mix": [0-9.]*/"mix": 0.01/
	END
done
[ "$(value units filter.receipt.json)" = 1 ] || fail "a filter's claim is not of one unit: $(cat filter.receipt.json)"
awk -v one="$(value loss filter.receipt.json)" -v all="$(value record_budget filter.receipt.json)" \
	'BEGIN { exit !(one >= all && one < all * 1.000001) }' || fail "the unit's loss is not the budget"
exits 0 receipt verify filter.receipt.json
says out 'batch.*: nothing that was given shows them'
exits 0 receipt verify order.receipt.json
! grep -q 'batch.*: nothing that was given shows them' out || fail "batch does not follow: $(cat out)"
# One reference is what these methods are, though no number of theirs follows from it.
edits_noticed mix.receipt.json <<-'END'
	s/"batch": 1,/"batch": 500,/
END
edits_noticed filter.receipt.json <<-'END'
	s/"record_budget": [0-9.]*/"record_budget": 0.5/
	s/"record_budget": [0-9.]*/"record_budget": null/
	s/"record_filter": true/"record_filter": false/
END

# ---- the ledger ----------------------------------------------------------------------------------
exits 0 ledger init --ledger l --dataset notes --rho-limit 100
exits 0 ledger init --ledger l --dataset losses --measure rdp --order 4 --epsilon-limit 40
exits 0 "${mixed[@]}" -e 6 -o a.jsonl --ledger l --dataset notes
exits 0 receipt verify a.receipt.json --ledger l -o a.jsonl
"$CUTTLE" "${mixed[@]}" -e 8 --order 4 -o b.jsonl --ledger l --dataset notes >out 2>err && fail "a loss at one order is charged as rho"
"$CUTTLE" "${mixed[@]}" -e 14 --order 3 -o b.jsonl --ledger l --dataset losses >out 2>err && fail "a loss is charged at another order"
rm -f b.*
for filter in '' --record-filter; do
	# shellcheck disable=SC2086 # an option, or none
	exits 0 "${mixed[@]}" -e 8 --order 4 $filter -o b.jsonl --overwrite --ledger l --dataset losses
	exits 0 receipt verify b.receipt.json --ledger l -o b.jsonl
done

# ---- stopped runs --------------------------------------------------------------------------------
for way in '--divergence 0.5' '--divergence 0.5 --order 3' '-e 8 --order 4 --record-filter'; do
	rm -f s.* t.*
	# shellcheck disable=SC2206 # several words
	run=("${mixed[@]}" $way --insecure-seed 3)
	exits 0 "${run[@]}" -o t.jsonl
	(prlimit --fsize=300 --pid "$BASHPID" && "$CUTTLE" "${run[@]}" -o s.jsonl >out 2>err)
	code=$?
	[ $code = 6 ] || fail "exit $code of a run that has no room: $(cat err)"
	refused 2 "${mixed[@]}" --divergence 0.4 --insecure-seed 3 -o s.jsonl
	exits 0 "${run[@]}" -o s.jsonl --parallel 1
	# With a filter what was drawn before the stop counts for all, so texts may differ: its sums left no trace.
	[[ $way = *filter ]] || same s.jsonl t.jsonl "$way: other texts after a stop"
	same s.receipt.json <(sed "s/$(hash_of t.jsonl)/$(hash_of s.jsonl)/" t.receipt.json) "$way: another receipt after a stop"
done
exit 0
