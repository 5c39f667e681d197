#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what generate says on standard error before it draws. It fails if a warning is missing
# where its public numbers ask for it, or given where they do not. It fails if a run and --dry-run
# warn differently, if a warning comes after the first token, or if -q does not silence it.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny
export CUTTLE_MODEL=tiny.gguf
for i in 1 2 3; do echo '{"text":"A public note."}'; done >public.jsonl
for i in 1 2 3 4; do echo "{\"text\":\"Note $i.\"}"; done >refs.jsonl
example=$("$CUTTLE" tokenize -i public.jsonl | awk -F, '{ print NF; exit }')
pace
dry=(--dry-run --bench pace.json)
bare=(generate --accountant zcdp -B 2 -N 2 -n 8)

# warns PATTERN ARGUMENT...: that warning and no other; an empty pattern is none. Without -e or --clip, -e 3.
warns() {
	local wanted=$1 budget=(-e 3)
	shift
	[[ " $* " != *' -e '* && " $* " != *' --clip '* ]] || budget=()
	exits 0 "${calm[@]}" "${budget[@]}" "$@" "${dry[@]}"
	[ "$(grep -c '^Warning: ' err)" = $((${#wanted} > 0)) ] || fail "$*: other warnings than '$wanted': $(cat err)"
	[ -z "$wanted" ] || says err "^Warning: .*$wanted"
	[ "$(grep -c '^Note: a model of 0 million parameters is for trying out' err)" = 1 ] || fail "$*: nothing about the small model: $(cat err)"
	grep -q 'may not say' err && fail "$*: a sentence that every run has: $(cat err)"
	exits 0 "${calm[@]}" "${budget[@]}" "$@" "${dry[@]}" -q
	[ ! -s err ] || fail "$* -q: $(cat err)"
}
calm=("${bare[@]}" --public-examples public.jsonl)
warns ''
# A model under 1 billion parameters without examples, which own prompts have in their own way.
calm=("${bare[@]}")
warns 'no public examples.*--public-examples FILE'
echo 'A note:' >p
echo 'A note: {reference} Another:' >q
warns '' --prompt-public p --prompt-private q
calm+=(--public-examples public.jsonl)
# epsilon is what was promised: by -e, or by the clip.
warns '' -e 10
warns 'epsilon 10.1 .*e\^10.1\. Give a smaller -e' -e 10.1
warns 'epsilon [0-9.e+]+ is hardly a promise' --clip 20
# delta against a tenth of one in the number of records, N B = 4.
warns '' --delta 0.025
warns 'delta 0.0251 is above 1 / \(10 N B\) = 0.025.* --delta 1e-02 or less' --delta 0.0251
warns '' --delta 1e-4 -N 500
warns 'delta 0.00011 .*--delta 1e-04 or less' --delta 0.00011 -N 500
# tanh(x / 2) = 0.1 at x = 0.2007; both sides of it.
warns '' --clip 0.2016
warns 'clip / temperature is 0.2, so the documents change at most 10 % of the tokens.*Raise -B' --clip 0.2
warns 'at most 5 %' --clip 0.2 --temperature 2
# A context without room for a document as long as the text.
room=$("$CUTTLE" "${calm[@]}" -e 3 -c 256 "${dry[@]}" -q | sed -n 's/^context.* at most \([0-9]*\) of a reference$/\1/p')
warns '' -c $((256 - room + 8))
warns 'texts may have 8 tokens, but of a document only 7 fit' -c $((256 - room + 7))
# -n far above the examples, unless a bank keeps what is left.
warns '' -n $((4 * example)) -e 10
warns "charged for $((4 * example + 1)) tokens, and the longest public example has $example" -n $((4 * example + 1)) -e 10
warns '' -n $((4 * example + 1)) -e 10 --token-bank

# A run says the same before its first token, and a second time nothing, as it draws nothing.
"$CUTTLE" "${bare[@]}" -e 3 --delta 0.25 "${dry[@]}" 2>&1 >/dev/null | grep -v '^Guarantee' >wanted
exits 0 "${bare[@]}" -e 3 --delta 0.25 -i refs.jsonl -o out.jsonl
[ "$(grep -c '^Warning: ' wanted)" = 2 ] || fail "the dry run: $(cat wanted)"
grep -Fxf wanted err >said
same said wanted "a run warns otherwise than --dry-run"
line=$(grep -n '^Warning' err | tail -1 | cut -d: -f1)
[ "$line" -lt "$(grep -n 'texts in out.jsonl' err | cut -d: -f1)" ] || fail "the warnings come after the texts"
exits 0 "${bare[@]}" -e 3 --delta 0.25 -i refs.jsonl -o out.jsonl
grep -q '^Warning' err && fail "a complete run warns: $(cat err)"
exits 0 "${bare[@]}" -e 3 --delta 0.25 -i refs.jsonl -o quiet.jsonl -q
[ ! -s err ] || fail "-q: $(cat err)"
# A refused run is one line.
refused 4 "${bare[@]}" -e 3 --delta 0.25 -i refs.jsonl -o more.jsonl -N 3

# That no record has the field is told before anything is paid; that one of them lacks it never is.
sed 's/"text"/"note"/' refs.jsonl >renamed.jsonl
exits 0 ledger init --ledger l --dataset d --epsilon-limit 9 --delta 1e-6
for how in '' '-q --dry-run --bench pace.json' '--lots on -N 1'; do
	# shellcheck disable=SC2086 # a list of options
	exits 4 "${bare[@]}" -e 3 -i renamed.jsonl -o never.jsonl --ledger l --dataset d $how
	says err 'renamed.jsonl: no record has a field text: name it with --text-field; cuttle inspect'
done
exits 0 ledger show --ledger l --dataset d
says out '^spent +rho 0 '
compgen -G 'never*' && fail "a refused run left something"
for odd in '{"text":7}' '{"text":""}' '{"text":null}'; do
	{
		sed 1d renamed.jsonl
		echo "$odd"
	} >one.jsonl
	exits 0 "${bare[@]}" -e 3 -i one.jsonl -o one.out.jsonl -q
	[ ! -s err ] || fail "$odd: $(cat err)"
	rm one.out.*
done
exits 0 "${bare[@]}" -e 3 -i renamed.jsonl --text-field note -o never.jsonl -q
