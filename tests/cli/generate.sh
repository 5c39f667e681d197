#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate`: output, receipt, other prompts, streams, progress, and inputs that are
# wrong. It fails if two ways to the same texts give different bytes, if a run stopped by a signal
# or a full disk does not resume, or if a wrong request is not refused.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_model
real=$CUTTLE_MODEL
texts=3 tokens=6 long=150
short && texts=2 tokens=2 long=40
needed=$((2 * texts))
references $needed
pace
paid=(generate -i refs.jsonl -B 2 -N "$texts" -e 10 --kind note)
run=("${paid[@]}" -n "$tokens" --insecure-seed 1)
one=("${run[@]}" -N 1 -n 4 -q)

# The same bytes by every road. One text of short prompts must do, since kernels in plain C are slow: by day they have the tiny model, and
# the real one the quickest way.
printf 'A short note, as a nurse writes it:\n' >public.txt
printf 'Like this: {reference}\nA note:\n' >private.txt
road=("${one[@]}" -B 1 -n 3 --prompt-public public.txt --prompt-private private.txt)
roads() { # each line of standard input is a way
	exits 0 "${road[@]}" -o way.jsonl --overwrite
	while read -r -a by; do
		rm -f road.*
		exits 0 "${road[@]}" -o road.jsonl "${by[@]}"
		same road.jsonl way.jsonl "${by[*]} gives other bytes"
	done
}
short || roads <<-'END'
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
exits 0 "${run[@]}" -o real.jsonl
short && echo '-t 1 --prompt-chunk 7 --no-sharing' | roads
says real.receipt.json "\"model_sha256\": \"$(hash_of "$real")\""

# From here on the tiny model, which is there at once: nothing below depends on what is written.
need_tiny finite
roads <<-'END'
	-t 1
	--isa scalar
	--prompt-chunk 1
	--prompt-chunk 512
	--no-sharing
	--isa scalar -t 2 --prompt-chunk 7 --no-sharing
END
exits 0 "${run[@]}" -o out.jsonl
[ "$(wc -l <out.jsonl)" = "$texts" ] || fail "not $texts texts"
[ "$(grep -c '"private":false,"note":"NOT PRIVATE"}$' out.jsonl)" = "$texts" ] || fail "lines are not stamped"
says err 'NOT PRIVATE'
says out.receipt.json '"private": false'
says out.receipt.json "\"output_sha256\": \"$(hash_of out.jsonl)\""
says out.receipt.json "\"model_sha256\": \"$(hash_of tiny.gguf)\""
nothing_left out
cp out.jsonl first.jsonl
cp out.receipt.json first.json

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
# A receipt has the day on which its command began; another day makes no other command, nor does another name of the data set.
says out.receipt.json '"date": "2023-11-14"'
says out.receipt.json '"dataset": null'
before=$(date -u +%F)
(unset SOURCE_DATE_EPOCH && exits 0 "${one[@]}" -o dated.jsonl --dataset 'ward 7') || exit 1
says dated.receipt.json "\"date\": \"($before|$(date -u +%F))\""
says dated.receipt.json '"dataset": "ward 7"'
exits 0 "${one[@]}" -o dated.jsonl --dataset other
! grep 'already complete' err || fail "-q says what is no error"
exits 0 "${one[@]/%-q/--progress=off}" -o dated.jsonl --dataset other
says err 'already complete'
for bad in '' x -1 1.5 253402300800; do SOURCE_DATE_EPOCH=$bad refused 2 "${run[@]}" -o out.jsonl; done
for bad in '' $'a\nb' $'\xff' "$(printf '%0129d' 0)"; do refused 2 "${run[@]}" -o out.jsonl --dataset "$bad"; done

# Streams and CSV.
exits 0 "${run[@]}" -o -
same out first.jsonl "a stream has other bytes"
printf 'text\n' >refs.csv
sed 's/{"text":\(.*\)}/\1/' refs.jsonl >>refs.csv
exits 0 "${run[@]}" -i refs.csv -o - -q --receipt r.json
same out first.jsonl "CSV references give other texts"
says r.json "\"output_sha256\": \"$(hash_of out)\""
"$CUTTLE" "${run[@]}" -i - -o - <refs.jsonl 2>err | cmp -s - first.jsonl || fail "standard input gives other texts"
exits 0 "${run[@]}" -o table.csv
[ "$(head -1 table.csv)" = $'index,text,tokens,finish,private,note\r' ] || fail "CSV header"

# Other prompts.
exits 0 "${one[@]}" -o - --prompt-public public.txt --prompt-private private.txt
exits 0 "${one[@]}" -o - --template instruct --system 'You are a clerk.'
# Without --system it is what the model's own template says; an empty one is none.
smollm='You are a helpful AI assistant named SmolLM, trained by Hugging Face'
exits 0 "${one[@]}" -m "$real" -o - --template instruct --system "$smollm" --dry-run --bench pace.json
grep '^template ' out >given
exits 0 "${one[@]}" -m "$real" -o - --template instruct --dry-run --bench pace.json
grep '^template ' out >own
same own given "the template's own system message"
exits 0 "${one[@]}" -m "$real" -o - --template instruct --system '' --dry-run --bench pace.json
grep -q "$(cat own)" out && fail "an empty system message is the template's own"
exits 0 "${one[@]}" -m "$real" -o - --template instruct --chat-format chatml --dry-run --bench pace.json
grep -q "$(cat own)" out && fail "a format that was named has the template's system message"
printf 'text\nA calm night.\n' >examples.csv
exits 0 "${one[@]}" -o - --public-examples examples.csv

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

coreless "${one[@]}" -i - -o -

refused 4 "${run[@]}" -o more.jsonl -N $((texts + 1))
says err "$needed records.*$((texts + 1)) x 2 = $((needed + 2))"
refused 4 "${run[@]}" -i /nonexistent -o more.jsonl
refused 4 "${run[@]}" -i . -o more.jsonl
refused 4 "${run[@]}" --public-examples . -o more.jsonl
# Examples whose text has another field: the option that names it is told.
printf '{"note":"a"}\n' >other.jsonl
printf 'Text\na\n' >capital.csv
printf 'note\na\n' >other.csv
while read -r file says; do
	refused 4 "${run[@]}" --public-examples "$file" -o more.jsonl
	says err "$says"
done <<-'END'
	other.jsonl has no text in its field text: .*; name it with --examples-field$
	capital.csv has no column text, but Text: give --examples-field 'Text', as capitals count$
	other.csv has no column text: name it with --examples-field$
END
rm other.jsonl capital.csv other.csv
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
SOURCE_DATE_EPOCH=1700086400 exits 0 "${big[@]}" -o tight.jsonl
says tight.receipt.json '"date": "2023-11-15"'
same tight.jsonl roomy.jsonl "other bytes after a full disk"

# Without a seed: the guarantee, and a stop that can be continued.
private=("${paid[@]}" -n "$long" -o p.jsonl --progress json)
: >err
"$CUTTLE" "${private[@]}" >out 2>err &
pid=$!
soon grep -q texts_done err
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

# Where epsilon allows a larger clip than the weights hold, theirs is taken, and what it comes to is told.
exits 0 generate -e 10 -B 255 -n 100 -c 512 --gain 1 --dry-run --bench pace.json
says out '^clip +31\.88'
says out '^epsilon +6\.29[0-9]* \(exact composition\)'
says out 'hold no clip above 31\.88.* less than the 10 asked for'
says out 'epsilon = 6\.29.*-differential privacy'
exits 0 generate -e 10 -B 31 -n 4 --dry-run --bench pace.json
says out 'hold no clip above'
exits 0 generate -m tiny.gguf -e 10 -B 4096 -n 100 -c 256 --dry-run --bench pace.json --accountant zcdp
says out '^epsilon +0\.31[0-9]* \(zCDP\)'
refused 2 generate --clip 32 -B 255 -n 100 -c 512 --dry-run --bench pace.json
says err 'must lie between 0\.0003 and 31\.88'
if ! short; then
	exits 0 generate -m "$real" -e 3 -B 7 -n 500 --temperature 1.2 --dry-run --bench pace.json --accountant zcdp
	says out '^clip .*0\.228'
	says out '^epsilon +2\.99[0-9]* \(zCDP\)'
	says out '^epsilon +2\.79[0-9]* \(exact composition\)'
	says out 'epsilon = 2\.99.*-differential privacy'
	exits 0 generate -e 10 -B 127 -n 100 --dry-run --bench pace.json
	grep -q 'hold no clip' out && fail "a clip that fits is called capped"
	exits 0 generate --clip 31.88 -B 255 -n 4 -c 512 --dry-run --bench pace.json
	grep -q 'hold no clip' out && fail "a clip that was asked for is called capped"
	seq 255 | sed 's/.*/{"text":"note &"}/' >crowd.jsonl
	exits 0 generate -i crowd.jsonl -o crowd.out.jsonl -e 10 -N 1 -B 255 -n 2 -c 512
	says err 'hold no clip above'
	exits 0 receipt verify crowd.out.receipt.json --output crowd.out.jsonl
fi
exits 0 generate -m "$real" -e 3 -B 7 -n 200 --temperature 1.2 --dry-run --bench pace.json
says out '^clip .*0\.384'
says out '^epsilon +2\.99[0-9]* \(exact composition\)'
says out '^epsilon +3\.21[0-9]* \(zCDP\)'
says out 'differential privacy per record|differentially private|-differential privacy'
# 100 texts of 8 contexts: (200 + 400 + some tokens of prompt) / 1000 seconds each, 480 and some.
says out '^time +about [89] minutes if references have 400 tokens, more than [0-9.]+ (minutes|hours) if each has [0-9]+$'
says out '^likely time +give --reference-tokens R'
exits 0 generate -m "$real" -e 3 -B 7 -n 200 --temperature 1.2 --dry-run --bench pace.json --accountant zcdp
whole=$(sed -n 's/^time .*more than //p' out) command=$(grep '^command' out)
# With the usual length it is the likely time: (200 + 98 + some) / 1000 seconds each, 238 and some.
exits 0 generate -m "$real" -e 3 -B 7 -n 200 --temperature 1.2 --dry-run --bench pace.json --accountant zcdp --reference-tokens 98
says out "^time +about [45] minutes if references have 98 tokens, more than $whole\$"
[ "$(grep '^command' out)" = "$command" ] || fail "the usual length is part of the command"
grep -q '^likely' out && fail "the usual length is asked for though it was given"
exits 0 generate -m "$real" -e 3 -B 7 -n 200 --temperature 1.2 --dry-run --bench pace.json --accountant zcdp --reference-tokens 99999999
says out "^time +about ${whole/ if each has/ if references have} tokens\$"
says out "^memory +at most [0-9.]+ GB of this machine's [0-9.]+ GB"
says out '^measured +by cuttle bench, in pace\.json$'
refused_after() { # says something, then ends with one line of error
	exits "$@"
	[ "$(wc -l <err)" = 1 ] || fail "cuttle ${*:2}: not one line of error: $(cat err)"
}
echo '{"model":{"file_bytes":7},"runs":[{"batch":7,"prompt":4,"prompt_tokens_per_s":9,"rows_per_s":9}]}' >other.json
refused_after 4 generate -q -e 3 -n 20 --dry-run --bench other.json
says err 'other\.json: measured with another model'
refused_after 4 generate -q -e 3 -n 20 --dry-run --bench absent.json
# Measured here: a few seconds, and no more said about records than that they are too few.
exits 0 generate -e 3 -B 2 -n 8 -N 1 --dry-run -i refs.jsonl
says out '^time +about [0-9]+ (seconds|minutes) if references have 400 tokens'
says out "^memory +at most [0-9.]+ GB of this machine's [0-9.]+ GB"
says out '^opening +the model took [0-9.]+ seconds now, and the time begins with that$'
says out '^measured +now, on [0-9]+ threads, with B = 2: [0-9]+ prompt tokens and [0-9]+ rows of steps a second$'
refused_after 4 generate -q -e 3 -B 2 -n 8 -N 1000 --dry-run -i refs.jsonl --bench pace.json
says err 'refs\.jsonl has [0-9]+ records, but N x B = 1000 x 2 = 2000 are needed'
says out '^measured'
refused_after 4 generate -q -e 3 -n 8 --dry-run -i absent.jsonl --bench pace.json

# Progress: on a terminal what is happening, and how fast; in what may be a log neither, as both tell how long the references are.
exits 0 "${paid[@]}" -n 4 -o log.jsonl --overwrite
says err "^$texts texts to write"
says err "^$texts of $texts texts, [0-9]+ tokens drawn$"
grep -Eq 'tokens/s|reading|left' err && fail "a log says how long things take: $(cat err)"
if ! script -qec true /dev/null >pseudo 2>&1 </dev/null; then
	echo "skipped in part: ${0##*/}: no pseudo-terminal can be made here, so nobody sees what a terminal is told: $(cat pseudo)"
else
	script -qec "$(printf '%q ' "$CUTTLE" "${paid[@]}" -n 4 -o living.jsonl)" /dev/null >out </dev/null
	says out 'tokens 0 .* reading the references of text 1 \([0-9]+ s\)'
	says out "texts $texts/$texts  tokens [0-9]+  [0-9.]+ tokens/s"
fi
# Continued: what was there is told in one line, and is no part of this run's tokens.
many=("${paid[@]}" -N 3 -B 1 -n 10 --parallel 1 --insecure-seed 1 -o many.jsonl)
(prlimit --fsize=520 --pid "$BASHPID" && exits 6 "${many[@]}" -q) || exit 1
before=$(wc -l <many.jsonl.part-*)
exits 0 "${many[@]}"
says err "^$before of 3 texts were there already$"
drawn=$(awk -F'"tokens":' '{ sum += $2 + 0 } END { print sum }' many.jsonl)
now=$(sed -n 's/^3 of 3 texts, \([0-9]*\) tokens drawn$/\1/p' err)
[ "$now" -lt "$drawn" ] || fail "a continued run drew $now of $drawn tokens: $(cat err)"
