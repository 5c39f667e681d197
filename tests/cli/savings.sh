#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate` with --center, --gain, --token-bank, --public-when and --complete. It fails if
# bytes differ with the number of texts in flight or after a kill, if outputs, receipts or ledger
# say other numbers than were spent, or if a wrong request is not refused.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_some_model
model=$CUTTLE_MODEL
unset CUTTLE_MODEL
# The tiny model ends a text after some fifty tokens: here one batch has two texts.
batches=2 tokens=100 limits="300 3600"
short && tokens=60
nightly && batches=3 tokens=10 limits="300 700"
references $((2 * batches))
# Sure of the end half the time, so that texts are short and there is something to bank.
printf 'Answer with one word.\nQ: yes or no?\nA:' >public.txt
printf 'Note: {reference}\nAnswer with one word.\nQ: yes or no?\nA:' >private.txt
base=(generate -m "$model" -i refs.jsonl -B 2 -N "$batches" -n "$tokens" -q --prompt-public public.txt --prompt-private private.txt)
run=("${base[@]}" -e 10 --insecure-seed 1)
all=(--center median --token-bank --public-when 0.5 --complete --free-tokens 7)

exits 0 "${run[@]}" -o plain.jsonl --center none --gain 1
grep -q '"batch"\|"free"' plain.jsonl && fail "a plain run names batches: $(cat plain.jsonl)"
grep -q 'center\|gain\|free\|bank\|complete' plain.receipt.json && fail "a plain receipt names what is off"
exits 0 "${run[@]}" -o center.jsonl --center median
grep -q '"batch"' center.jsonl && fail "centring names batches"
says center.receipt.json '"center": "median"'
exits 0 "${run[@]}" -o default.jsonl
same default.jsonl center.jsonl "--center median is not the default"
same default.receipt.json center.receipt.json "--center median has another receipt"
exits 0 "${run[@]}" -o gain.jsonl --gain 2
cmp -s gain.jsonl center.jsonl && fail "a gain changes nothing"
exits 0 "${base[@]}" -e 10 -o drawn.jsonl --gain 2
says drawn.receipt.json '"gain": 2\.0'
exits 0 receipt verify drawn.receipt.json
for gain in 1.0 2.5 0.5 3.5; do
	sed "s/\"gain\": 2.0/\"gain\": $gain/" gain.receipt.json >edited.json
	refused 7 receipt verify edited.json
done
exits 0 generate -m "$model" -n "$tokens" -q -e 40 -B 7 --dry-run
says out '^gain +2$'
exits 0 generate -m "$model" -n "$tokens" -q -e 40 -B 6 --dry-run
says out '^gain +1$'
refused 2 "${base[@]}" -e 10 -o x.jsonl --gain 3.1
says err '1\.\.3'

exits 0 "${run[@]}" -o all.jsonl "${all[@]}"
for key in '"center": "median"' '"token_bank": true' '"public_when": 0\.5' '"complete": true' '"free_tokens": 7' "\"batches\": $batches"; do
	says all.receipt.json "$key"
done
[ "$(indices all.jsonl)" = "$(seq -s' ' 0 $(($(wc -l <all.jsonl) - 1)))" ] || fail "indices: $(cat all.jsonl)"
[ "$(sed 's/.*"batch":\([0-9]*\).*/\1/' all.jsonl | uniq)" = "$(seq 0 $((batches - 1)))" ] || fail "batches: $(cat all.jsonl)"
nightly || [ "$(wc -l <all.jsonl)" -gt "$batches" ] || fail "no batch has two texts: that shows nothing"
# Per batch: at most T that are paid for, at most U that are free.
sed 's/.*"tokens":\([0-9]*\),.*"batch":\([0-9]*\),"free":\([0-9]*\).*/\2 \1 \3/' all.jsonl | awk -v t="$tokens" -v u=7 '
	{ paid[$1] += $2 - $3; free[$1] += $3 }
	END { for (b in paid) if (paid[b] > t || free[b] > u) exit 1 }' || fail "more than T or U: $(cat all.jsonl)"
for parallel in 1 2 4; do
	exits 0 "${run[@]}" -o parallel.jsonl --overwrite "${all[@]}" --parallel $parallel
	same parallel.jsonl all.jsonl "--parallel $parallel gives other bytes"
	same parallel.receipt.json all.receipt.json "--parallel $parallel gives another receipt"
done

# A command is another one with another way to spend.
while read -r -a other; do
	exits 2 "${run[@]}" -o all.jsonl "${all[@]}" "${other[@]}"
	says err '--overwrite'
done <<-'END'
	--center none
	--free-tokens 8
END
exits 2 "${run[@]}" -o plain.jsonl --center none --gain 1 --token-bank

# Interrupted (here by a full disk: a limit per file) in the middle of a batch's texts, and continued.
for limit in $limits; do
	rm -f tight.*
	(prlimit --fsize="$limit" --pid "$BASHPID" && "$CUTTLE" "${run[@]}" -o tight.jsonl "${all[@]}" >out 2>err)
	code=$?
	[ $code = 6 ] || [ $code = 0 ] || fail "exit $code: $(cat err)"
	exits 0 "${run[@]}" -o tight.jsonl "${all[@]}" --parallel 2
	same tight.jsonl all.jsonl "other bytes after a stop at $limit bytes"
	nothing_left tight
done

# Many texts from few tokens, with a guarantee, a ledger and a receipt that says how it was spent.
exits 0 ledger init --ledger l --dataset notes --epsilon-limit 30
spent() {
	exits 0 ledger show --ledger l --dataset notes --json
	sed 's/.*"rho_spent":\([^,]*\),.*/\1/' out
}
paid=("${base[@]}" -e 3 --ledger l --dataset notes)
exits 0 "${paid[@]}" -o a.jsonl --center none
once=$(spent)
exits 0 "${paid[@]}" -o b.jsonl "${all[@]}"
awk -v once="$once" -v twice="$(spent)" 'BEGIN { exit !(twice > 1.999999 * once && twice < 2.000001 * once) }' ||
	fail "charged $(spent), the first $once"
exits 0 receipt verify a.receipt.json --output a.jsonl --ledger l
grep -q 'median\|further\|which costs nothing' out && fail "a plain receipt is explained as another: $(cat out)"
exits 0 receipt verify b.receipt.json --output b.jsonl --model "$model" --ledger l
says out 'around their own median'
says out 'wrote further texts'
says out 'Up to 7 tokens of a batch were drawn without looking at a reference'
says out "all texts of $batches batches"
edits_noticed b.receipt.json <<-'END'
	s/"center": "median"/"center": "mean"/
	s/"token_bank": true/"token_bank": 1/
	s/"token_bank": true/"token_bank": false/
	s/"complete": true/"complete": false/
	s/"public_when": 0.5/"public_when": 1.5/
	s/"free_tokens": 7/"free_tokens": 0/
	s/"batches": [0-9]*/"batches": 1/
	s/"batches": [0-9]*/"texts": 4/
	/"token_bank"/d
END

# Under declared categories a batch, and each of its texts, is of one of them.
sed 's/^{/{"kind":"sea",/; n; s/^{/{"kind":"land",/' refs.jsonl >kinds.jsonl
for file in public private; do sed 's/^Q:/{category}\nQ:/' $file.txt >$file.kind.txt; done
kinds=("${run[@]}" -i kinds.jsonl -N 2 -B 1 --category-field kind --categories 'sea,land' --category-public "${all[@]}" \
	--prompt-public public.kind.txt --prompt-private private.kind.txt)
exits 0 "${kinds[@]}" -o kinds.out.jsonl
[ "$(sed 's/.*"batch":\([0-9]*\),.*"kind":"\([a-z]*\)".*/\1 \2/' kinds.out.jsonl | uniq)" = $'0 sea\n1 land' ] || fail "$(cat kinds.out.jsonl)"
[ "$(indices kinds.out.jsonl)" = "$(seq -s' ' 0 $(($(wc -l <kinds.out.jsonl) - 1)))" ] || fail "indices: $(cat kinds.out.jsonl)"

# CSV, and the effective configuration.
exits 0 "${run[@]}" -o table.csv "${all[@]}"
[ "$(head -1 table.csv)" = $'index,text,tokens,finish,batch,free,private,note\r' ] || fail "CSV header"
pace
exits 0 "${run[@]}" "${all[@]}" --dry-run --bench pace.json
for line in 'around their median' '^token bank' '^public when .*0\.5 ' '^complete' '^free tokens +at most 7 per batch' "^batches N +$batches"; do
	says out "$line"
done
refused 2 "${base[@]}" -e 3 -o x.jsonl --free-tokens 5
refused 2 "${base[@]}" -e 3 -o x.jsonl --public-when nan
refused 2 "${base[@]}" -e 3 -o x.jsonl --center mean
refused 2 "${base[@]}" -e 3 -o x.jsonl --complete --free-tokens 100000
exit 0
