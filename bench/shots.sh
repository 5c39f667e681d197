#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much of a style that all records have, and no public example, texts take up: a table of runs with --shots, each with 20 texts.
# Of these N are drawn from the records, and the others by cuttle expand behind them, for nothing. The records are made here: invented
# messages that all begin "Dear team," and end "Please advise.".
# usage: bench/shots.sh [EPSILON:N:B:R:K:RECORDS]...    with the binary CUTTLE (build/cuttle) and the model CUTTLE_MODEL
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
cuttle=$(realpath "${CUTTLE:-build/cuttle}")
model=$(realpath "${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ $# -gt 0 ] || set -- 3:4:944:1:0:4000 3:4:236:4:0:4000 3:4:118:8:0:4000 3:4:62:16:0:4000 1:4:500:8:0:16000 1:4:500:8:0:64000

python3 - <<'PYTHON'
import json, random

random.seed(1)
what = ("the delivery", "my order", "the invoice", "the lamp", "the booking", "a refund", "the chairs", "my account", "the contract", "the printer")
how = ("has not arrived", "is late again", "was sent twice", "shows a wrong total", "came broken", "cannot be opened",
       "was cancelled without notice", "is missing a part")
with open("all.jsonl", "w") as out:
    for _ in range(64000):
        words = f"Dear team, {random.choice(what)} {random.choice(how)}. I wrote about it on {random.randint(1, 28)} May. Please advise."
        print(json.dumps({"text": words}), file=out)
with open("public.jsonl", "w") as out:
    for words in ("I ordered a table two weeks ago and it has not come. When will it be here?",
                  "My bill shows a fee that I do not know. Could you look into it and call me back?"):
        print(json.dumps({"text": words}), file=out)
PYTHON
kind="message to customer service"
number() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" drawn.receipt.json | head -1; }
count() { cat "${@:2}" | grep -ciE "$1" || true; }
echo "| epsilon | records | N | B | R | k | clip | gain | drawn: Dear | drawn: advise | of 20: Dear | of 20: advise | minutes |"
echo "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
for run; do
	IFS=: read -r epsilon n b r k records <<<"$run"
	head -"$records" all.jsonl >in.jsonl
	rm -f drawn.* more.*
	begun=$(date +%s)
	"$cuttle" generate -q -m "$model" -i in.jsonl -o drawn.jsonl -e "$epsilon" -N "$n" -B "$b" --shots "$r" -k "$k" -n 40 --temperature 0.7 -c 768 \
		--kind "$kind" --public-examples public.jsonl 2>said || { cat said >&2; exit 1; }
	"$cuttle" expand -q -m "$model" -i drawn.jsonl -o more.jsonl -N $((20 - n)) --seed 1 --kind "$kind"
	printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %.1f |\n' "$epsilon" "$records" "$n" "$b" "$r" "$k" "$(number clip)" "$(number gain)" \
		"$(count '"text": ?"dear' drawn.jsonl)" "$(count 'please advise' drawn.jsonl)" "$(count '"text": ?"dear' drawn.jsonl more.jsonl)" \
		"$(count 'please advise' drawn.jsonl more.jsonl)" "$(awk -v s=$(($(date +%s) - begun)) "BEGIN { print s / 60 }")"
done
