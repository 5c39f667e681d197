#!/bin/bash
# What each way to spend better does to text: the tables of bench/SPENDING.md, on standard output. A few minutes of two cores.
# usage: bench/spending.sh DATA-FOLDER      with mts_dialog_sections.jsonl and yelp_dev.jsonl in it
# CUTTLE_MODEL=FILE.gguf; BUILD=build
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(realpath "${1:?usage: bench/spending.sh DATA-FOLDER}")
model=${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}
build=${BUILD:-build}
for file in mts_dialog_sections yelp_dev; do
	[ -r "$data/$file.jsonl" ] || { echo "skipped: $data/$file.jsonl is not there"; exit 0; }
done
make -s "$build/cuttle" "$build/likelihood" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# likelihood FILE KIND
likelihood() {
	printf '\n**%s.** 40 held-out texts, their first 50 tokens, each with a batch of its own.\n\n' "$1"
	printf '| epsilon | spending | T | C | effective k | in V+ | ln P per token | against --center none | free |\n|---|---|---|---|---|---|---|---|---|\n'
	"$build/likelihood" "$model" "$data/$1.jsonl" "$2" 7 100 75 40 50 |
		awk -F'\t' '{ printf "| %s | %s | %s | %s | %s | %.1f %% | %s | %s ± %s | %.0f %% |\n", $1, $2, $3, $4, $5, 100 * $6, $7, $8, $9, 100 * $10 }'
}

# over_alone FILE KIND: the gain of B = 15 references, of a larger clip.
over_alone() {
	printf '\n**%s.** 30 held-out texts, their first 50 tokens, B = 15.\n\n' "$1"
	printf '| epsilon | spending | C | ln P per token | over the public prompt alone |\n|---|---|---|---|---|\n'
	"$build/likelihood" "$model" "$data/$1.jsonl" "$2" 15 100 75 30 50 |
		awk -F'\t' '$2 ~ /center|gain/ && $2 !~ /all/ { printf "| %s | %s | %s | %s | %s ± %s |\n", $1, $2, $4, $7, $11, $12 }'
}

# texts KIND OPTION...: what becomes of ten batches.
texts() {
	local kind=$1
	shift
	rm -f "$work"/out*
	"$build/cuttle" generate -m "$model" -i "$work/refs.jsonl" --public-examples "$work/examples.jsonl" --kind "$kind" -B 7 -N 10 -e 3 \
		-q --insecure-seed 1 --center none --gain 1 -o "$work/out.jsonl" "$@" 2>/dev/null
	sed 's/.*"tokens":\([0-9]*\),"finish":"\([a-z]*\)"\(,"batch":[0-9]*,"free":\)*\([0-9]*\).*/\1 \2 \4/' "$work/out.jsonl" |
		awk -v name="$*" '{ n++; tokens += $1; ended += $2 != "length"; free += $3 }
			END { printf "| %s | %d | %.0f | %d | %d | %d of %d |\n", name, n, tokens / n, tokens - free, free, ended, n }'
}

generation() {
	head -2 "$data/$1.jsonl" >"$work/examples.jsonl"
	sed -n 3,72p "$data/$1.jsonl" >"$work/refs.jsonl"
	printf '\n**%s.** Ten batches at epsilon 3.\n\n' "$1"
	printf '| spending | texts | tokens per text | paid for and used | free | ended by themselves |\n|---|---|---|---|---|---|\n'
	texts "$2" -n 100
	texts "$2" -n 100 --token-bank
	texts "$2" -n 100 --complete
	texts "$2" -n 100 --token-bank --complete
	texts "$2" -n 75 --public-when 0.5
	texts "$2" -n 75 --public-when 0.5 --token-bank --complete
}

likelihood mts_dialog_sections 'clinical note'
likelihood yelp_dev review
over_alone mts_dialog_sections 'clinical note'
over_alone yelp_dev review
generation mts_dialog_sections 'clinical note'
generation yelp_dev review
