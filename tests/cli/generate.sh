#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cuttle generate: output, receipt, the same bytes by every road, refusal, resume after signals, streams, and inputs that are wrong.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_model
texts=3 tokens=6 long=30
short && texts=2 tokens=2 long=8
needed=$((2 * texts))
references $needed
paid=(generate -i refs.jsonl -B 2 -N "$texts" -e 10 --kind note)
run=("${paid[@]}" -n "$tokens" --insecure-seed 1)

exits 0 "${run[@]}" -o out.jsonl
[ "$(wc -l <out.jsonl)" = "$texts" ] || fail "not $texts texts"
[ "$(grep -c '"private":false,"note":"NOT PRIVATE"}$' out.jsonl)" = "$texts" ] || fail "lines are not stamped"
says err 'NOT PRIVATE'
says out.receipt.json '"private": false'
says out.receipt.json "\"output_sha256\": \"$(hash_of out.jsonl)\""
says out.receipt.json "\"model_sha256\": \"$(hash_of "$CUTTLE_MODEL")\""
nothing_left out
cp out.jsonl first.jsonl
cp out.receipt.json first.json

# The same bytes by every road; where the kernels are slow, one short text must do.
one=("${run[@]}" -N 1 -n 4 -q)
exits 0 "${one[@]}" -o one.jsonl
while read -r -a road; do
	rm -f road.*
	exits 0 "${one[@]}" -o road.jsonl "${road[@]}"
	same road.jsonl one.jsonl "${road[*]} gives other bytes"
done <<-'END'
	-t 1
	-t 2
	--isa scalar
	--isa auto
	--prompt-chunk 1
	--prompt-chunk 7
	--prompt-chunk 512
	--no-sharing
	--isa scalar -t 2 --prompt-chunk 7 --no-sharing
END

exits 0 "${run[@]}" -o out.jsonl
says err 'already complete'
while read -r -a other; do
	exits 2 "${run[@]}" -o out.jsonl "${other[@]}"
	says err '--overwrite'
done <<-'END'
	-n 7
	--temperature 1.1
	--insecure-seed 2
END
same out.jsonl first.jsonl "a refused command changed the output"
exits 0 "${run[@]}" -o out.jsonl --insecure-seed 2 --overwrite
cmp -s out.jsonl first.jsonl && fail "another seed gave the same output"
exits 0 "${run[@]}" -o out.jsonl --overwrite
same out.jsonl first.jsonl "the same command gave other bytes"
same out.receipt.json first.json "the same command gave another receipt"

# Streams and CSV.
exits 0 "${run[@]}" -o -
same out first.jsonl "a stream has other bytes"
printf 'text\n' >refs.csv
sed 's/{"text":\(.*\)}/\1/' refs.jsonl >>refs.csv
exits 0 "${run[@]}" -i refs.csv -o - -q --receipt r.json
same out first.jsonl "CSV references give other texts"
[ -s r.json ] || fail "no receipt at --receipt"
"$CUTTLE" "${run[@]}" -i - -o - <refs.jsonl 2>err | cmp -s - first.jsonl || fail "standard input gives other texts"
exits 0 "${run[@]}" -o table.csv
[ "$(head -1 table.csv)" = $'index,text,tokens,finish,private,note\r' ] || fail "CSV header"

# Other prompts.
printf 'A note:\n' >public.txt
printf 'Like this: {reference}\nA note:\n' >private.txt
exits 0 "${one[@]}" -o - --prompt-public public.txt --prompt-private private.txt
exits 0 "${one[@]}" -o - --template instruct --system 'You are a clerk.'
exits 0 "${one[@]}" -o - --public-examples refs.csv

# A reference that is wrong says nothing, and is the null reference wherever it is wrong.
for odd in '' 'not json' '{"text":7}' '{"other":"x"}' '{"text":""}' '{"text":" \n "}'; do
	{ sed 1q refs.jsonl && echo "$odd"; } >odd.jsonl
	exits 0 "${one[@]}" -i odd.jsonl -o - --progress off
	[ -f odd.first ] || { cp out odd.first && cp err err.first; }
	same out odd.first "the null reference '$odd' differs"
	same err err.first "the null reference '$odd' speaks"
done
exits 0 "${one[@]}" -o - --progress off
same err err.first "references that are there speak"

# No core file, from before the first reference is read: here it waits for them.
mkfifo pipe
"$CUTTLE" "${one[@]}" -i - -o - <pipe >out 2>err &
pid=$!
exec 9>pipe
for ((tries = 0; tries < 500; tries++)); do
	[[ $(grep 'core file' /proc/$pid/limits) =~ size\ +0\ +0\  ]] && break
	sleep 0.02
done
exec 9>&-
wait $pid
[ $tries -lt 500 ] || fail "a crash would write the references to disk"

refused 4 "${run[@]}" -o more.jsonl -N $((texts + 1))
says err "$needed records.*$((texts + 1)) x 2 = $((needed + 2))"
refused 4 "${run[@]}" -i /nonexistent -o more.jsonl
refused 4 "${run[@]}" -i . -o more.jsonl
refused 4 "${run[@]}" --public-examples . -o more.jsonl
echo secret,other >bad.csv
refused 4 "${run[@]}" -i bad.csv -o more.jsonl
grep -q secret err && fail "the content of the input is in the error"
refused 2 "${run[@]}" -o .
refused 2 "${run[@]}" -o nowhere/more.jsonl
refused 2 "${run[@]}" -o more.jsonl --receipt .
refused 2 "${run[@]}" -o more.jsonl --receipt nowhere/r.json
refused 2 "${run[@]}" -o more.jsonl -i - --public-examples -
compgen -G 'more*' >/dev/null && fail "a run that did not begin left something"
"$CUTTLE" "${run[@]}" -o - >/dev/full 2>err
[ $? = 1 ] || fail "a full disk under -o - is not noticed"

# A full disk (here: a limit of 400 bytes per file, about 11 tokens of journal) stops the run; with room again the same command ends in the same bytes.
big=("${paid[@]}" -n 8 --insecure-seed 3 -q)
exits 0 "${big[@]}" -o roomy.jsonl
(prlimit --fsize=400 --pid "$BASHPID" && exits 6 "${big[@]}" -o tight.jsonl) || exit 1
says err 'the same command continues'
exits 0 "${big[@]}" -o tight.jsonl
same tight.jsonl roomy.jsonl "other bytes after a full disk"

# Without a seed: the guarantee, and a stop that can be continued.
private=("${paid[@]}" -n "$long" -o p.jsonl --progress json)
"$CUTTLE" "${private[@]}" >out 2>err &
pid=$!
while kill -0 $pid 2>/dev/null && ! grep -q texts_done err; do sleep 0.02; done
kill -TERM $pid 2>/dev/null || true # it may be done already
wait $pid
case $? in
6) says err 'the same command continues' ;;
0) ;;
*) fail "SIGTERM: $(cat err)" ;;
esac
[ -f p.jsonl ] || [ -f p.jsonl.journal ] || fail "nothing to continue from"
exits 0 "${private[@]}"
[ "$(indices p.jsonl)" = "$(seq -s' ' 0 $((texts - 1)))" ] || fail "indices: $(cat p.jsonl)"
grep -q 'NOT PRIVATE' p.jsonl p.receipt.json && fail "a private run is stamped"
says p.receipt.json '"private": true'

exits 0 generate -e 3 -B 7 -n 500 --temperature 1.2 --dry-run --accountant zcdp
says out '^clip .*0\.228'
says out '^epsilon +2\.99[0-9]* \(zCDP\)'
says out '^epsilon +2\.79[0-9]* \(exact composition\)'
says out 'epsilon = 2\.99.*-differential privacy'
exits 0 generate -e 3 -B 7 -n 200 --temperature 1.2 --dry-run
says out '^clip .*0\.384'
says out '^epsilon +2\.99[0-9]* \(exact composition\)'
says out '^epsilon +3\.21[0-9]* \(zCDP\)'
says out 'differential privacy per record|differentially private|-differential privacy'
