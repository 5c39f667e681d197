#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much of a style that all records have, and no public example, texts take up: a table of runs with --shots, each with 20 texts.
# Of these N are drawn from the records, and the others by cuttle expand behind them, for nothing. The records are made here: invented
# messages that all begin "Dear team," and end "Please advise.".
# usage: bench/shots.sh [EPSILON:N:B:R:K:RECORDS[:TEMPERATURE[:OF_EXPAND]]]...
# TEMPERATURE is 0.7 where it is not given; OF_EXPAND, that of the texts of expand, is then the same. Runs with the binary CUTTLE (build/cuttle) and the model CUTTLE_MODEL
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
cd "$root"
cuttle=$(realpath "${CUTTLE:-build/cuttle}")
model=$(realpath "${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ $# -gt 0 ] || set -- 3:4:944:1:0:4000 3:4:236:4:0:4000 3:4:118:8:0:4000 3:4:62:16:0:4000 1:4:500:8:0:16000 1:4:500:8:0:64000

python3 "$root/tools/samples/style.py" 64000 >all.jsonl
cat >public.jsonl <<'END'
{"text": "I ordered a table two weeks ago and it has not come. When will it be here?"}
{"text": "My bill shows a fee that I do not know. Could you look into it and call me back?"}
END
kind="message to customer service"
number() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" drawn.receipt.json | head -1; }
count() { cat "${@:2}" | grep -ciE "$1" || true; }
echo "| epsilon | records | N | B | R | k | clip | gain | drawn: Dear | drawn: advise | of 20: Dear | of 20: advise | minutes |"
echo "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
for run; do
	IFS=: read -r epsilon n b r k records temperature colder <<<"$run"
	head -"$records" all.jsonl >in.jsonl
	rm -f drawn.* more.*
	begun=$(date +%s)
	"$cuttle" generate -q -m "$model" -i in.jsonl -o drawn.jsonl -e "$epsilon" -N "$n" -B "$b" --shots "$r" -k "$k" -n 40 --temperature "${temperature:-0.7}" -c 768 \
		--kind "$kind" --public-examples public.jsonl 2>said || { cat said >&2; exit 1; }
	"$cuttle" expand -q -m "$model" -i drawn.jsonl -o more.jsonl -N $((20 - n)) --seed 1 --kind "$kind" ${colder:+--temperature "$colder"}
	printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %.1f |\n' "$epsilon" "$records" "$n" "$b" "$r" "$k" "$(number clip)" "$(number gain)" \
		"$(count '"text": ?"dear' drawn.jsonl)" "$(count 'please advise' drawn.jsonl)" "$(count '"text": ?"dear' drawn.jsonl more.jsonl)" \
		"$(count 'please advise' drawn.jsonl more.jsonl)" "$(awk -v s=$(($(date +%s) - begun)) "BEGIN { print s / 60 }")"
done
