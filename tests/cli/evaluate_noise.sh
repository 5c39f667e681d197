#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle evaluate -e`, where private references answer through noise. It fails if it runs
# with public references or without a ledger; if a text goes through the model before the ledger is
# charged; if anything but the noisy answers depends on the references; if a command that goes on
# draws noise anew or goes on with other references; or if its table is stamped, or says no epsilon.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
words=(the patient coughs at night and has slept well since monday lungs clear no fever rest fluids again)
texts() {
	local i k line
	for ((i = $1; i <= $2; i++)); do
		line=
		for ((k = 0; k < 4 + i % 3; k++)); do line+="${words[(i * (k + 3) + k * k) % 17]} "; done
		echo "{\"text\":\"${line}$i.\",\"who\":\"p$((i / 2))\"}"
	done
}
texts 1 60 >real.jsonl
texts 101 160 >a.jsonl
texts 201 240 >b.jsonl
spent() { "$CUTTLE" ledger show --ledger l.db --dataset "${1-d}" | sed -n 's/^spent *\(rho [^ ]*\).*/\1/p'; }
exits 0 ledger init --ledger l.db --dataset d --epsilon-limit 3
runs=(evaluate -i a.jsonl -i b.jsonl --against real.jsonl --private)
noise=("${runs[@]}" -e 1 --ledger l.db --dataset d)

# ---- refused, and nothing is charged -------------------------------------------------------------
refused 4 "${noise[@]}" -q --against-field body
says err 'real.jsonl: no record has a field body: name it with --against-field; cuttle inspect'
refused 2 evaluate -i a.jsonl --against real.jsonl --public -e 1 --ledger l.db --dataset d -q
says err '-e is for private references'
refused 2 "${runs[@]}" -e 1 -q
says err '-e needs --ledger FILE and --dataset NAME'
refused 2 "${runs[@]}" -e 1 --ledger l.db -q
refused 2 "${runs[@]}" --ledger l.db --dataset d -q
says err 'need -e EPS'
# What an output without a guarantee holds would be in a table that may be published.
sed '3s/}$/,"private":false,"note":"NOT PRIVATE: drawn from a seed"}/' a.jsonl >bare.jsonl
cp a.jsonl beside.jsonl
echo '{"note":"NOT PRIVATE"}' >beside.receipt.json
for file in bare beside; do
	refused 4 evaluate -i b.jsonl -i $file.jsonl --against real.jsonl --private -e 1 --ledger l.db --dataset d -q -o e.md
	says err "$file\.jsonl, or the receipt beside it, says NOT PRIVATE, and with -e the table may be published\. Leave out -e"
	[ "$(spent)" = 'rho 0' ] || fail "a refused evaluation was charged: $(spent)"
	[ ! -e e.md ] || fail 'a refused evaluation wrote'
done
rm bare.jsonl beside.*
refused 2 "${runs[@]}" --insecure-seed 1 -q
refused 2 "${noise[@]}" -q --features-a x.npy --features-b y.npy --features-b z.npy
says err '-e takes no vectors of others'
refused 2 "${noise[@]}" -q --task who --test real.jsonl
says err '-e takes no --test: nothing protects what is measured on real texts'
refused 2 "${runs[@]}" -e 1 --insecure-seed 1 -q --task who --test real.jsonl
says err '-e takes no --test'
refused 2 "${noise[@]}" -q --task who
says err 'need each other'
refused 2 "${noise[@]}" -q --unit-key who
says err 'counts lines, not values of who'
refused 2 "${runs[@]}" -e 0.0001 --ledger l.db --dataset d -q
says err 'epsilon is too small'
refused 3 "${runs[@]}" -e 3.1 --ledger l.db --dataset d -q
: >none.jsonl
refused 4 evaluate -i a.jsonl --against none.jsonl --private -e 1 --ledger l.db --dataset d -q
[ "$(spent)" = 'rho 0' ] || fail "a refusal was charged: $(spent)"

# ---- the table -----------------------------------------------------------------------------------
for form in md json csv; do
	exits 0 "${runs[@]}" -e 0.1 --ledger l.db --dataset d -o t.$form
	says err '^Of the references, 60 records, only noisy answers are in this table\. They are \(epsilon, delta\)-DP with epsilon = 0\.1 and delta = 1e-06, '
	grep -q PRIVATE t.$form err && fail "a public table is stamped"
	[ "$(stat -c %a t.$form)" = 644 ] || fail "mode $(stat -c %a t.$form)"
	nothing_left t.$form
	[ ! -e t.$form.features ] || fail "left: t.$form.features"
done
says t.md '^Of the references, 60 records, only noisy answers are in this table\. They are '
says t.md '^The references are asked nothing else\. So these are left out: '
grep -q 'real against real |' t.md && fail "a number of the references alone"
says t.json '"private": false,$'
says t.json '"epsilon": 0\.(1|09999[0-9]*),$'
says t.json '"ledger_entry": "[0-9a-f]{64}"'
says t.csv '^"?references, with noise"?,"real.jsonl",no: epsilon 0\.1 delta 1e-06,60,60,0,'
grep '"histograms"' t.json | grep -qv '{},\?$' && fail "clean counts: $(grep -A3 histograms t.json)"
[ "$(grep -c '"references": \[' t.json)" = 0 ] || fail "clean counts of the references"
# Where too much noise leaves nobody, the references have no number at all.
while read -r name; do
	[[ $name == loss_near || $name == tokens_near ]] || fail "another number of the references: $name"
done < <(sed -n '/"kind": "references/,/"kind": "run"/p' t.json | sed -n 's/^ *"\([a-z_0-9]*\)": {$/\1/p')

# ---- the references show in the answers alone ----------------------------------------------------
# A record that is null in one way or the other, and a few that hold other texts: with equal noise the
# first three worlds are equal, and in the last one all but the answers is.
seeded=(evaluate -i a.jsonl -i b.jsonl --private -e 3 --insecure-seed 7 --format json --progress json)
world() { exits 0 "${seeded[@]}" --against "$1" && mv out "$1.out" && sed 's/"seconds[^,}]*//g; s/"[a-z_]*per_second[^,}]*//g' err >"$1.err"; }
sed '5s/.*/{"text":"  "}/' real.jsonl >null1.jsonl
sed '5s/.*/no json/' real.jsonl >null2.jsonl
sed '5s/.*/{"note":3}/' real.jsonl >null3.jsonl
for ((i = 0; i < 60; i++)); do
	if ((i < 50)); then echo ''; else sed -n "$((i - 40))p" a.jsonl; fi
done >null4.jsonl
for n in 1 2 3 4; do
	cp null$n.jsonl w.jsonl
	world w.jsonl
	mv w.jsonl.out $n.out
	mv w.jsonl.err $n.err
	same $n.err 1.err "standard error"
done
same 2.out 1.out "one null record and another"
same 3.out 1.out "one null record and another"
cp real.jsonl w.jsonl
world w.jsonl
cmp -s w.jsonl.out 1.out && fail "a record said nothing"
says w.jsonl.err '^PRIVATE: '
says w.jsonl.err '^NOT PRIVATE: the noise is drawn from a chosen seed, .* Of the references, 60 records, only noisy answers'
exits 0 "${seeded[@]:0:10}" --against w.jsonl --format md
grep -q '^Of the references' out && fail "a promise before a chosen seed"
says out '^NOT PRIVATE: the noise is drawn from a chosen seed, '
public() { sed -n '/"rows"/,$d; /"asked"/,/}/d; p' "$1" && grep -A3 -E '"(perplexity|length|distinct_.|cosine|copies|repeats)": \{' "$1"; }
same <(public 4.out) <(public 1.out) "numbers of runs"
# Terms of a lexicon are counted in the runs alone.
echo fluids >terms
seeded+=(--lexicon terms)
world w.jsonl
says w.jsonl.out '"entities": \{$'
sed -n '/"kind": "references/,/"kind": "run"/p' w.jsonl.out | grep -q '"entities": {' && fail "terms of references"

# ---- a long record -------------------------------------------------------------------------------
cp real.jsonl w.jsonl
roomy w.jsonl evaluate -i a.jsonl --against w.jsonl --private -e 3 --insecure-seed 7 -q -o -

# ---- charged first -------------------------------------------------------------------------------
texts 300 1500 >many.jsonl
long=(evaluate -i a.jsonl -i many.jsonl --against real.jsonl --private -e 1 --ledger l.db --dataset d -o k.json)
before=$(spent)
"$CUTTLE" "${long[@]}" --progress json 2>err &
pid=$!
kept_some() { [ "$(stat -c %s k.json.features)" -gt 200 ]; }
soon kept_some
# What the run needs to go on; these names stay when it is done.
{ ln k.json.journal j && ln k.json.journal.key j.key && cp k.json.run j.run; } || fail "no journal, key or name"
[ "$(wc -l <j)" = 1 ] || fail "drawn before all texts went through the model"
[ "$(spent)" != "$before" ] || fail "a text went through the model before the charge"
paid=$(spent)
kill -KILL $pid
wait $pid 2>/dev/null
[ ! -e k.json ] || fail "half a table"
# What is kept of texts is kept of runs: how much there is of references would tell how many differ.
features=$(od -An -v -tx1 k.json.features | tr -d ' \n')
kept() { [[ $features == *"$(sed -n '1s/.*"text":"\([^"]*\)".*/\1/p' "$1" | tr -d '\n' | sha256sum | cut -c1-64)"* ]]; }
kept a.jsonl || fail "nothing is kept of a run"
kept real.jsonl && fail "a reference is kept"
sed '9s/text":"/text":"so /' real.jsonl >other.jsonl
cp real.jsonl kept.jsonl
cp other.jsonl real.jsonl
refused 2 "${long[@]}" -q
says err 'are not those that k.json was begun with'
cp kept.jsonl real.jsonl
exits 0 "${long[@]}" -q
[ "$(spent)" = "$paid" ] || fail "charged twice: $(spent) after $paid"
nothing_left k.json
[ "$(sed -n 2p j | cut -c1-7)" = 'counts ' ] || fail "the answers were not kept: $(cat j)"
# Killed behind its last step: the journal stands, and the table does not.
mv k.json first.json
cp j k.json.journal && cp j.key k.json.journal.key && cp j.run k.json.run && chmod 600 k.json.journal.key
exits 0 "${long[@]}" -q
same k.json first.json "noise was drawn anew"
[ "$(spent)" = "$paid" ] || fail "charged twice: $(spent) after $paid"
# Without its journal it is another run, with other noise, that pays.
mv k.json second.json
exits 0 "${long[@]}" -q
cmp -s k.json first.json && fail "the same noise again"
[ "$(spent)" != "$paid" ] || fail "noise for nothing"
# Another command is not this one.
cp j k.json.journal && cp j.key k.json.journal.key && rm k.json
refused 2 evaluate -i b.jsonl --against real.jsonl --private -e 0.1 --ledger l.db --dataset d -o k.json -q
says err 'belongs to another command'
# Nor is one with the same texts, of which some are a baseline.
refused 2 evaluate --baseline a.jsonl -i many.jsonl --against real.jsonl --private -e 1 --ledger l.db --dataset d -o k.json -q
says err 'belongs to another command'
rm k.json*
# A file that is no journal is somebody's, whatever is asked for; a journal whose line of answers is damaged is not gone on with.
paid=$(spent)
echo 'my notes' >k.json.journal
refused 2 "${long[@]}" -q
says err 'k.json.journal is in the way: it is not a journal of cuttle'
refused 2 "${long[@]}" -q --overwrite
[ "$(cat k.json.journal)" = 'my notes' ] || fail "somebody's file was overwritten"
[ "$(spent)" = "$paid" ] || fail "a refusal was charged"
rm k.json*

# ---- a ledger that counts by owner ---------------------------------------------------------------
exits 0 ledger init --ledger l.db --dataset u --unit-key who --epsilon-limit 3
refused 2 "${runs[@]}" -e 0.1 --ledger l.db --dataset u -q
exits 0 "${runs[@]}" -e 0.1 --ledger l.db --dataset u --unit-key who -q
exits 0 ledger init --ledger l.db --dataset v --epsilon-limit 3
exits 0 "${runs[@]}" -e 0.1 --ledger l.db --dataset v -q
four=$(echo "$(spent u | cut -c5-) $(spent v | cut -c5-)" | awk '{ printf "%.2f", $1 / $2 }')
[ "$four" = 4.00 ] || fail "an owner of two records pays $four times as much"
coreless evaluate -i a.jsonl --against - --private -e 1 --insecure-seed 1 -q -o -
