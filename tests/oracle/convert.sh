#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hugging Face folders with random weights -> cuttle model convert -> the same tokens and log-probabilities as transformers, 256 tokens a text.
# usage: convert.sh PYTHON_WITH_TRANSFORMERS [CUTTLE [KIND...]]     not part of make test
set -eu
here=$(dirname "$(realpath "$0")")
python=$1 cuttle=$(realpath "${2:-build/cuttle}")
work=$(mktemp -d)
kinds=(llama32 tinyllama mistral qwen2 qwen3 granite smollm3 olmo2 gemma3 phi3 phi4 lfm2)
[ $# -gt 2 ] && kinds=("${@:3}")
trap 'rm -rf "$work"' EXIT
check() { # KIND SIZE WHICH BOUND; STORE and SHARD in the environment
	echo "== $1, $2 weights, stored ${STORE-f32}${SHARD+, in shards}"
	rm -rf "$work/hf"
	"$python" "$here/make_hf.py" "$1" "$2" "$work/hf" 2>/dev/null
	"$cuttle" model convert -i "$work/hf" -o "$work/m.gguf" --type f32 --overwrite
	"$cuttle" score -m "$work/m.gguf" -i "$work/hf/texts.jsonl" -c 256 -o "$work/ours.jsonl" 2>/dev/null
	"$python" "$here/compare_hf.py" "$work/hf/scores.json" "$work/ours.jsonl" "$3" "$4"
}
for kind in "${kinds[@]}"; do
	check "$kind" usual plain 1e-3
	check "$kind" large rounded 1e-3
done
for store in f16 bf16; do
	for kind in "${kinds[@]}"; do STORE=$store check "$kind" usual plain 1e-3; done
	STORE=$store SHARD=300KB check "${kinds[0]}" large rounded 1e-3
done
