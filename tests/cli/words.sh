#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle words`: lists from a model and from vectors, what it refuses, and a model's list in use. It
# fails if a wrong file is taken, if a list depends on the kernels, if a file that stands is replaced, or if
# cuttle perturb does not place an unknown word by its tokens.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

printf '%s\n' 'the 1 0 0.5' 'cat 0.9 0.2 -1' 'Boston 1 1 1' '. . 3 4 5' "don't 0 1 0" 'dog 0.8 0.3 -1e0' 'car -1 0.5 2' >glove.txt
CUTTLE_MODEL_KEPT=$CUTTLE_MODEL
unset CUTTLE_MODEL
exits 0 words --vectors glove.txt -o glove.cw
says out '^glove.cw: 5 words, vectors of 3 numbers, sets of 5 words$'
says out "^sha256 $(sha256sum glove.cw | cut -c1-64)\$"
says err '2 entries were passed over'
exits 0 words --near dog --near 'no such' glove.cw
says out '^dog: cat 0\.[0-9]* '
says out '^no such: not in the list, and no vector$'
refused 2 words --vectors glove.txt -o glove.cw
exits 0 words --vectors glove.txt -o glove.cw --overwrite -V 3 -q
[ -z "$(cat out err)" ] || fail "words -q says something"

# The three formats give one file.
{ echo "5 3"; grep -v '^[B.]' glove.txt; } >w2v.txt
exits 0 words --vectors w2v.txt --format word2vec -o w2v.cw
exits 0 words --vectors glove.txt -o whole.cw
same w2v.cw whole.cw "word2vec text and GloVe"
{
	printf '5 3\n'
	printf 'the \0\0\200\77\0\0\0\0\0\0\0\77\n'
	printf 'cat \146\146\146\77\315\314\114\76\0\0\200\277\n'
	printf "don't \\0\\0\\0\\0\\0\\0\\200\\77\\0\\0\\0\\0\\n"
	printf 'dog \315\314\114\77\232\231\231\76\0\0\200\277\n'
	printf 'car \0\0\200\277\0\0\0\77\0\0\0\100\n'
} >w2v.bin
exits 0 words --vectors w2v.bin --format word2vec-bin -o bin.cw
same bin.cw whole.cw "word2vec binary and GloVe"
printf '%s\n' cat ' dog ' Boston unheard >list.txt
exits 0 words --vectors glove.txt --word-list list.txt -o two.cw
says out '^two.cw: 2 words'

# bad NUMBER REASON: vectors.txt is refused with this line's number.
bad() {
	refused 4 words --vectors vectors.txt -o bad.cw "${@:3}"
	says err "vectors.txt, $1: $2"
	[ ! -e bad.cw ] || fail "a wrong file left bad.cw"
}
printf '%s\n' 'the 1 0' 'cat 1' >vectors.txt && bad 'line 2' 'it has fewer numbers'
printf '%s\n' 'the 1 0' 'cat 1 0x2' >vectors.txt && bad 'line 2' 'a field that should be a number'
printf '%s\n' 'the 1 0' 'cat 1 nan' >vectors.txt && bad 'line 2' 'a field that should be a number'
printf '%s\n' 'the 1 0' 'cat 1 1e99' >vectors.txt && bad 'line 2' 'a number is not finite'
printf '%s\n' 'the 1 0' 'cat 1 2' 'a 0 1' 'the 3 4' >vectors.txt && bad 'line 4' 'its word stood there before'
printf '%s\n' '2 2' 'cat 1 2' 'dog 2 3' >vectors.txt && bad 'line 1' 'a word and one number'
printf '%s\n' 'the 1 0' 'cat 1 2' >vectors.txt && bad 'line 1' 'it should say how many' --format word2vec
printf '%s\n' '1 2' 'cat 1 2' 'dog 2 3' >vectors.txt && bad 'line 3' 'there are more words' --format word2vec
printf '%s\n' '3 2' 'cat 1 2' 'dog 2 3' >vectors.txt
refused 4 words --vectors vectors.txt --format word2vec -o bad.cw
says err 'ends after 2 of 3 words'
head -c 60 w2v.bin >vectors.txt
refused 4 words --vectors vectors.txt --format word2vec-bin -o bad.cw
says err 'ends after 3 of 5 words'
printf '%s\n' 'the 1 0' 'cat 1 0' >vectors.txt
refused 4 words --vectors vectors.txt -o bad.cw
printf '%s\n' 'the 1 0' 'Cat 1 0' >vectors.txt
refused 4 words --vectors vectors.txt -o bad.cw
: >empty
refused 4 words --vectors empty -o bad.cw
refused 4 words --vectors glove.txt --word-list empty -o bad.cw
refused 4 words --vectors /nonexistent -o bad.cw
refused 2 words --vectors glove.txt -o glove.txt
refused 2 words --vectors glove.txt -o nowhere/a.cw
refused 2 words --vectors glove.txt
refused 2 words -o a.cw
refused 2 words --vectors glove.txt -o a.cw -V 200001
refused 2 words glove.cw
refused 2 words --near dog
refused 4 words --near dog glove.txt
refused 4 words --near dog /nonexistent

# A words file that is cut or changed anywhere.
size=$(stat -c %s whole.cw)
for at in 0 17 30 50 120 $((size / 2)) $((size - 1)); do
	head -c "$at" whole.cw >cut.cw
	refused 4 words --near dog cut.cw
	{ head -c "$at" whole.cw; printf '\377'; tail -c +$((at + 2)) whole.cw; } >changed.cw
	refused 4 words --near dog changed.cw
done
{ cat whole.cw; echo; } >long.cw
refused 4 words --near dog long.cw

# A model without words, and the real one: the same file with other kernels and threads.
make_tiny
refused 2 words -m tiny.gguf -o tiny.cw
short && exit 0
CUTTLE_MODEL=$CUTTLE_MODEL_KEPT
need_model
export CUTTLE_MODEL
exits 0 words -o model.cw -V 300
exits 0 words -o whole.cw -V 300 --fragments keep --overwrite
exits 0 words -o again.cw -V 300 --fragments keep -t 1 --isa scalar
same whole.cw again.cw "words with other kernels and threads"
exits 0 words --near people --near hydrocephalus model.cw
says out '^people: '
says out '^hydrocephalus .from its tokens.: water '
refused 2 words -o model.cw -V 300

# A word that is not in the list is perturbed from its tokens where the model is given: with one near
# word and this epsilon the nearest comes out, but for one draw in 10^23.
echo '{"text":"People, hydrocephalus!"}' >docs.jsonl
run=(perturb --words model.cw -i docs.jsonl -k 1 -e 60 -o out.jsonl -q)
unset CUTTLE_MODEL
exits 0 "${run[@]}" -m "$CUTTLE_MODEL_KEPT"
says out.jsonl '"text":"people water","words":2,'
says out.receipt.json "\"model_sha256\": \"$(sha256sum "$CUTTLE_MODEL_KEPT" | cut -c1-64)\""
exits 0 receipt verify out.receipt.json --output out.jsonl --words model.cw -m "$CUTTLE_MODEL_KEPT"
refused 7 receipt verify out.receipt.json -m tiny.gguf
refused 4 "${run[@]}" -m tiny.gguf --overwrite
