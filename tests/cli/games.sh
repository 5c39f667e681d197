#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle audit` on a tiny model. It fails if a wrong claim is not contradicted, if a right one
# is, or if an audit without a caught control says more than that it is void; if a report or a file
# of games of private references is not stamped or can be read by others; if an audit that was
# killed continues with other games; if recited references are not told from held-out ones; or if
# what stands there already is lost.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
demo=${CUTTLE_MODEL-}
need_tiny finite
stamp='PRIVATE: an audit of private references, which nothing protects\. Keep it where they are; do not publish it\.'
words=(the patient coughs at night and has slept well since monday lungs clear no fever rest fluids again)
# notes FIRST LAST: lines with a text of their own each.
notes() {
	local i k line
	for ((i = $1; i <= $2; i++)); do
		line=
		for ((k = 0; k < 6 + i % 3; k++)); do line+="${words[(i * (k + 3) + k * k) % 17]} "; done
		echo "{\"text\":\"${line}$i.\"}"
	done
}
notes 1 30 >refs.jsonl
# value KEY [FILE]: the first number of that key in a report; NAMED.KEY: below NAMED.
value() { sed -n "/\"${1%.*}\": {/,/}/s/.*\"${1#*.}\": \([-0-9.e+]*\).*/\1/p" "${2:-out}" | head -1; }
# above ONE OTHER: ONE is the larger number.
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }
seeded=(--insecure-seed 5 -q --json)
# Games of a canary that contradict nothing; a hundred contradict a claim.
some=60
short && some=30

# ---- invariant: every token and place ------------------------------------------------------------
exits 0 generate -i refs.jsonl --clip 9 --gain 1 -n 16 -B 3 -N 4 --lots off -q -o run.jsonl
umask 000
exits 0 audit invariant -i refs.jsonl --private --receipt run.receipt.json --texts run.jsonl -q --json -o inv.json
umask 022
says err "^$stamp$"
[ "$(wc -l <err)" = 1 ] || fail "more than the stamp: $(cat err)"
[ "$(stat -c %a inv.json)" = 600 ] || fail "mode $(stat -c %a inv.json) of a private report"
says inv.json '"private": true,$'
says inv.json "\"stamp\": \"$stamp\""
says inv.json '"verdict": "nothing contradicts the claim"'
[ "$(value game.texts inv.json)" = 4.0 ] || fail "texts: $(cat inv.json)"
eta=$(value game.eta inv.json)
above "$(value game.widest inv.json)" "$eta" && fail "a range above eta: $(cat inv.json)"
# Rows of a random model differ by more than the clip, so most of eta is reached.
above "$(value game.share inv.json)" 0.9 || fail "share of eta: $(cat inv.json)"
above "$(value control.widest inv.json)" "$eta" || fail "the control stays within eta: $(cat inv.json)"
[ -z "$(ls ./*.trials 2>/dev/null)" ] || fail "left: $(ls ./*.trials)"
exits 0 audit invariant -i refs.jsonl --private --receipt run.receipt.json -q
[ "$(grep -Ec "^\*\*$stamp\*\*$" out)" = 2 ] || fail "the stamp of Markdown: $(cat out)"
exits 0 audit invariant -i - --public -e 2 -n 10 -N 3 -B 2 -q <refs.jsonl
grep -q PRIVATE out && fail "public numbers have a stamp"
exits 0 audit invariant -i refs.jsonl --public -e 2 -n 10 -N 3 -B 2 -q --no-control
says out ': void: no control was caught'

# ---- a learnt bias: public in an audit, and the one that the run had -------------------------------
# Of public records, so that it is the same each time: an audit does not ask what a bias promises.
learnt=(learn -i refs.jsonl --public --texts 20 -q)
exits 0 "${learnt[@]}" --tokens 12 -o notes.bias
exits 0 "${learnt[@]}" --tokens 8 -o other.bias
biased=(audit invariant -i refs.jsonl --public --receipt biased.receipt.json -q --json)
exits 0 generate -i refs.jsonl --clip 9 --gain 1 -n 16 -B 3 -N 4 --lots off -q --bias notes.bias -o biased.jsonl
exits 0 "${biased[@]}" --texts biased.jsonl --bias notes.bias
says out '"verdict": "nothing contradicts the claim"'
eta=$(value game.eta)
above "$(value game.widest)" "$eta" && fail "a range above eta: $(cat out)"
above "$(value game.share)" 0.9 || fail "share of eta: $(cat out)"
above "$(value control.widest)" "$eta" || fail "the control stays within eta: $(cat out)"
refused 4 "${biased[@]}"
says err 'biased.receipt.json is of a run with a bias: give it with --bias FILE$'
refused 4 "${biased[@]}" --bias other.bias
says err 'biased.receipt.json is of a run with another bias, or none$'
refused 4 audit invariant -i refs.jsonl --public --receipt run.receipt.json --bias notes.bias -q
says err 'run.receipt.json is of a run with another bias, or none$'
game=(audit canary -e 1 -n 12 -B 1 -N "$some" --canary 'a canary of mine' --score loss "${seeded[@]}")
exits 0 "${game[@]}"
cp out plain.json
exits 0 "${game[@]}" --bias notes.bias
says out '"contradicted": false'
cmp -s out plain.json && fail "texts of an audit do not have the bias"
exits 7 audit canary --receipt biased.receipt.json --claim 0.5 -N 100 --bias notes.bias "${seeded[@]}"
says err '^cuttle audit: the claim is contradicted$'
refused 2 "${game[@]}" --bias notes.bias -o notes.bias --overwrite
refused 2 "${game[@]}" --bias notes.bias --method pmixed
says err 'a bias is for InvisibleInk alone$'
refused 4 "${game[@]}" --bias refs.jsonl
refused 2 audit lot -i refs.jsonl --public --members refs.jsonl --texts run.jsonl --bias notes.bias -q
says err '^cuttle audit: --bias is of audits that draw texts, or go through them again'

# ---- canary: a wrong claim is contradicted, a right one is not -----------------------------------
exits 7 audit canary --receipt run.receipt.json --claim 0.5 -N 100 "${seeded[@]}"
says err '^cuttle audit: the claim is contradicted$'
says out '"contradicted": true'
above "$(value game.epsilon_at_least_sure)" 0.5 || fail "bound: $(cat out)"
if ! short; then
	exits 7 audit canary --receipt run.receipt.json --claim 0.5 -N 100 --insecure-seed 5 -q -o wrong.md
	says wrong.md 'cuttle audit canary: the claim is contradicted\.$'
fi
exits 0 audit canary -e 1 -n 12 -B 2 -N "$some" -i refs.jsonl --public "${seeded[@]}"
says out '"verdict": "nothing contradicts the claim"'
above "$(value control.epsilon_at_least)" 1 || fail "the control: $(cat out)"
above 1 "$(value game.epsilon_at_least_sure)" || fail "bound: $(cat out)"
cp out fresh.json
exits 0 audit canary -e 1 -n 12 -B 2 -N "$some" -i refs.jsonl --public "${seeded[@]}" --parallel 1 -t 1
same out fresh.json "one text at a time"
exits 0 audit canary -e 30 -n 12 -B 1 -N 20 "${seeded[@]}"
says out '"verdict": "nothing contradicts the claim, but so many games cannot show so much"'
exits 0 audit canary -e 1 -n 16 -B 1 -N 8 --canary 'a canary of mine' "${seeded[@]}" --no-control
says out '"canary": "a canary of mine"'
says out '"control": null'
says out '"void": true'
# By the model alone: no odds of the mechanism.
exits 0 audit canary -e 1 -n 16 -B 1 -N 40 --score loss "${seeded[@]}"
says out '"mean_with"'

# ---- the other games -----------------------------------------------------------------------------
exits 0 audit one-run -e 1 -n 12 -B 1 -N 100 "${seeded[@]}"
says out '"canaries": 100.0'
says out '"guesses": 20.0'
above "$(value control.epsilon_at_least)" 1 || fail "the control: $(cat out)"
leaky=(-B 1 --canary a --temperature 0.5)
exits 0 audit recover -e 1 -n 40 -N 20 --secrets 20 "${leaky[@]}" "${seeded[@]}"
above "$(value control.loss)" 9 || fail "the control recovers too few of 20: $(cat out)"
above 7 "$(value game.loss)" || fail "too many of 20: $(cat out)"
says out '"verdict": "nothing contradicts the claim"'
exits 0 audit exposure -e 1 -n 40 -N 20 --secrets 30 "${leaky[@]}" "${seeded[@]}"
above "$(value control.exposure)" 3 || fail "exposure of the control: $(cat out)"
above 3 "$(value game.exposure)" || fail "exposure: $(cat out)"

# ---- rewritten documents: which secret did the mark have? ----------------------------------------
echo '{"text":"To Ann Roe: see us.","spans":[{"start":3,"end":10,"entity_type":"PERSON"}]}' >docs.jsonl
rewriting=(sanitize -i docs.jsonl -n 40 --template continue -q)
rewritten=(--template continue -N 20 --secrets 20)
exits 0 "${rewriting[@]}" -k 0 -e 1 -o kept.jsonl
exits 0 audit recover --receipt kept.receipt.json "${rewritten[@]}" "${seeded[@]}"
says out '"verdict": "nothing contradicts the claim"'
says out '"claimed_epsilon": 1.0,$'
says out '"canary": "A patient was seen on Monday"'
above 7 "$(value game.mink_40)" || fail "too many of 20: $(cat out)"
above "$(value control.epsilon_at_least)" 1 || fail "the control: $(cat out)"
cp out rewritten.json
exits 0 audit recover --receipt kept.receipt.json "${rewritten[@]}" --insecure-seed 5 -q --canary Mine --no-control -N 4
says out '^Claimed: epsilon 1 at delta 1e-05, of what all marks of a document hold\.$'
says out ': void: no control was caught'
# A run that shows all: whoever says that it costs .5 is contradicted, and whoever says what it costs is not.
exits 0 "${rewriting[@]}" -k 0 -e 900 -o shown.jsonl
exits 7 audit recover --receipt shown.receipt.json --claim 0.5 "${rewritten[@]}" "${seeded[@]}"
above "$(value game.epsilon_at_least_sure)" 0.5 || fail "bound: $(cat out)"
exits 0 audit recover --receipt shown.receipt.json "${rewritten[@]}" "${seeded[@]}" -N 8
says out '"verdict": "nothing contradicts the claim, but so many games cannot show so much"'
# What it does not play with.
refused 4 audit canary --receipt kept.receipt.json -N 4 -q
says err 'is of cuttle sanitize: cuttle audit recover plays with it$'
refused 4 audit recover --receipt kept.receipt.json -N 4 -q
says err 'is of a run with another prompt '
refused 4 audit recover --receipt kept.receipt.json "${rewritten[@]}" --prefill Thus -q
refused 2 audit recover --receipt kept.receipt.json "${rewritten[@]}" -i refs.jsonl --public -q
refused 2 audit recover --receipt kept.receipt.json "${rewritten[@]}" --public-examples docs.jsonl -q
refused 2 audit recover -e 1 -n 8 -B 2 -N 4 --prefill Thus -q
says err 'they need its --receipt$'
echo 'Write it again: {document}' >said.txt
refused 2 audit recover --receipt kept.receipt.json "${rewritten[@]}" --instruction said.txt -o said.txt --overwrite -q
says said.txt '^Write it again'
refused 2 audit recover --receipt kept.receipt.json "${rewritten[@]}" --canary "$(printf 'e%.0s' {1..801})" -q
says err 'canary has more than 800 bytes$'
sed 's/"epsilon": 1.0/"epsilon": 0.5/' kept.receipt.json >edited.json
refused 7 audit recover --receipt edited.json "${rewritten[@]}" -q
# With --mix all several groups are in one row, and the cap is that of all marks together.
sed 's/see us/see us on 5 May/; s/\]}$/,{"start":22,"end":27,"entity_type":"DATE"}]}/' docs.jsonl >both.jsonl
grouped=(--group NAMES=PERSON --group DATE)
exits 0 "${rewriting[@]}" -i both.jsonl -k 0 -e 1 --mix all "${grouped[@]}" -o all.jsonl
says all.receipt.json '"mix": "all"'
exits 0 audit recover --receipt all.receipt.json "${rewritten[@]}" "${seeded[@]}"
says out '"verdict": "nothing contradicts the claim"'
says out '"claimed_epsilon": 1.0,$'
above 7 "$(value game.mink_40)" || fail "too many of 20: $(cat out)"
above "$(value control.epsilon_at_least)" 1 || fail "the control: $(cat out)"
exits 0 "${rewriting[@]}" -i both.jsonl -k 0 -e 900 --mix all "${grouped[@]}" -o all.jsonl --overwrite
exits 7 audit recover --receipt all.receipt.json --claim 0.5 "${rewritten[@]}" "${seeded[@]}"
above "$(value game.epsilon_at_least_sure)" 0.5 || fail "bound: $(cat out)"
# Other groups than the run had are not what its receipt says.
sed 's/"DATE"/"TIME"/' all.receipt.json >edited.json
refused 7 audit recover --receipt edited.json "${rewritten[@]}" -q
says err 'edited.json: '
# Where the second group alone is marked, its cap is the run's.
sed 's/"PERSON"/"DATE"/' docs.jsonl >date.jsonl
exits 0 "${rewriting[@]}" -i date.jsonl -k 0 -e 1 --mix all "${grouped[@]}" -o date.out.jsonl
exits 0 audit recover --receipt date.out.receipt.json "${rewritten[@]}" "${seeded[@]}" --no-control
says out '"claimed_epsilon": 1.0,$'
for mix in average capped; do
	exits 0 "${rewriting[@]}" -i both.jsonl -e 900 --mix $mix "${grouped[@]}" -o groups.jsonl --overwrite
	refused 4 audit recover --receipt groups.receipt.json "${rewritten[@]}" -q
	says err 'recover plays with --mix all alone$'
done
echo '{"text":"Nobody is here.","spans":[]}' | exits 0 "${rewriting[@]}" -i - -e 1 -o nobody.jsonl
refused 4 audit recover --receipt nobody.receipt.json "${rewritten[@]}" -q
says err 'nothing of them was promised$'

# ---- methods: what protects nothing is caught, whatever is claimed of it --------------------------
exits 7 audit canary --method none --not-private --claim 1 -n 12 -B 1 -N 100 "${seeded[@]}" --no-control
exits 0 audit canary --method none --not-private -n 12 -B 1 -N 8 "${seeded[@]}" --no-control
exits 0 audit invariant --method none --not-private -i refs.jsonl --public -n 10 -N 3 -B 2 -q --json
says out '"verdict": "numbers alone'
refused 2 audit canary --method none -n 12 -B 1 -N 8 -q
exits 0 audit canary --method pmixed -e 5 -n 12 -B 1 -N "$some" "${seeded[@]}"
above "$(value control.epsilon_at_least)" 1 || fail "the control: $(cat out)"
exits 0 audit one-run --method amin -e 90000 -n 12 -B 1 -N 20 "${seeded[@]}"
exits 0 audit canary --method adapmixed --not-private -n 12 -B 1 -N "$some" "${seeded[@]}"
says out '"verdict": "(numbers alone|void)'
# Of each the range, or the divergence at its order, that its claim has; of adapmixed, what there is.
for method in '--method pmixed -e 9' '--method dp-prompt -e 9 -B 1' '--method dp-decoding -e 9 -B 1'; do
	# shellcheck disable=SC2086
	exits 0 audit invariant -i refs.jsonl --public -n 10 -N 3 -B 2 $method "${seeded[@]}"
	says out '"verdict": "nothing contradicts the claim"'
	above "$(value game.share)" 0.3 || fail "$method: share: $(cat out)"
done
exits 0 audit invariant -i refs.jsonl --public -n 10 -N 3 -B 2 --method adapmixed --not-private "${seeded[@]}"
says out '"verdict": "numbers alone'
[ "$(value game.order)" = 15.0 ] || fail "order: $(cat out)"

# Two methods plan from epsilon alone: a receipt has what they need.
promised=(generate -i refs.jsonl -B 3 -N 2 -n 8 -q -o promised.jsonl --overwrite --method)
for method in 'pmixed --order 4 --record-filter -e 9' 'pmixed --order 4 -e 9' 'amin -e 60000 --svt-noise 0.01 --svt-threshold 2' 'amin -e 9000 --svt-noise 0.02'; do
	rm -f promised.*
	# shellcheck disable=SC2086
	exits 0 "${promised[@]}" $method
	exits 0 audit canary --receipt promised.receipt.json --score loss -N 4 -q --json
	[ "$(grep -o 'epsilon": [0-9.]*' promised.receipt.json | head -1)" = "$(grep -o 'epsilon": [0-9.]*' out | head -1)" ] || fail "claim: $(cat out)"
	case $method in
	*filter*)
		refused 2 audit canary --receipt promised.receipt.json -N 4 -q
		says err 'a canary is told by --score loss$'
		continue
		;;
	esac
	exits 0 audit invariant --receipt promised.receipt.json -i refs.jsonl --public -q --json
	says out '"contradicted": false'
	if [[ $method = amin* ]]; then
		above "$(value game.answers)" 0 || fail "answers: $(cat out)"
		above "$(value game.answers_most)" "$(value game.answers)" || fail "answers: $(cat out)"
	else
		says out '"verdict": "nothing contradicts the claim"'
		[ "$(value game.order)" = 4.0 ] || fail "order: $(cat out)"
	fi
done

# ---- by night: with bits of the system, and enough of them ---------------------------------------
if [ -n "${CUTTLE_TEST_NIGHTLY-}" ]; then
	fresh=(-q --json -n 40)
	exits 0 audit canary -e 1 -N 200 -B 1 "${fresh[@]}"
	above "$(value control.epsilon_at_least)" 3 || fail "canary misses none: $(cat out)"
	above 1 "$(value game.epsilon_at_least_sure)" || fail "canary: $(cat out)"
	exits 0 audit one-run -e 1 -N 1000 -B 1 "${fresh[@]}"
	above "$(value control.epsilon_at_least)" 3 || fail "one-run misses none: $(cat out)"
	above 1 "$(value game.epsilon_at_least_sure)" || fail "one-run: $(cat out)"
	exits 0 audit recover -e 1 -N 150 --secrets 100 "${leaky[@]}" -n 80 -q --json
	above "$(value control.epsilon_at_least)" 3 || fail "recover misses none: $(cat out)"
	above 1 "$(value game.epsilon_at_least_sure)" || fail "recover: $(cat out)"
	exits 0 audit exposure -e 1 -N 200 --secrets 1000 "${leaky[@]}" -n 20 -q --json
	above "$(value game.exposure)" 1.14 || fail "exposure: $(cat out)"
	above 1.74 "$(value game.exposure)" || fail "exposure: $(cat out)"
	# The demo's model repeats a reference where the prompt asks for it: then it, too, shows what nothing protects.
	if [ -r "$demo" ]; then
		printf 'A colleague wrote a sentence. Repeat it word for word.\n\nRepeated: "' >public.prompt
		printf 'A colleague wrote a sentence: "{reference}" Repeat it word for word.\n\nRepeated: "' >private.prompt
		exits 0 audit recover -m "$demo" -e 1 -B 1 -n 24 -N 20 --secrets 50 --temperature 0.5 --canary 'My number is' \
			--prompt-public public.prompt --prompt-private private.prompt -q --json
		above "$(value control.epsilon_at_least)" 3 || fail "recover misses none: $(cat out)"
		above 1 "$(value game.epsilon_at_least_sure)" || fail "recover: $(cat out)"
		exits 0 audit one-run -m "$demo" -e 1 -B 1 -n 40 -N 60 --kind review -q --json
		above "$(value control.epsilon_at_least)" 1 || fail "one-run misses none: $(cat out)"
	else
		echo "left out: ${0##*/}: the demo's model is not there"
	fi
fi

# ---- texts: recited references are told from held-out ones ---------------------------------------
notes 31 60 >held.jsonl
exits 0 audit overlap -i refs.jsonl --held-out held.jsonl --texts refs.jsonl --public -q --json
above .05 "$(value game.run_p)" || fail "recitation: $(cat out)"
exits 0 audit overlap -i refs.jsonl --held-out held.jsonl --texts held.jsonl --public -q --json
above "$(value game.run_p)" 0.9 || fail "held-out: $(cat out)"
says out '"verdict": "numbers alone'
# By words, without a model: copies are found, words of others are chance, and a text of neither says nothing.
(unset CUTTLE_MODEL && exits 0 audit holdout -i refs.jsonl --held-out held.jsonl --texts refs.jsonl --public -q --json) || exit 1
above .001 "$(value game.p)" || fail "copies: $(cat out)"
[ "$(value game.right)" = "$(value game.guesses)" ] || fail "copies are guessed wrong: $(cat out)"
above "$(value game.used_4)" 20 || fail "records of copies: $(cat out)"
exits 0 audit holdout -i refs.jsonl --held-out held.jsonl --texts held.jsonl --public -q --json
above "$(value game.p)" 0.9 || fail "held-out: $(cat out)"
[ "$(value game.right)" = 0.0 ] || fail "held-out records are guessed: $(cat out)"
above .001 "$(value control.p)" || fail "the control is not caught: $(cat out)"
# Six right guesses of six, in pairs: half of ln(q / (1 - q)) with q^6 = .05.
bound=$(value control.epsilon_at_least)
above .22 "$bound" || fail "the bound of pairs: $(cat out)"
above "$bound" .21 || fail "the bound of pairs: $(cat out)"
echo '{"text":"of nobody"}' >neither.jsonl
exits 7 audit holdout -i refs.jsonl --held-out held.jsonl --texts neither.jsonl --private --receipt run.receipt.json -q -o h.json
exits 0 audit holdout -i refs.jsonl --held-out held.jsonl --texts neither.jsonl --private --claim 1 -q -o h.json
[ "$(stat -c %a h.json)" = 600 ] || fail "mode $(stat -c %a h.json) of a private report"
[ "$(value game.p h.json)$(value game.used_1 h.json)" = 1.00.0 ] || fail "neither: $(cat h.json)"
says h.json 'PRIVATE'
refused 2 audit holdout -i refs.jsonl --public --texts neither.jsonl
refused 2 audit holdout -i refs.jsonl --held-out held.jsonl --texts neither.jsonl
refused 2 audit holdout -i refs.jsonl --held-out held.jsonl --texts neither.jsonl --public --guesses 31 -q
says err 'guesses: there are 30 pairs'
# A sorted file, and texts that have read nothing but its order: a first half would be told from a second one with certainty. A lot is not.
for ((i = 0; i < 40; i++)); do echo "{\"text\":\"note alpha$i of a gardener beta$i\",\"who\":\"p$((i / 4))\"}"; done >sorted.jsonl
head -20 sorted.jsonl >first.jsonl
tail -20 sorted.jsonl >last.jsonl
exits 0 audit holdout -i first.jsonl --held-out last.jsonl --texts first.jsonl --private --json
above .001 "$(value game.p)" || fail "halves of a sorted file: $(cat out)"
says out '"by_lot": false'
says err 'nothing shows that these records were kept aside by lot'
small=0
for seed in {1..12}; do
	exits 0 audit holdout -i sorted.jsonl --private --split "s$seed" --insecure-seed "$seed" -q
	exits 0 audit holdout -i "s$seed.used.jsonl" --held-out "s$seed.aside.jsonl" --texts first.jsonl --private -q --json
	says out '"by_lot": true'
	above "$(value game.p)" .05 || small=$((small + 1))
done
[ $small -le 1 ] || fail "$small of 12 lots disclose what was never read"
cmp -s s1.used.jsonl s2.used.jsonl && fail "two lots are one"
umask 000
exits 0 audit holdout -i sorted.jsonl --private --split half
umask 022
[ "$(stat -c %a half.used.jsonl half.aside.jsonl half.split.json | tr '\n' ' ')" = '600 600 600 ' ] || fail "modes: $(stat -c '%n %a' half.*)"
sort half.used.jsonl half.aside.jsonl | cmp - <(sort sorted.jsonl) || fail "a split that is no partition"
[ "$(wc -l <half.used.jsonl)" = 20 ] || fail "used records: $(wc -l <half.used.jsonl)"
says err "^  cuttle audit holdout -i 'half.used.jsonl' --held-out 'half.aside.jsonl' --texts new.jsonl --receipt new.receipt.json --private\$"
cp half.used.jsonl kept
for file in half.used.jsonl half.aside.jsonl half.split.json; do
	mkdir alone && cp $file alone
	refused 2 audit holdout -i sorted.jsonl --private --split alone/half --overwrite
	says err "alone/$file is there already, and a split is never overwritten"
	[ "$(ls alone)" = $file ] || fail "$file: more than stood there: $(ls alone)"
	rm -r alone
done
refused 2 audit holdout -i half.used.jsonl --private --split half
same half.used.jsonl kept "a half that was split again"
refused 2 audit holdout -i - --private --split z <sorted.jsonl
refused 2 audit holdout -i sorted.jsonl --private --split z --held-out first.jsonl
refused 2 audit holdout -i sorted.jsonl --split z
refused 2 audit lot -i sorted.jsonl --private --split z
refused 2 audit lot -i sorted.jsonl --private --draw z --unit-key who
head -1 sorted.jsonl >one.jsonl
refused 4 audit holdout -i one.jsonl --public --split z
says err 'fewer than two records'
[ -z "$(ls z.* 2>/dev/null)" ] || fail "left: $(ls z.*)"
# Other bytes are no half of it; the other half of another split is none, either.
cp half.split.json other.split.json
cp first.jsonl other.used.jsonl
refused 7 audit holdout -i other.used.jsonl --held-out half.aside.jsonl --texts first.jsonl --public
says err 'other.used.jsonl is not the half that other.split.json was written with: other bytes'
refused 7 audit holdout -i half.used.jsonl --held-out s1.aside.jsonl --texts first.jsonl --public
echo '{}' >other.split.json
refused 4 audit holdout -i other.used.jsonl --held-out half.aside.jsonl --texts first.jsonl --public
# All records of an owner are in one half, and count as one.
exits 0 audit holdout -i sorted.jsonl --private --split owned --unit-key who -q
comm -12 <(grep -o '"who.*' owned.used.jsonl | sort -u) <(grep -o '"who.*' owned.aside.jsonl | sort -u) >both
[ ! -s both ] || fail "owners in both halves: $(cat both)"
exits 0 audit holdout -i owned.used.jsonl --held-out owned.aside.jsonl --texts first.jsonl --private -q --json
[ "$(value game.used)$(value game.held_out)" = 5.05.0 ] || fail "owners: $(cat out)"
refused 2 audit holdout -i owned.used.jsonl --held-out owned.aside.jsonl --texts first.jsonl --public --unit-key text
says err 'the split was drawn by who; leave it out$'
exits 0 audit holdout -i first.jsonl --held-out last.jsonl --texts first.jsonl --private -q --json --unit-key who
[ "$(value game.used)$(value game.held_out)" = 5.05.0 ] || fail "owners: $(cat out)"
# With a mistyped name each record would be an owner, and owners in both halves.
refused 4 audit holdout -i sorted.jsonl --public --split z --unit-key whom
says err 'no record has a field whom: name it with --unit-key$'
refused 4 audit holdout -i sorted.jsonl --public --split z --text-field note
[ -z "$(ls z.* 2>/dev/null)" ] || fail "left: $(ls z.*)"
# CSV: both halves have the header row, a row stays whole, and one with a broken quote is null in either half.
printf '\xef\xbb\xbfwho,text\r\n1,"two\r\nlines ""q"""\r\n2,plain\r\n3,bro"ken" x\r\n4,"open\r\n5,plain, too\r\n\r\n7,last' >table.csv
exits 0 audit holdout -i table.csv --public --split table --insecure-seed 4
[ "$(head -1 -q table.used.csv table.aside.csv)" = $'who,text\r\nwho,text\r' ] || fail "header rows: $(head -1 table.*)"
printf '1,"two\r\nlines ""q"""\r\n' >row
cat table.used.csv table.aside.csv >whole
[[ $(<whole) == *"$(<row)"* ]] || fail "a row in two parts: $(cat whole)"
says err "split by lot: table.used.csv has 4 records, table.aside.csv has 3"
# Whichever line comes first in a half, it has no mark that says something of the file: a mark and an object are null, and so is a PDF's start.
printf '{"text":"a b"}\n\xef\xbb\xbf{"text":"c d"}\n%%PDF-1.7\n{"text":"e f"}\n \t{"text":"g h"}' >odd.jsonl
printf '\n\n\t{"text":"g h"}\n{"text":"a b"}\n{"text":"e f"}\n' | sed 's/^\t{/ &/' | sort >wanted
for seed in {1..6}; do
	exits 0 audit holdout -i odd.jsonl --public --split "odd$seed" --insecure-seed "$seed" -q
	sort "odd$seed.used.jsonl" "odd$seed.aside.jsonl" | cmp - wanted || fail "halves with marks: $(cat odd"$seed".*)"
done
# TSV, which cuttle writes nowhere else: a half is a copy of rows, and has no quotes.
printf 'who\ttext\r\n1\ta "q\r\n2\tplain\n3\tlast' >table.tsv
exits 0 audit holdout -i table.tsv --public --split tabs --insecure-seed 4
[ "$(cat tabs.used.tsv tabs.aside.tsv | sort)" = "$(sort table.tsv - <<<$'who\ttext\r')" ] || fail "halves of TSV: $(cat tabs.*)"
exits 0 audit holdout -i tabs.used.tsv --held-out tabs.aside.tsv --texts tabs.used.tsv --public -q --json
says out '"by_lot": true'
# A blank line before the header row is no record.
printf '\n\nwho,text\n1,one\n2,two\n' >blank.csv
exits 0 audit holdout -i blank.csv --public --split blank -q
[ "$(cat blank.*.csv | sort)" = $'1,one\n2,two\nwho,text\nwho,text' ] || fail "a blank line: $(cat blank.*.csv)"

# No outcome could contradict the claim: void, and said before the work. A smaller delta and all guesses can.
powerless='this audit will be void: even if all guesses were right, so many could not contradict the claim at its delta'
split=(audit holdout -i half.used.jsonl --held-out half.aside.jsonl --private)
exits 0 "${split[@]}" --texts half.used.jsonl --claim 0.01 --guesses 20 --json
says out '"void": true'
says out '"verdict": "void: even if all guesses were right'
[ "$(value game.could_refute)" = 0.0 ] || fail "at delta 1e-6: $(cat out)"
[ "$(grep -nE "$powerless|texts to go" err | head -1)" = "$(grep -n "$powerless" err)" ] || fail "not said before the work: $(cat err)"
exits 7 "${split[@]}" --texts half.used.jsonl --claim 0.001 --guesses 20 --delta 1e-12 --json
grep -q "$powerless" err && fail "it can, and is called void"
exits 0 "${split[@]}" --texts half.used.jsonl --claim 0.1 --guesses 20 --delta 1e-12 -q --json
says out '"void": true'
exits 0 audit one-run -e 1 -n 4 -B 1 -N 20 --insecure-seed 5 --json
says out '"void": true'
says err "$powerless"
exits 0 audit lot -i refs.jsonl --private --members refs.jsonl --texts run.jsonl --claim 3 --json
says out '"void": true'
says err "$powerless"
umask 000
exits 0 audit lot -i refs.jsonl --private --draw members.jsonl -q --insecure-seed 3
umask 022
[ "$(stat -c %a members.jsonl)" = 600 ] || fail "mode $(stat -c %a members.jsonl) of the members"
[ "$(wc -l <members.jsonl)" = 30 ] || fail "lines: $(wc -l <members.jsonl)"
while IFS= read -r line <&3 && IFS= read -r drawn <&4; do
	[ -z "$drawn" ] || [ "$drawn" = "$line" ] || fail "$drawn instead of $line"
done 3<refs.jsonl 4<members.jsonl
exits 0 audit lot -i refs.jsonl --private --members members.jsonl --texts members.jsonl -q --json
[ "$(value game.right)" = "$(value game.guesses)" ] || fail "recited members: $(cat out)"
exits 0 audit lot -i refs.jsonl --private --members members.jsonl --texts run.jsonl -q --claim 3
# By meaning: whole records are as near as can be, and so are they without the word that a run of tokens would break at.
exits 0 audit lot -i refs.jsonl --private --members members.jsonl --texts members.jsonl --score nearest -q --json
[ "$(value game.right)" = "$(value game.guesses)" ] || fail "recited members, by meaning: $(cat out)"
says out '"void": false'
exits 0 audit lot -i refs.jsonl --private --members members.jsonl --texts held.jsonl --score nearest -q --json
above "$(value control.right)" "$(value game.right)" || fail "held-out texts, by meaning: $(cat out)"
refused 2 audit canary -e 1 -n 4 -B 1 -N 4 --score nearest -q
refused 4 audit lot -i held.jsonl --public --members run.jsonl --texts run.jsonl -q
# A record that cannot be read is never in, so it may not be guessed.
{ yes '{"text":7}' | head -200 && notes 1 20; } >bad.jsonl
echo '{"text":"zzzz"}' >strange.jsonl
exits 0 audit lot -i bad.jsonl --public --draw in.jsonl -q --insecure-seed 3
exits 0 audit lot -i bad.jsonl --public --members in.jsonl --texts strange.jsonl --claim 0.1 -q --json
[ "$(value game.records)" = 20.0 ] || fail "records: $(cat out)"
[ "$(value game.guesses)" = 4.0 ] || fail "guesses: $(cat out)"
refused 2 audit lot -i bad.jsonl --public --members in.jsonl --texts strange.jsonl --guesses 21 -q
yes '{"text":7}' | head -3 >none.jsonl
refused 4 audit lot -i none.jsonl --public --members none.jsonl --texts strange.jsonl -q
# The receipt must be that of the texts, and must hold.
lot=(audit lot -i refs.jsonl --private --members members.jsonl -q --json)
exits 0 "${lot[@]}" --texts run.jsonl --receipt run.receipt.json
says out "\"receipt_sha256\": \"$(sha256sum <run.receipt.json | cut -c1-64)\""
exits 7 "${lot[@]}" --texts held.jsonl --receipt run.receipt.json
says err 'held.jsonl is not the output of run.receipt.json: other bytes$'
exits 7 audit overlap -i refs.jsonl --held-out held.jsonl --texts held.jsonl --public -q --receipt run.receipt.json
sed 's/"delta": [0-9.e-]*/"delta": 0.0009765625/' run.receipt.json >edited.json
for action in "lot --members members.jsonl --texts run.jsonl" "overlap --held-out held.jsonl --texts run.jsonl" canary invariant; do
	# shellcheck disable=SC2086
	refused 7 audit $action -i refs.jsonl --public --receipt edited.json -q
	says err 'edited.json: '
done
# A lot is drawn line by line, and a CSV file is no lines.
printf 'text\n"two\nlines"\n' >refs.csv
cp refs.csv refs.tsv
for input in refs.csv refs.tsv; do
	refused 2 audit lot -i "$input" --public --draw drawn.jsonl -q
	says err '--draw is for JSONL'
	[ ! -e drawn.jsonl ] || fail "half of $input"
done

# ---- perturbed texts: words are found again by the nearest ones ----------------------------------
printf '%s\n' 'the 1 0' 'cat 0 1' 'dog .1 1' 'house 1 .2' 'fever -1 0' 'cough -1 .1' >vectors.txt
exits 0 words --vectors vectors.txt -o w.words -q
printf '{"text":"the cat, the dog"}\n{"text":"fever cough"}\n{"text":" "}\n' >plain.jsonl
printf '{"text":"the dog the dog"}\n{"text":"unheard cough"}\n{"text":"dog"}\n' >changed.jsonl
(unset CUTTLE_MODEL && exits 0 audit invert --words w.words -i plain.jsonl --texts changed.jsonl --private -q --json -o i.json) || exit 1
[ "$(stat -c %a i.json)" = 600 ] || fail "mode $(stat -c %a i.json) of a private report"
[ "$(value game.places i.json)" = 6.0 ] || fail "places: $(cat i.json)"
says i.json '"first": 0.66666666666666663'
says i.json '"nearest": 0.83333333333333337'
says i.json '"first": 1.0'
refused 4 audit invert --words w.words -i plain.jsonl --texts refs.jsonl --public -q
refused 2 audit invert -i plain.jsonl --texts changed.jsonl --public -q

# ---- what contradicts itself ---------------------------------------------------------------------
refused 2 audit
refused 2 audit nothing
refused 2 audit canary
says err 'which promise: --receipt FILE, or -e EPS or --clip C$'
refused 2 audit canary -e 1 -i refs.jsonl
says err 'say whether the references are --public or --private'
refused 2 audit canary -e 1 --receipt run.receipt.json
refused 2 audit canary -e 1 --public --private
refused 2 audit invariant -e 1
refused 2 audit overlap -i refs.jsonl --public --texts run.jsonl
refused 2 audit lot -i refs.jsonl --public --texts run.jsonl
refused 2 audit canary -e 1 --draw some.jsonl
refused 4 audit canary --receipt run.receipt.json --kind letter -q
says err 'run.receipt.json is of a run with another prompts'
(mkdir other && cd other && make_tiny) || exit 1
refused 4 audit canary --receipt run.receipt.json -m other/tiny.gguf -N 4 -q
says err 'run.receipt.json is of a run with another model$'
# The same clip on another grid is made of other integers; the receipt holds all the same.
sed 's/"clip_fixed": 36864,/"clip_fixed": 73728,/; s/"fraction_bits": 12,/"fraction_bits": 13,/' run.receipt.json >edited.json
exits 0 receipt verify edited.json
refused 4 audit canary --receipt edited.json -N 4 -q
says err 'edited.json is of a run with another clip$'
refused 4 audit canary --receipt refs.jsonl -q
echo mine >mine.md
cp mine.md mine.json.trials
refused 2 audit canary -e 1 -n 4 -B 1 -N 4 -q -o mine.md
refused 2 audit canary -e 1 -n 4 -B 1 -N 4 -q -o mine.json
says err 'mine.json.trials is in the way'
[ "$(cat mine.md mine.json.trials)" = $'mine\nmine' ] || fail "a file of the user is gone"
refused 2 audit invariant -i refs.jsonl --public -e 1 -o refs.jsonl --overwrite

# ---- an audit that is killed continues with its own games ----------------------------------------
# stopped ARGUMENT...: ends an audit after its first game. It has so many that it would take minutes.
stopped() {
	umask 000
	: >err
	"$CUTTLE" "$@" -N 100000 -o killed.json --progress json 2>err &
	pid=$!
	soon grep -q texts_done err || fail "no game was done: $(cat err)"
	mode=$(stat -c %a killed.json.trials)
	kill -TERM $pid
	wait $pid
	code=$?
	umask 022
	[ $code = 6 ] || fail "exit $code of a stopped audit: $(cat err)"
	[ ! -e killed.json ] || fail "half a report"
}
# cut_short BYTES ARGUMENT...: an audit whose disk is full after so many bytes of its games.
cut_short() {
	(prlimit --fsize="$1" --pid "$BASHPID" && exits 1 "${@:2}" -q -o killed.json) || exit 1
	[ "$(wc -l <killed.json.trials)" -gt 3 ] || fail "no games are kept: $(cat killed.json.trials)"
	[ ! -e killed.json ] || fail "half a report"
}
# rewritten.json is what the audit says undisturbed.
rewritten=(audit recover --receipt kept.receipt.json "${rewritten[@]}" --insecure-seed 5 --json)
stopped "${rewritten[@]}"
rm killed.json.*
cut_short 1200 "${rewritten[@]}"
exits 0 "${rewritten[@]}" -q -o killed.json --parallel 1 -t 1
same killed.json rewritten.json "documents, after a kill and one at a time"
rm killed.json
long=(audit canary -e 1 -n 16 -B 2 -N 30 -i refs.jsonl --private --insecure-seed 9 --json)
stopped "${long[@]}"
[ "$mode" = 600 ] || fail "mode $mode of games of private references"
says killed.json.trials '^\{"trials":"PRIVATE: '
rm killed.json.*
exits 0 "${long[@]}" -q
cp out undisturbed.json
cut_short 1200 "${long[@]}"
refused 2 audit canary -e 2 -n 16 -B 2 -N 30 --insecure-seed 9 -q -o killed.json
says err 'killed.json.trials is in the way'
# Half a line, as of a power cut.
head -n 3 killed.json.trials >whole
cat whole >killed.json.trials
printf '+1.00000' >>killed.json.trials
exits 0 "${long[@]}" -q -o killed.json
same killed.json undisturbed.json "after a kill"
[ -z "$(ls ./killed.json.* 2>/dev/null)" ] || fail "left: $(ls ./killed.json.*)"
