#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cuttle model verify, convert and quantize: what they write, what they refuse, and that nothing half-written is left.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

# A one-layer model: all zeros, but for norms, which need no values to be read either.
byte_letters() { # the 256 letters of byte-level BPE as JSON members
	local byte extra=256 letter
	for byte in {0..255}; do
		if ((byte >= 33 && byte <= 126 || byte >= 161 && byte <= 172 || byte >= 174)); then letter=$byte; else letter=$((extra++)); fi
		printf '"\\u%04x":%d,' "$letter" "$byte"
	done
}
tensors() { # name shape bytes ...
	local offset=0 comma=
	while [ $# -gt 0 ]; do
		printf '%s"%s.weight":{"dtype":"BF16","shape":[%s],"data_offsets":[%d,%d]}' "$comma" "$1" "$2" $offset $((offset += $3))
		comma=,
		shift 3
	done
}
layer=model.layers.0
mkdir hf
echo '{"architectures":["LlamaForCausalLM"],"hidden_size":32,"intermediate_size":32,"num_hidden_layers":1,"num_attention_heads":2,
"max_position_embeddings":64,"rms_norm_eps":1e-5,"vocab_size":260,"tie_word_embeddings":true}' >hf/config.json
echo "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":true},\"added_tokens\":[{\"id\":256,\"content\":\"<e>\",\"special\":true}],
\"model\":{\"type\":\"BPE\",\"merges\":[\"a b\"],\"vocab\":{$(byte_letters)\"ab\":257}}}" >hf/tokenizer.json
echo '{"eos_token":"<e>","model_max_length":1000000000000000019884624838656}' >hf/tokenizer_config.json
header="{$(tensors model.embed_tokens 260,32 16640 model.norm 32 64 $layer.input_layernorm 32 64 $layer.post_attention_layernorm 32 64 \
	$layer.self_attn.q_proj 32,32 2048 $layer.self_attn.k_proj 32,32 2048 $layer.self_attn.v_proj 32,32 2048 \
	$layer.self_attn.o_proj 32,32 2048 $layer.mlp.gate_proj 32,32 2048 $layer.mlp.up_proj 32,32 2048 $layer.mlp.down_proj 32,32 2048)}"
size=${#header}
{
	printf '%b\0\0\0\0\0\0' "$(printf '\\x%02x\\x%02x' $((size & 255)) $((size >> 8)))"
	printf %s "$header"
	head -c 31168 /dev/zero
} >hf/model.safetensors

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
