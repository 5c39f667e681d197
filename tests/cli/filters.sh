#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests --trim and --drop of `cuttle generate`. It fails if they change what is drawn, charged or
# journalled, if bytes differ with the number of texts in flight or after a kill, if a dropped text
# is lost, if a file of the user's is written over, or if a receipt says other numbers.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
texts=6 tokens=60 limits='600 1500 2500 3500 4500'
short && limits='1500 3000'
references 12
printf 'Q:' >public.txt
printf '{reference}\nQ:' >private.txt
base=(generate -i refs.jsonl -B 2 -N "$texts" -n "$tokens" -q --prompt-public public.txt --prompt-private private.txt -e 10)
run=("${base[@]}" --insecure-seed 3)
all=(--trim sentence --drop 'duplicates,loops')

# Without filters there is nothing new in output or receipt; with them the same texts were drawn.
exits 0 "${run[@]}" -o plain.jsonl --trim none
grep -Eq 'filters|dropped' plain.receipt.json && fail "a run without filters names them"
[ "$(indices plain.jsonl)" = "$(seq -s' ' 0 $((texts - 1)))" ] || fail "indices: $(indices plain.jsonl)"
exits 0 "${run[@]}" -o default.jsonl
says default.receipt.json '"trim": "sentence"'
exits 0 "${run[@]}" -o trim.jsonl --trim sentence
same trim.jsonl default.jsonl "--trim sentence is not the default"
[ ! -e trim.jsonl.dropped.jsonl ] || fail "a file for dropped texts, unasked"

# A model that draws the likeliest token alone writes the same text every time.
alike=(--temperature 0.01 -k 1 -n 60 --clip 0.001)
same_texts=(generate -i refs.jsonl -B 2 -N "$texts" -q --prompt-public public.txt --prompt-private private.txt "${alike[@]}" --insecure-seed 1)
exits 0 "${same_texts[@]}" -o alike.jsonl --trim none
cut -d, -f2 alike.jsonl | sort -u >distinct
[ "$(wc -l <distinct)" = 1 ] || fail "the texts are not the same each time: $(cat alike.jsonl)"
exits 0 "${same_texts[@]}" -o once.jsonl --trim none --drop duplicates
same <(head -1 alike.jsonl) once.jsonl "the first of equal texts is not what is kept"
same <(tail -n +2 alike.jsonl) <(sed 's/,"dropped":"duplicates"//' once.jsonl.dropped.jsonl) "dropped texts are not the others"
says once.receipt.json "\"drawn\": $texts"
says once.receipt.json '"kept": 1'
says once.receipt.json "\"duplicates\": $((texts - 1))"
grep -q '"loops"' once.receipt.json && fail "the receipt names a filter that was not asked for"
exits 0 "${same_texts[@]}" -o once.csv --receipt csv.receipt.json --trim none --drop duplicates
[ "$(wc -l <once.csv)" = 2 ] || fail "CSV: $(cat once.csv)"
same once.csv.dropped.jsonl once.jsonl.dropped.jsonl "CSV has other dropped texts"

# Interrupted, continued, with other numbers in flight: the same bytes in both files.
for limit in $limits; do
	rm -f tight.*
	(prlimit --fsize="$limit" --pid "$BASHPID" && "$CUTTLE" "${same_texts[@]}" -o tight.jsonl --drop duplicates --trim none >out 2>err)
	code=$?
	[ $code = 6 ] || [ $code = 0 ] || fail "exit $code: $(cat err)"
	exits 0 "${same_texts[@]}" -o tight.jsonl --drop duplicates --trim none --parallel 3
	same tight.jsonl once.jsonl "other texts after a stop at $limit bytes"
	same tight.jsonl.dropped.jsonl once.jsonl.dropped.jsonl "other dropped texts after a stop at $limit bytes"
	same tight.receipt.json once.receipt.json "another receipt after a stop at $limit bytes"
done
for flight in 1 2 6; do
	rm -f flight.*
	exits 0 "${same_texts[@]}" -o flight.jsonl --drop duplicates --trim none --parallel $flight
	same flight.jsonl once.jsonl "other texts with $flight in flight"
done
cp once.jsonl.dropped.jsonl before
exits 0 "${same_texts[@]}" -o once.jsonl --drop duplicates --trim none
same once.jsonl.dropped.jsonl before "a complete run changes its dropped texts"
# Another filter is another command.
refused 2 "${same_texts[@]}" -o once.jsonl --drop duplicates
refused 2 "${same_texts[@]}" -o once.jsonl --trim none

# All that is drawn is charged, and the receipt can be checked.
exits 0 ledger init --ledger l --dataset notes --epsilon-limit 90
spent() {
	exits 0 ledger show --ledger l --dataset notes --json
	sed 's/.*"rho_spent":\([^,]*\),.*/\1/' out
}
paid=(generate -i refs.jsonl -B 2 -N "$texts" -q --prompt-public public.txt --prompt-private private.txt "${alike[@]}" --ledger l --dataset notes)
exits 0 "${paid[@]}" -o a.jsonl --trim none
once=$(spent)
exits 0 "${paid[@]}" -o b.jsonl "${all[@]}"
[ "$(wc -l <b.jsonl)" = 1 ] || fail "duplicates are kept: $(cat b.jsonl)"
awk -v once="$once" -v twice="$(spent)" 'BEGIN { exit !(twice > 1.999999 * once && twice < 2.000001 * once) }' ||
	fail "charged $(spent), the first $once"
exits 0 receipt verify b.receipt.json --output b.jsonl --ledger l
says out "5 of the 6 texts drawn are not in the output \(duplicates\)"
says out "0 of the 6 texts drawn are not in the output \(loops\)"
says out '^dropped  not compared'
says out 'not checked:.* dropped_sha256'
exits 0 receipt verify b.receipt.json --dropped b.jsonl.dropped.jsonl
says out '^dropped  these are its bytes$'
grep -q 'not checked:.* dropped_sha256' out && fail "the hash of dropped texts is not called checked"
sed 1d b.jsonl.dropped.jsonl >fewer
refused 7 receipt verify b.receipt.json --dropped fewer
says err 'fewer is not the file of dropped texts of this receipt'
refused 7 receipt verify a.receipt.json --dropped b.jsonl.dropped.jsonl
says err 'this run dropped no texts'
refused 4 receipt verify b.receipt.json --dropped nowhere
edits_noticed b.receipt.json <<-'END'
	s/"trim": "sentence"/"trim": "word"/
	s/"drawn": 6/"drawn": 7/
	s/"drawn": 6/"drawn": 5/
	s/"drawn": 6/"drawn": 5/; s/"duplicates": 5/"duplicates": 4/
	s/"kept": 1/"kept": 6/
	s/"duplicates": 5/"duplicates": 4/
	s/"duplicates": 5/"duplicates": 7/
	s/"loops": 0/"others": 0/
	s/"dropped_sha256"/"drop_sha256"/
	s/"dropped_sha256": "./"dropped_sha256": "x/
	/"dropped_sha256"/d
END
exits 0 receipt verify a.receipt.json --output a.jsonl --ledger l
grep -q 'texts drawn\|sentence\.\|dropped' out && fail "filters that were not asked for are explained"

# Nothing of the user's is written over.
echo mine >x.jsonl.dropped.jsonl
refused 2 "${same_texts[@]}" -o x.jsonl --drop duplicates
says err 'x.jsonl.dropped.jsonl is not this command'
[ "$(cat x.jsonl.dropped.jsonl)" = mine ] || fail "a file of the user's is gone"
exits 0 "${same_texts[@]}" -o x.jsonl
[ "$(cat x.jsonl.dropped.jsonl)" = mine ] || fail "a file of the user's is gone, unasked"
exits 0 "${same_texts[@]}" -o x.jsonl --drop duplicates --overwrite
[ "$(wc -l <x.jsonl.dropped.jsonl)" = $((texts - 1)) ] || fail "--overwrite does not replace it"
cp refs.jsonl y.jsonl.dropped.jsonl
refused 2 "${same_texts[@]}" -i y.jsonl.dropped.jsonl -o y.jsonl --drop duplicates --overwrite
says err 'would overwrite'
refused 2 "${same_texts[@]}" -o - --drop loops
says err 'needs -o FILE'
for wrong in likely '' 'loops,' 'loops,loops'; do refused 2 "${same_texts[@]}" -o z.jsonl --drop "$wrong"; done
refused 2 "${same_texts[@]}" -o z.jsonl --trim word
exits 0 "${same_texts[@]}" -o - --trim sentence

# Texts that the public prompt holds less likely than every example: how many are in flight, where a run
# was stopped, threads and tier do not matter.
for day in a b c d e; do echo "{\"text\":\"The $day of March was cold. $day and $day.\"}"; done >examples.jsonl
scored=(generate -i refs.jsonl -B 1 -N 12 -n 24 -q -e 1 -k 0 --temperature 4 --insecure-seed 5 --public-examples examples.jsonl --drop unlikely)
exits 0 "${scored[@]}" -o u.jsonl
kept=$(wc -l <u.jsonl) gone=$(wc -l <u.jsonl.dropped.jsonl)
[[ $kept -gt 0 && $gone -gt 0 && $((kept + gone)) = 12 ]] || fail "$kept texts are likely, $gone are not"
says u.jsonl.dropped.jsonl '"dropped":"unlikely"}$'
says u.receipt.json "\"unlikely\": $gone"
for way in '--parallel 5 --prompt-chunk 7' "--threads 1 $(short || echo '--isa scalar') --no-sharing"; do
	rm -f w.*
	# shellcheck disable=SC2086
	exits 0 "${scored[@]}" -o w.jsonl $way
	same w.jsonl u.jsonl "$way keeps other texts"
	same w.jsonl.dropped.jsonl u.jsonl.dropped.jsonl "$way drops other texts"
done
for limit in 1500 3000; do
	rm -f w.*
	(prlimit --fsize="$limit" --pid "$BASHPID" && "$CUTTLE" "${scored[@]}" -o w.jsonl >out 2>err)
	exits 0 "${scored[@]}" -o w.jsonl
	same w.jsonl u.jsonl "other texts are likely after a stop at $limit bytes"
	same w.jsonl.dropped.jsonl u.jsonl.dropped.jsonl "other texts are unlikely after a stop at $limit bytes"
done
# Not what the references are: at this clip they change no text, and so no file.
calm=(generate -B 1 -N 12 -n 24 -q --clip 0.0004 -k 0 --temperature 4 --insecure-seed 5 --public-examples examples.jsonl --drop unlikely)
sed 's/Patient/A much longer record, about somebody else entirely, number/' refs.jsonl >others.jsonl
exits 0 "${calm[@]}" -i refs.jsonl -o v.jsonl
exits 0 "${calm[@]}" -i others.jsonl -o w.jsonl --overwrite
[ -s v.jsonl.dropped.jsonl ] || fail "nothing is unlikely"
same v.jsonl w.jsonl "what is kept depends on the references"
same v.jsonl.dropped.jsonl w.jsonl.dropped.jsonl "what is dropped depends on the references"
# Five examples are the least.
head -4 examples.jsonl >four.jsonl
refused 2 "${scored[@]}" -o z.jsonl --public-examples four.jsonl
says err 'at least 5 public examples to compare with, and there are 4'
refused 2 generate -i refs.jsonl -o z.jsonl -B 2 -N 1 -e 1 --drop unlikely
says err 'needs --public-examples FILE'
[ ! -e z.jsonl.journal ] || fail "a refused run has a journal"

pace
exits 0 "${same_texts[@]}" "${all[@]}" --dry-run --bench pace.json
says out '^trim +after the last sentence'
says out '^drop +duplicates, loops$'
exit 0
