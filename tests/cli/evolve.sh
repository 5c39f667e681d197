#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle evolve`. It fails if the noise is not that of epsilon; if a null record votes, or a
# record votes more often than it may; if a run is not charged what it costs; if a run that goes on
# draws votes anew, ends in other bytes or goes on with other records; if anything but the votes
# depends on records; or if a receipt that was changed still holds.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
words=(the patient coughs at night and has slept well since monday lungs clear no fever rest fluids again)
for ((i = 1; i <= 60; i++)); do
	line=
	for ((k = 0; k < 4 + i % 3; k++)); do line+="${words[(i * (k + 3) + k * k) % 17]} "; done
	echo "{\"text\":\"${line}$i.\",\"who\":\"p$((i / 2))\"}"
done >recs.jsonl
spent() { "$CUTTLE" ledger show --ledger l.db --dataset "${1-d}" | sed -n 's/^spent *rho \([^ ]*\).*/\1/p'; }
exits 0 ledger init --ledger l.db --dataset d --epsilon-limit 3
small=(evolve -n 12 --seed 3 -i recs.jsonl)

# ---- refused, and nothing is charged -------------------------------------------------------------
(unset CUTTLE_MODEL && refused 2 evolve) || exit 1
says err 'missing: -m MODEL .*, -i RECORDS, -e EPS, -o OUT'
refused 2 "${small[@]}" -o o.jsonl -e 1 --ledger l.db
refused 3 "${small[@]}" -o o.jsonl -e 3.1 --ledger l.db --dataset d -q
refused 2 "${small[@]}" -o o.jsonl -e 1 --ledger l.db --dataset d -q --insecure-seed 1
refused 2 "${small[@]}" -o o.jsonl -e 1 --ledger l.db --dataset d -q --unit-key who
refused 2 "${small[@]}" -o o.jsonl -e 0.00001 -q
refused 2 "${small[@]}" -o o.jsonl -e 1 -q -N 2 --variations 1 --neighbours 3
refused 2 evolve -i recs.jsonl -n 300 -o o.jsonl -e 1 -q
says err 'Lower -n, or raise --ctx-size$'
echo 'say it again' >again
refused 2 "${small[@]}" -o o.jsonl -e 1 -q --prompt-variation again
says err 'must hold \{text\} exactly once'
: >none.jsonl
refused 4 evolve -n 12 -i none.jsonl -o o.jsonl -e 1 -q
refused 4 "${small[@]}" -o o.jsonl -e 1 --ledger l.db --dataset d -q --text-field body
says err 'recs.jsonl: no record has a field body: name it with --text-field; cuttle inspect'
[ "$(spent)" = 0 ] || fail "a refusal was charged: $(spent)"
[ ! -e o.jsonl ] || fail "a refused run wrote something"

# ---- the noise -----------------------------------------------------------------------------------
while read -r epsilon sigma; do
	exits 0 evolve -n 12 -e "$epsilon" --dry-run
	says out "^noise         sigma $sigma"
done <<'END'
1 14\.32789
3 5\.19777
5 3\.28597
10 1\.80229
END
exits 0 evolve -n 12 -e 1 --neighbours 4 --dry-run
says out '^noise         sigma 28\.65578'
exits 0 evolve -n 12 -e 1 --dry-run -i recs.jsonl
says out '^records       60$'
says out '^texts         6100 drawn, 100 written$'

# ---- the votes, all but without noise ------------------------------------------------------------
# sum_of ARG...: all candidates stay, so their votes are all votes.
sum_of() {
	exits 0 evolve -n 12 --seed 3 -e 1000000 -q -N 4 --variations 1 --generations 1 -o - "$@"
	sed 's/.*"votes":\([0-9]*\).*/\1/' out | awk '{ sum += $1 } END { print sum }'
}
[ "$(sum_of -i recs.jsonl)" = 60 ] || fail "60 records have $(sum_of -i recs.jsonl) votes"
[ "$(sum_of -i recs.jsonl --neighbours 3)" = 180 ] || fail "three votes each"
[ "$(sum_of -i recs.jsonl --neighbours 4)" = 240 ] || fail "four votes each"
sed '3s/.*/no json/; 9s/.*/{"text":" "}/; 12s/.*/{"note":1}/; 20s/.*//' recs.jsonl >null.jsonl
[ "$(sum_of -i null.jsonl)" = 56 ] || fail "null records vote: $(sum_of -i null.jsonl)"
[ "$(sum_of -i recs.jsonl --unit-key nobody)" = 0 ] || fail "nobody's records vote"
sum_of -i recs.jsonl >/dev/null && cp out votes
sum_of -i recs.jsonl --threshold 7 >/dev/null
same <(sed 's/.*"votes":\([0-9]*\).*/\1/' out) \
	<(sed 's/.*"votes":\([0-9]*\).*/\1/' votes | awk '{ print ($1 > 7 ? $1 - 7 : 0) }') "votes above a threshold"
sed 's/.*"votes":\([0-9]*\).*/\1/' votes | sort -rnc || fail "not most votes first"
# A record's vote is its own: one record alone adds what it adds beside others.
head -30 recs.jsonl >half.jsonl
tail -30 recs.jsonl >rest.jsonl
for part in half rest recs; do
	sum_of -i $part.jsonl >/dev/null
	sed 's/^{"index":[0-9]*,\(.*\),"votes":\([0-9]*\)}$/\2 \1/' out | LC_ALL=C sort -k2 | sed 's/ .*//' >$part.votes
done
same <(paste -d' ' half.votes rest.votes | awk '{ print $1 + $2 }') recs.votes "votes of halves"

# ---- a run, its charge and its receipt -----------------------------------------------------------
run=("${small[@]}" -o o.jsonl -e 1 -N 40 --variations 4 --generations 3 --ledger l.db --dataset d)
"$CUTTLE" "${run[@]}" --progress json 2>err &
pid=$!
begun() { [ -s o.jsonl.run ] && lines_in o.jsonl.journal 2; }
soon begun
kill -STOP $pid
{ ln o.jsonl.journal j && ln o.jsonl.journal.key j.key && cp o.jsonl.run j.run; } || fail "no journal, key or name"
[ "$(spent)" != 0 ] || fail "a token was drawn before the charge"
kill -CONT $pid
wait $pid || fail "exit $?: $(cat err)"
nothing_left o.jsonl
exits 0 "${run[@]}" --dry-run
says out "^charge        rho 0\.024356"
[ "$(spent)" = 0.024356 ] || fail "spent: $(spent)"
[ "$(wc -l <o.jsonl)" = 40 ] || fail "lines: $(wc -l <o.jsonl)"
[ "$(indices o.jsonl)" = "$(seq -s' ' 0 39)" ] || fail "indices"
exits 0 receipt verify o.receipt.json --output o.jsonl --ledger l.db --model tiny.gguf
says out '^The receipt agrees with itself: 40 texts of at most 12 tokens, chosen by 60 records in 3 generations\.$'
edits_noticed o.receipt.json <<'END'
s/"generations": 3/"generations": 2/
s/"neighbours": 1/"neighbours": 2/
s/"variance_num": [0-9]*/"variance_num": 4294967295/
s/"epsilon": [^,]*/"epsilon": 0.5/
s/"rho": 0.0243/"rho": 0.0143/
s/"delta": 9.9/"delta": 1.9/
s/"private": true/"private": false/
s/"texts": 40/"texts": 41/
END
exits 0 "${run[@]}" -q
! grep 'already complete' err || fail "-q says what is no error"
exits 0 "${run[@]}"
says err 'o.jsonl is already complete$'

# ---- a run that goes on --------------------------------------------------------------------------
# begin LINES: files of a run that was killed behind so many lines of its journal.
begin() {
	rm -f o.jsonl o.receipt.json
	head -n "$1" j >o.jsonl.journal && cp j.key o.jsonl.journal.key && cp j.run o.jsonl.run && chmod 600 o.jsonl.journal.key
}
mv o.jsonl first.jsonl
lines=$(wc -l <j)
# All is drawn: nothing may be drawn again, and nothing is left to pay.
begin "$lines"
exits 0 "${run[@]}" -q
same o.jsonl first.jsonl "votes were drawn again"
[ "$(spent)" = 0.024356 ] || fail "charged twice: $(spent)"
# The last counts are in the journal, and some texts behind them are not.
counts=$(awk '$1 == 160 { at = NR } END { print at }' j)
begin $((counts - 5))
sed '7s/text":"/text":"so /' recs.jsonl >other.jsonl
cp recs.jsonl kept.jsonl
cp other.jsonl recs.jsonl
refused 2 "${run[@]}" -q
says err 'the input is not the one this output was begun with'
cp kept.jsonl recs.jsonl
# Noise does not follow from the public seed.
rm -f o.jsonl* o.receipt.json
exits 0 "${small[@]}" -o - -e 1 -N 40 --variations 4 --generations 3 -q
cmp -s out first.jsonl && fail "the same votes in two runs"
# Those that are stopped.
texts=120
short && texts=60
# With a seed a run that is cut anywhere ends in the same bytes.
seeded=("${small[@]}" -e 3 -N 6 --variations 3 --generations 3 --insecure-seed 9 -q)
rm -f o.jsonl*
exits 0 "${seeded[@]}" -o s.jsonl
more=("${small[@]}" -e 3 -N "$texts" --variations 3 --generations 3 --insecure-seed 9 -q)
interrupted KILL k.jsonl.journal 200 "${more[@]}" -o k.jsonl
exits 0 "${more[@]}" -o k.jsonl
exits 0 "${more[@]}" -o whole.jsonl
same k.jsonl whole.jsonl "a run that went on"

# Stopped or killed with a ledger, and gone on: one charge.
exits 0 ledger init --ledger l.db --dataset stopped --epsilon-limit 30
for signal in TERM KILL; do
	stopped=("${small[@]}" -e 1 -N "$texts" --variations 3 --generations 3 -q -o "$signal.jsonl" --ledger l.db --dataset stopped)
	before=$(spent stopped)
	interrupted $signal $signal.jsonl.journal 200 "${stopped[@]}"
	once=$(spent stopped)
	[ "$once" != "$before" ] || fail "a token was drawn before the charge"
	exits 0 "${stopped[@]}"
	[ "$(spent stopped)" = "$once" ] || fail "paid twice: $once, then $(spent stopped)"
	exits 0 receipt verify $signal.receipt.json --output $signal.jsonl --ledger l.db
done

# ---- the records show in the votes alone ---------------------------------------------------------
says s.jsonl '"note":"NOT PRIVATE"'
for way in 'no json' '{"text":"\\n"}' '{"text":7}'; do
	sed "5s/.*/$way/" recs.jsonl >w.jsonl
	exits 0 evolve -n 12 --seed 3 -i w.jsonl -e 3 -N 6 --variations 3 --generations 3 --insecure-seed 9 --progress json -o w.out.jsonl
	sed 's/"seconds[^,}]*//g; s/"[a-z_]*per_second[^,}]*//g' err >w.err
	[ -e w1.jsonl ] || { cp w.out.jsonl w1.jsonl && cp w.err w1.err && cp w.out.receipt.json w1.json; }
	same w.out.jsonl w1.jsonl "one null record and another"
	same w.err w1.err "one null record and another, standard error"
	same w.out.receipt.json w1.json "one null record and another, receipt"
	rm w.out.*
done
# Where no line is an object the run is refused, so one is.
sed '1s/.*/{"text":null}/;2,$s/.*/no json/' recs.jsonl >w.jsonl
exits 0 evolve -n 12 --seed 3 -i w.jsonl -e 3 -N 6 --variations 3 --generations 3 --insecure-seed 9 --progress json -o w.out.jsonl
same <(sed 's/"seconds[^,}]*//g; s/"[a-z_]*per_second[^,}]*//g' err) w1.err "records without any text"

cp recs.jsonl w.jsonl
roomy w.jsonl evolve -n 12 --seed 3 -i w.jsonl -e 3 -N 6 --variations 3 --generations 1 --insecure-seed 9 -q -o -

# ---- other ways ----------------------------------------------------------------------------------
exits 0 evolve -n 12 --seed 3 -i recs.jsonl -e 3 -N 6 --variations 3 --generations 3 --insecure-seed 9 -q -o t.jsonl -t 1 --isa scalar --parallel 2
same t.jsonl s.jsonl "threads, kernels or texts in flight"
printf 'Again: {text}\nSo: ' >again
printf 'A text: ' >first
exits 0 "${small[@]}" -e 3 -N 6 --variations 3 --generations 2 -q -o - --prompt-public first --prompt-variation again
[ "$(wc -l <out)" = 6 ] || fail "own prompts"
exits 0 ledger init --ledger l.db --dataset u --unit-key who --epsilon-limit 3
exits 0 "${small[@]}" -e 0.1 -N 2 --variations 2 --generations 2 -q -o - --ledger l.db --dataset u --unit-key who
four=$(spent u | awk '{ printf "%.6f", $1 / 4 }')
exits 0 "${small[@]}" -e 0.1 -N 2 --variations 2 --generations 2 --dry-run
says out "^charge        rho ${four%?}"
coreless evolve -i - -n 12 -e 1 --insecure-seed 1 -N 2 --variations 2 --generations 1 -q -o -
