#!/bin/bash
# What secret lots cost: processor time a token and resident memory, with B references of each text by their order, with B on average by
# lots, and by lots whose cap of rows is far higher. The three in turn, for each seed. A table on standard output, no use of times alone.
# usage: bench/lots.sh DATA.jsonl [SEEDS [TEXTS [TOKENS]]]
# CUTTLE_MODEL=FILE.gguf; BUILD=build
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(realpath "${1:?usage: bench/lots.sh DATA.jsonl [SEEDS [TEXTS [TOKENS]]]}")
seeds=${2:-3} texts=${3:-4} tokens=${4:-64}
model=${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}
build=${BUILD:-build}
make -s "$build/cuttle" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# measure NAME SEED OPTION...
measure() {
	local name=$1 seed=$2
	shift 2
	python3 - "$name" "$seed" "$work/out.jsonl" "$build/cuttle" generate -m "$model" -i "$data" -B 15 -N "$texts" -n "$tokens" \
		--kind "clinical note" --insecure-seed "$seed" -q -o "$work/out.jsonl" --overwrite "$@" <<'PYTHON'
import json, resource, subprocess, sys
name, seed, out, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
drawn = sum(json.loads(line)["tokens"] for line in open(out, encoding="utf-8"))
lots = json.load(open(out.replace(".jsonl", ".receipt.json"), encoding="utf-8")).get("lots")
print("| %s | %s | %s | %.1f | %d |" % (name, seed, lots["rows_cap"] if lots else 15,
                                     1000 * (used.ru_utime + used.ru_stime) / drawn, used.ru_maxrss // 1024), flush=True)
PYTHON
}

echo "| references | seed | most rows | processor ms a token | resident MB |"
echo "|---|---|---|---|---|"
for ((seed = 1; seed <= seeds; seed++)); do
	measure "15, in order" "$seed" -e 3 --lots off
	measure "15 on average" "$seed" -e 3 --lots on
	measure "15 on average, high cap" "$seed" -e 100 --lots on
done
