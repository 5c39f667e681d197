#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The setting of InvisibleInk's Table 2 (arXiv 2507.02974) for its Yelp reviews, as one command: texts of InvisibleInk at epsilon 1, 3, 5 and
# 10, delta 1e-6, from 7 references each of one business category and number of stars, which count as public; temperature 1.2, k 50; 500
# texts of at most 200 tokens. Then `cuttle evaluate` against held-out reviews, and a table with errors.
# What differs from the paper: the gain and the centre of clipping (cuttle's defaults; GENERATE="--gain 1 --center none" has the paper's), the model, the prompts (cuttle's own), the vectors of MAUVE (the model's, not all-mpnet-base-v2), and what
# perplexity is under (the model, not GPT-2). So compare rows, and not with the paper's numbers.
# usage: bench/tables.sh YELP_DEV.jsonl FOLDER [TEXTS [TOKENS]]      default 500 200; for a short run: 10 40
# FOLDER keeps what was made. A stopped command goes on, text by text; one that ended prints its table again.
# Environment: CUTTLE (default build/cuttle), CUTTLE_MODEL (default the demo's), EPSILONS (default "1 3 5 10"), K (default 50; "50 0" has the
# table's k = |V|, too), B (default 7), TEMPERATURE (default 1.2), GENERATE (more options of generate).
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2 && exit 2; }
data=$1 folder=$2 texts=${3:-500} tokens=${4:-200}
root=$(dirname "$0")/..
cuttle=${CUTTLE:-$root/build/cuttle} model=${CUTTLE_MODEL:-$root/models/SmolLM2-135M-Instruct.Q4_1.gguf} b=${B:-7}
[ -r "$data" ] || { echo "SKIPPED: bench/tables.sh: $data is not there. bench/README.md says what it is, and it may not be passed on" >&2 && exit 0; }
[ -r "$model" ] || { echo "SKIPPED: bench/tables.sh: there is no model $model: models/fetch.sh" >&2 && exit 0; }
mkdir -p "$folder"

# References first, held-out reviews last, as many as a run has texts. Each pair of category and stars has texts by its share of the
# references, and no more than they reach for.
python3 - "$data" "$folder" "$texts" "$b" <<'PYTHON'
import collections, json, sys
data, folder, texts, b = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rows = [json.loads(line) for line in open(data, encoding="utf-8")]
rows = [{"text": row["text"], "category": row["category"], "stars": str(row["stars"])} for row in rows]
held = max(texts, 20)
read, aside = rows[:-held], rows[-held:]
pair = lambda row: (row["category"], row["stars"])
sizes = collections.Counter(map(pair, read))
whole = sum(sizes.values())
# Texts of a pair: its share, rounded by the largest remainder, as far as its references reach.
number = {key: min(texts * size // whole, size // b) for key, size in sizes.items()}
for key in sorted(sizes, key=lambda key: (-(texts * sizes[key] % whole), key)) * texts:
    if sum(number.values()) < texts and b * (number[key] + 1) <= sizes[key]:
        number[key] += 1
if sum(number.values()) < texts:
    sys.exit(f"bench/tables.sh: {data} has too few records for {texts} texts of {b}")
kept = [row for row in read if number[pair(row)]]
files = {"refs": kept, "held": aside, "blank": [dict(row, text="") for row in kept],
         "pairs": [{"category": key[0], "stars": key[1], "share": number[key]} for key in sorted(sizes) if number[key]]}
for name, part in files.items():
    with open(f"{folder}/{name}.jsonl.part", "w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in part)
print(f"{len(kept)} references of {sum(map(bool, number.values()))} pairs of category and stars, {len(aside)} reviews held out", file=sys.stderr)
PYTHON
# The same files are not touched, so that a stopped run finds its references as they were.
for name in refs held blank pairs; do
	cmp -s "$folder/$name.jsonl.part" "$folder/$name.jsonl" || mv "$folder/$name.jsonl.part" "$folder/$name.jsonl"
	rm -f "$folder/$name.jsonl.part"
done

# drawn NAME ARGUMENT...: one run, which goes on where it was stopped.
drawn() {
	local name=$1
	shift
	# shellcheck disable=SC2086 # GENERATE has several words
	[ -e "$folder/$name.receipt.json" ] || "$cuttle" generate -m "$model" -o "$folder/$name.jsonl" -N "$texts" -n "$tokens" --delta 1e-6 \
		--temperature "${TEMPERATURE:-1.2}" --kind "review of a business" --category-field category --category-field stars \
		--categories "$folder/pairs.jsonl" --category-public --lots off -q ${GENERATE-} "$@"
}
drawn public -i "$folder/blank.jsonl" -B 1 -e 10 -k 50
runs=()
for k in ${K:-50}; do
	for epsilon in ${EPSILONS:-1 3 5 10}; do
		drawn "ink-k$k-e$epsilon" -i "$folder/refs.jsonl" -B "$b" -e "$epsilon" -k "$k"
		runs+=(-i "$folder/ink-k$k-e$epsilon.jsonl")
	done
done
[ -e "$folder/table.json" ] || "$cuttle" evaluate -m "$model" "${runs[@]}" --baseline "$folder/public.jsonl" --against "$folder/held.jsonl" --public \
	--next-token --equal-texts -q -o "$folder/table.json"

python3 - "$folder" <<'PYTHON'
import json, os, sys
folder = sys.argv[1]
table = json.load(open(f"{folder}/table.json", encoding="utf-8"))
columns = [("mauve", "MAUVE %, c = .9", 100, 1), ("mauve_5", "c = 5", 100, 1), ("perplexity_median", "PPL, median", 1, 0), ("dppl", "dPPL", 1, 0),
           ("length", "tokens", 1, 0), ("distinct_2", "distinct-2", 1, 3), ("repeats", "repeats", 1, 3), ("next_token", "next token %", 100, 2),
           ("next_token_bits", "bits", 1, 2), ("next_token_bits_over_public", "bits over public prompt", 1, 2)]
print(f"{table['references']} held-out reviews, {table['clusters']} clusters, model {table['model']}\n")
print("| run | epsilon | clip, gain | texts | " + " | ".join(heading for _, heading, _, _ in columns) + " |\n|" + "---|" * (4 + len(columns)))
for row in table["rows"]:
    name = os.path.basename(row["name"]).removesuffix(".jsonl")
    cells = [{"real against real": "real against real", "public prompt alone": "public prompt alone"}.get(row["kind"], ""), "", "", str(row["texts"])]
    if row["kind"] == "run":
        receipt = json.load(open(f"{folder}/{name}.receipt.json", encoding="utf-8"))
        find = lambda key, node=receipt: next((v for v in ([node[key]] if key in node else [find(key, x) for x in node.values() if isinstance(x, dict)])
                                               if v is not None), None)
        k = name.split("-")[1][1:]
        cells[:3] = ["InvisibleInk, k " + ("|V|" if k == "0" else k), name.split("-e")[1], "%.3g, %.3g" % (find("clip"), find("gain") or 1)]
    for key, _, scale, digits in columns:
        cell = row.get(key)
        text = "" if cell is None else f"{cell['value'] * scale:.{digits}f}"
        if cell and cell.get("error") is not None:
            text += f" ± {cell['error'] * scale:.{digits}f}"
        cells.append(text)
    print("| " + " | ".join(cells) + " |")
print()
for note in table["notes"]:
    print(note)
print("± of MAUVE is a standard deviation, the others hold the number with 99 %.")
PYTHON
