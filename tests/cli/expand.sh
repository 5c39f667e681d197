#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle expand`. It fails if a text does not name its parents, or has one of another category or
# one that a filter dropped; if a receipt that does not hold, or of another output, is accepted; if texts
# depend on how many are asked for, on texts in flight, on the tier, or on where a run was stopped; if a
# seed that was drawn is not the receipt's; or if the new receipt promises anything else than the parent's.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite

for i in $(seq 1 40); do
	genre=sea
	[ $((i % 3)) != 0 ] || genre=hill
	echo "{\"text\":\"Patient $i, a gardener.\",\"genre\":\"$genre\"}"
done >refs.jsonl
parent=(generate -i refs.jsonl -B 1 -N 12 -n 12 -q --lots off -e 5 --category-public --category-field genre --categories 'sea,hill')
exits 0 "${parent[@]}" -o o.jsonl
expand=(expand -i o.jsonl --receipt o.receipt.json -q)

# Four parents each, or a few less where drawn texts are so long that no more fit, ascending, of the line's own category: sea has texts 0 to 5,
# hill 6 to 11.
# parents_fit FILE LEAST: so it is, and of each category there are at least LEAST lines.
parents_fit() {
	sed -E 's/.*"parents":\[([0-9,]*)\],"genre":"([a-z]*)".*/\2 \1/' "$1" | awk -v least="$2" '
		{ n = split($2, p, ","); if (n < 2 || n > 4) exit 1; whole += n == 4
		  for (i = 1; i <= n; i++) if (i > 1 && p[i] <= p[i - 1] || ($1 == "sea") != (p[i] < 6) || p[i] > 11) exit 1
		  seen[$1]++ } END { exit !(whole > 0 && seen["sea"] >= least && seen["hill"] >= least) }' || fail "parents: $(cat "$1")"
}
exits 0 "${expand[@]}" -N 30 --seed 7 -o m.jsonl
[ "$(indices m.jsonl)" = "$(seq -s' ' 0 29)" ] || fail "indices: $(indices m.jsonl)"
parents_fit m.jsonl 5
[ "$(sed 's/.*"text":"//; s/","tokens".*//' m.jsonl | sort -u | wc -l)" -gt 20 ] || fail "texts are alike: $(cat m.jsonl)"
cmp -s o.jsonl.journal m.jsonl.journal && fail "a journal is left"
nothing_left m.jsonl

# Texts follow from seed and number alone.
exits 0 "${expand[@]}" -N 12 --seed 7 -o - --parallel 3 --isa scalar --threads 1
same out <(head -12 m.jsonl) "12 texts are not the first of 30"
cp out first
exits 0 "${expand[@]}" -N 12 --seed 8 -o - --parallel 1 --prompt-chunk 5
cmp -s out first && fail "the seed changes nothing"
# Another temperature: the receipt has it, the texts are others, and the same one changes nothing.
of_run=$(sed -nE 's/^ *"temperature": ([0-9.]+),?$/\1/p' o.receipt.json)
exits 0 "${expand[@]}" -N 12 --seed 7 -o - --temperature "$of_run"
cmp -s out first || fail "the run's own temperature changes texts"
exits 0 "${expand[@]}" -N 12 --seed 7 -o warm.jsonl --temperature 1.7
cmp -s warm.jsonl first && fail "the temperature changes nothing"
[ "$(sed -nE 's/^ *"temperature": ([0-9.]+),?$/\1/p' warm.receipt.json)" = 1.7 ] || fail "receipt: $(cat warm.receipt.json)"
exits 0 receipt verify warm.receipt.json --output warm.jsonl --parent o.receipt.json
refused 2 "${expand[@]}" -N 12 -o x.jsonl --temperature 0.0001
says err 'too far below'
exits 0 "${expand[@]}" -N 12 --seed 7 -o m.csv --own-receipt csv.receipt.json
[ "$(head -1 m.csv | tr -d '\r"')" = index,text,tokens,finish,parents,genre ] || fail "CSV begins with $(head -1 m.csv)"
same <(sed -nE 's/.*,(length|eos|stop),"([0-9 ]*)","([a-z]*)".*/\2 \3/p' m.csv) \
	<(sed -E 's/.*"parents":\[([0-9,]*)\],"genre":"([a-z]*)".*/\1 \2/; s/,/ /g' first) "CSV has other parents"
exits 0 "${expand[@]}" -N 30 --seed 7 -o m.jsonl
! grep 'already complete' err || fail "-q says what is no error"
exits 0 "${expand[@]/%-q/--progress=off}" -N 30 --seed 7 -o m.jsonl
says err 'm.jsonl is already complete'
# One that was drawn: the receipt has it, and it draws the same again, also after a stop.
for limit in 400 1500; do
	rm -f d.*
	(prlimit --fsize="$limit" --pid "$BASHPID" && "$CUTTLE" "${expand[@]}" -N 12 -o d.jsonl >out 2>err)
	code=$?
	[ $code = 6 ] || fail "exit $code after $limit bytes: $(cat err)"
	exits 0 "${expand[@]}" -N 12 -o d.jsonl --parallel 2
	seed=$(sed -n 's/.*"seed": \([0-9]*\),.*/\1/p' d.receipt.json)
	exits 0 "${expand[@]}" -N 12 --seed "$seed" -o -
	same out d.jsonl "the receipt's seed draws other texts after a stop at $limit bytes"
done

# The receipt is the parent's, and says so; nothing is charged.
says m.receipt.json '"mechanism": "expand"'
says m.receipt.json '"guarantee": "Post-processing: these 30 texts .* cost nothing.*-differential privacy per record'
for member in epsilon delta unit adjacency rho; do
	same <(grep "^  \"$member\"" m.receipt.json) <(grep "^  \"$member\"" o.receipt.json) "its $member is not the parent's"
done
says m.receipt.json "\"receipt_sha256\": \"$(sha256sum <o.receipt.json | cut -d' ' -f1)\""
says m.receipt.json "\"output_sha256\": \"$(sha256sum <o.jsonl | cut -d' ' -f1)\""
exits 0 receipt verify m.receipt.json --output m.jsonl --parent o.receipt.json
says out '^parent +this is its receipt, which holds$'
says out 'No record was read for it'
exits 0 receipt verify m.receipt.json
says out '^parent +not compared'
says out '^not checked:.* epsilon'
edits_noticed m.receipt.json <<-'END'
	s/"texts": 30/"texts": 31/
	s/Post-processing/Pre-processing/
	s/"kept": 30/"kept": 29/
	s/"private": true/"private": false/
	s/"epsilon": 4/"epsilon": 3/
	s/"delta": [0-9.e-]*/"delta": 1e-9/
	s/"unit_key": null/"unit_key": "who"/
	s/at most e^[0-9.]*/at most e^0.1/g
	s/"mechanism": "expand"/"mechanism": "words"/
END
sed 's/"epsilon": 4/"epsilon": 3/' m.receipt.json >edited.json
refused 7 receipt verify edited.json
says err "its parent's sentence does not follow from epsilon, delta and unit_key"
# What its parent's sentence does not say only the parent shows.
sed 's/"unit_weight": 1/"unit_weight": 2/' m.receipt.json >edited.json
exits 0 receipt verify edited.json
refused 7 receipt verify edited.json --parent o.receipt.json
refused 7 receipt verify o.receipt.json --parent o.receipt.json
says err 'expanded no other output'

# Of lots the parent's sentence has its own form, in each kind of run, and no other words behind it.
by_lot() { # NAME SENTENCE OPTION...
	local name=$1 words=$2
	exits 0 generate -i lot.jsonl -B 2 -N 20 -n 12 -q -e 3 --trim none -o "$name.jsonl" "${@:3}"
	exits 0 expand -i "$name.jsonl" -o "more.$name.jsonl" -N 2 -n 6 -q
	exits 0 receipt verify "more.$name.receipt.json" --parent "$name.receipt.json"
	says "more.$name.receipt.json" "lots nobody saw: $words"
	local edits
	for edits in 's/( at delta [0-9.e-]+[0-9])\./\1. Nobody ever sees more./' 's/(nobody saw: )/\1Trust me. /' 's/( were used\.)/ or so\1/' \
		's/, epsilon is [0-9.]+ at delta/, epsilon is 0.1 at delta/' 's/( at delta )[0-9.e-]+[0-9]\./\11e-09./' \
		's/(nobody saw: [a-z ]*)[0-9]+/\1999/' 's/Against who/Even against who/' 's/( at delta [0-9.e-]+)\./\1/'; do
		sed -E "$edits" "more.$name.receipt.json" >edited.json
		cmp -s edited.json "more.$name.receipt.json" && fail "$edits changes nothing in $name"
		refused 7 receipt verify edited.json
		says err "its parent's sentence does not follow"
	done
}
for i in $(seq 200); do echo "{\"text\":\"note $i\",\"kind\":\"$([ $((i % 2)) = 0 ] && echo sea || echo land)\",\"who\":$i}"; done >lot.jsonl
by_lot whole '20 of 100 batches were used. Against who knows a' --lots on
by_lot kinds 'of the batches of each category at most [0-9]+ in [0-9]+' --category-field kind --categories sea,land
by_lot persons 'of the batches at most [0-9]+ in 100 were used. Against who knows the batch of a value of who,' --lots on --unit-key who --one-per-unit

# A receipt that does not hold, or of another output, draws nothing.
none() {
	refused "$@" -o n.jsonl
	[ -z "$(find . -name 'n.*')" ] || fail "files are there: $(echo n.*)"
}
exits 0 "${parent[@]}" -o p.jsonl
none 7 "${expand[@]}" --receipt p.receipt.json
says err 'o.jsonl is not the output that p.receipt.json is the receipt of, or was changed'
(cat o.jsonl && tail -1 p.jsonl) >longer.jsonl
none 7 expand -i longer.jsonl --receipt o.receipt.json -q
sed 's/"epsilon": 4/"epsilon": 3/' o.receipt.json >edited.json
none 7 "${expand[@]}" --receipt edited.json
none 4 expand -i m.jsonl -q
says err 'not a receipt of cuttle generate'
none 4 expand -i o.jsonl --receipt nowhere -q
none 2 "${expand[@]}" -n 500
none 2 "${expand[@]}" --chat-format chatml
none 2 "${expand[@]}" --drop nothing
refused 2 "${expand[@]}" -o - --drop loops
refused 2 "${expand[@]}" -o o.receipt.json --overwrite
refused 2 "${expand[@]}" -o x.jsonl --own-receipt o.jsonl --overwrite
echo mine >x.jsonl
refused 2 "${expand[@]}" -o x.jsonl
[ "$(cat x.jsonl)" = mine ] || fail "a file of the user's is written over"

# Filters ask about the kept texts first. All of these are equal, so one alone is shown, and an equal new one is dropped.
printf 'Q:' >public.txt
printf '{reference}\nQ:' >private.txt
exits 0 generate -i refs.jsonl -B 1 -N 5 -n 20 -q --clip 0.001 --temperature 0.01 -k 1 --prompt-public public.txt \
	--prompt-private private.txt -o e.jsonl --trim none
again=(expand -i e.jsonl -N 9 --seed 1 -q --prompt-public public.txt --trim none)
exits 0 "${again[@]}" -o f.jsonl
says f.jsonl '"parents":\[[0-4],[0-4],[0-4],[0-4]\]'
exits 0 "${again[@]}" -o g.jsonl --drop 'duplicates,loops'
grep -hv '"parents":\[0\]' g.jsonl g.jsonl.dropped.jsonl && fail "a kept text that a filter drops is a parent"
[ "$(cat g.jsonl g.jsonl.dropped.jsonl | wc -l)" = 9 ] || fail "texts are lost"
says g.receipt.json '"drawn": 9'
exits 0 receipt verify g.receipt.json --dropped g.jsonl.dropped.jsonl --output g.jsonl
says out '^dropped  these are its bytes$'
refused 7 receipt verify g.receipt.json --dropped g.jsonl
exits 0 "${parent[@]}" -o s.jsonl --insecure-seed 3
exits 0 expand -i s.jsonl -N 60 --seed 7 -q -o w.jsonl
exits 0 expand -i s.jsonl -N 60 --seed 7 -q -o u.jsonl --drop unlikely
says u.receipt.json "\"unlikely\": $(wc -l <u.jsonl.dropped.jsonl)"
[[ -s u.jsonl && $(wc -l <u.jsonl) -lt 60 ]] || fail "$(wc -l <u.jsonl) of 60 texts are likely"
same <(sed 's/,"dropped":"unlikely"//' u.jsonl.dropped.jsonl | cat - u.jsonl | sort) <(sort w.jsonl) "other texts were drawn"

# Texts that are not private stay so.
exits 0 expand -i s.jsonl -N 3 -q -o t.jsonl
says err '^NOT PRIVATE'
[ "$(grep -c '"private":false,"note":"NOT PRIVATE"}$' t.jsonl)" = 3 ] || fail "not stamped: $(cat t.jsonl)"
refused 4 receipt verify t.receipt.json
exit 0
