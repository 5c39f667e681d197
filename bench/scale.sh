#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What shards cost on one machine: processor seconds of a run as one process and as N shards, one after the other; and of opening and merging.
# usage: bench/scale.sh [TEXTS [TOKENS [ROUNDS]]]
# Environment: CUTTLE, CUTTLE_MODEL. For bench/SCALE.md. All numbers of shards take turns, in each round anew. Processor time is what a
# busy machine changes least, and still some: threads of one core get in each other's way.
set -eu
CUTTLE=$(realpath "${CUTTLE:-build/cuttle}")
CUTTLE_MODEL=$(realpath "${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}")
export CUTTLE_MODEL
texts=${1:-16} tokens=${2:-16} rounds=${3:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for i in $(seq "$((texts * 7))"); do echo "{\"text\":\"Patient $i, a gardener, has coughed for a week. Lungs clear. Rest and fluids.\"}"; done >notes.jsonl
options=(-i notes.jsonl -e 10 -B 7 -N "$texts" -n "$tokens" --lots off --insecure-seed 1 -t 2 -q)
TIMEFORMAT='%U %S'
# seconds COMMAND...: processor seconds of a command; what it says is thrown away.
seconds() { { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.2f", $1 + $2 }'; }
all_shards() { for ((i = 0; i < $1; i++)); do "$CUTTLE" generate "${options[@]}" -o RUN --shard "$i/$1"; done; }
echo 'shards,open,generate,merge'
for ((round = 0; round < rounds; round++)); do
	rm -f one.*
	echo "0,0,$(seconds "$CUTTLE" generate "${options[@]}" -o one.jsonl),0"
	for shards in 1 2 4 8; do
		rm -rf RUN out.*
		echo "$shards,$(seconds "$CUTTLE" shard open "${options[@]}" -o RUN --shards $shards),$(seconds all_shards $shards),$(seconds "$CUTTLE" merge RUN -q -o out.jsonl)"
		cmp one.jsonl out.jsonl
	done
done
