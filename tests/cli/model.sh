#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle model verify`, `convert` and `quantize`. It fails if a file is written wrongly, if
# a wrong request is not refused, if a half-written file is left, or if a model in parts is not what
# the whole is.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

small_folder hf
exits 0 model convert -i hf -o m.gguf --type f32
exits 0 model info -m m.gguf --json
says out '"tokenizer": "gpt2/gpt-2"'
says out '"eos": 256'
exits 0 model info -m m.gguf --tensors
[ "$(wc -l <out)" = 11 ] || fail "tensors: $(cat out)"
says out '^blk.0.attn_q.weight	F32	32x32	4096$'
refused 2 model convert -i hf -o m.gguf
says err 'overwrite'
exits 0 model convert -i hf -o m.gguf --type q4_0 --overwrite
exits 0 model info -m m.gguf --tensors
says out '^token_embd.weight	Q8_0	'
says out '^blk.0.attn_q.weight	Q4_0	'
says out '^blk.0.attn_norm.weight	F32	'
refused 5 model quantize -i m.gguf -o q.gguf --type q8_0
exits 0 model convert -i hf -o m.gguf --overwrite
exits 0 model quantize -i m.gguf -o q.gguf --type q8_0
exits 0 model convert -i hf -o c.gguf --type q8_0
cp q.gguf q8.gguf
exits 0 model info -m q.gguf --tensors
cp out first
exits 0 model info -m c.gguf --tensors
same out first "quantised twice and once"

exits 0 model quantize -i m.gguf -o q.gguf --type q4_k --overwrite
says err '^cuttle model: blk.0.ffn_up.weight: rows of 32 are not whole blocks of q4_k, kept as q4_1$'
says err '^cuttle model: token_embd.weight: rows of 32 are not whole blocks of q6_k, kept as q8_0$'
exits 0 model info -m q.gguf --tensors
says out '^token_embd.weight	Q8_0	'
says out '^blk.0.attn_q.weight	Q4_1	'

sum=$(hash_of m.gguf)
exits 0 model verify m.gguf
says out "^$sum  m.gguf$"
exits 0 model verify --sha256 "${sum^^}" m.gguf
refused 5 model verify --sha256 "${sum//[0-9]/0}" m.gguf
refused 2 model verify --sha256 12 m.gguf
refused 4 model verify absent.gguf

# A model in parts is one model: every verb is given the first part.
"$(dirname "$CUTTLE")/tests/gen_split" m.gguf p 3 || fail "no model in parts: make tests"
first=p-00001-of-00003.gguf
exits 0 model info -m $first --tensors
cp out parts
exits 0 model info -m m.gguf --tensors
same out parts "the tensors of the whole and of its parts"
exits 0 model info -m $first
says out "^file  *$(cat p-*.gguf | wc -c) bytes"
exits 0 model verify $first --sha256 "$(cat p-*.gguf | sha256sum | cut -c -64)"
exits 0 model quantize -i $first -o y.gguf --type q8_0
same y.gguf q8.gguf "what is quantised of a whole and of its parts"
echo '{"text": "abcab"}' >text.jsonl
exits 0 score -m m.gguf -i text.jsonl
cp out scores
exits 0 score -m $first -i text.jsonl
same out scores "the scores of the whole and of its parts"
refused 2 score -m $first -i text.jsonl -o p-00003-of-00003.gguf
says err 'would overwrite'
refused 2 model quantize -i $first -o p-00002-of-00003.gguf --type q8_0 --overwrite
says err 'would overwrite'
refused 5 model info -m p-00002-of-00003.gguf
says err 'part 2 of 3.*-00001-of-00003.gguf$'
mv p-00003-of-00003.gguf away
for verb in "model info -m" "model info --tensors -m" "score -i text.jsonl -m"; do
	# shellcheck disable=SC2086
	refused 5 $verb $first
	says err 'part 3 of 3, p-00003-of-00003.gguf: No such file'
done
refused 4 model verify $first
says err 'part 3 of 3, p-00003-of-00003.gguf: No such file'

refused 2 model convert -i hf
refused 2 model quantize -i m.gguf -o x.gguf
refused 2 model frobnicate
refused 5 model convert -i absent -o x.gguf
refused 5 model quantize -i hf/config.json -o x.gguf --type q8_0
refused 5 model info --tensors -m hf/config.json
cp -r hf short
truncate -s -1 short/model.safetensors
refused 5 model convert -i short -o x.gguf
[ "$(echo x.gguf*)" = 'x.gguf*' ] || fail "something is left: $(echo x.gguf*)"
(ulimit -f 16 && "$CUTTLE" model convert -i hf -o x.gguf --type f32 >out 2>err)
[ $? = 1 ] || fail "a full disk is not noticed"
says err 'cannot write x.gguf'
[ "$(echo x.gguf*)" = 'x.gguf*' ] || fail "something is left: $(echo x.gguf*)"
