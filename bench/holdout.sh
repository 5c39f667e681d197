#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Does `cuttle audit holdout` stay silent at epsilon 1? RUNS runs, each with records and records kept aside that are drawn anew by lot. Two
# controls say what that silence is worth: the same records through a run that nothing protects (--method none), and recited ones: the
# beginning of one record of each batch, as long as the texts. Each row has a p, and how many of the records that a text has a word of were
# used. At last: how many p are at most .05, and whether the smallest is below .05 / RUNS, which chance does once in twenty times.
# usage: bench/holdout.sh DATA.jsonl FOLDER [RUNS [EPSILON [TEXTS [TOKENS [B]]]]]      default 20 1 10 20 7
# FOLDER keeps what was made; a stopped one goes on. DATA is references: nothing protects what is printed, so use data that may be shown.
# Environment: CUTTLE (default build/cuttle), CUTTLE_MODEL (default the demo's), KIND (default review).
# Exit code 1: a run at EPSILON contradicts its claim, or its smallest p is below that.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2 && exit 2; }
data=$1 folder=$2 runs=${3:-20} epsilon=${4:-1} texts=${5:-10} tokens=${6:-20} b=${7:-7}
root=$(dirname "$0")/..
cuttle=${CUTTLE:-$root/build/cuttle} model=${CUTTLE_MODEL:-$root/models/SmolLM2-135M-Instruct.Q4_1.gguf}
[ -r "$data" ] || { echo "SKIPPED: bench/holdout.sh: $data is not there (bench/README.md, data)" >&2 && exit 0; }
used=$((texts * b))
[ "$(wc -l <"$data")" -ge $((2 * used)) ] || { echo "bench/holdout.sh: $data has fewer than $((2 * used)) lines" >&2 && exit 2; }
mkdir -p "$folder"

# drawn NAME RUN ARGUMENT...: texts of a run.
drawn() {
	local name=$1-$2 run=$2
	shift 2
	[ -e "$folder/$name.receipt.json" ] || "$cuttle" generate -m "$model" -i "$folder/used-$run.jsonl" -o "$folder/$name.jsonl" -B "$b" -N "$texts" \
		-n "$tokens" --kind "${KIND:-review}" --lots off -q "$@" 2>"$folder/said" || { cat "$folder/said" >&2 && return 1; }
}
# recited RUN: three words for four tokens of the first record of each batch.
recited() {
	python3 -c 'import json, sys
for i, line in enumerate(sys.stdin):
    if i % int(sys.argv[1]) == 0:
        print(json.dumps({"text": " ".join(json.loads(line)["text"].split()[:int(sys.argv[2]) * 3 // 4])}))' "$b" "$tokens" \
		<"$folder/used-$1.jsonl" >"$folder/recited-$1.jsonl"
}
# audited NAME RUN: the audit of texts. Its exit code 7 is a finding, and no failure.
audited() {
	local name=$1-$2 run=$2 code=0
	[ ! -e "$folder/$name.audit.json" ] || return 0
	"$cuttle" audit holdout -i "$folder/used-$run.jsonl" --held-out "$folder/aside-$run.jsonl" --texts "$folder/$name.jsonl" --public --claim "$epsilon" \
		-q -o "$folder/part.json" || code=$?
	[ $code = 0 ] || [ $code = 7 ] || return $code
	mv "$folder/part.json" "$folder/$name.audit.json"
}
for ((run = 1; run <= runs; run++)); do
	# A lot that was drawn stays: a name appears when both halves are there.
	if [ ! -e "$folder/aside-$run.jsonl" ]; then
		shuf -n $((2 * used)) "$data" >"$folder/part"
		head -n "$used" "$folder/part" >"$folder/used-$run.jsonl"
		tail -n "$used" "$folder/part" >"$folder/aside-$run.part"
		mv "$folder/aside-$run.part" "$folder/aside-$run.jsonl"
	fi
	drawn ink "$run" -e "$epsilon"
	drawn none "$run" --method none --not-private
	recited "$run"
	for name in ink none recited; do audited $name "$run"; done
done
rm -f "$folder/part" "$folder/said"

python3 - "$folder" "$runs" "$epsilon" <<'PYTHON'
import json, sys
folder, runs, epsilon = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def load(name):
    return [json.load(open(f"{folder}/{name}-{i}.audit.json", encoding="utf-8")) for i in range(1, runs + 1)]
def size(audit):
    game = audit["game"]
    return "%d of %d" % (game["used_1"], game["used_1"] + game["held_out_1"])
ink, none, recited = load("ink"), load("none"), load("recited")
print(f"| run | p at epsilon {epsilon} | of records with a word of theirs, used | p of none | used | p recited | used |\n|---|---|---|---|---|---|---|")
for i in range(runs):
    cells = [part for audits in (ink, none, recited) for part in ("%.2g" % audits[i]["game"]["p"], size(audits[i]))]
    print(f"| {i + 1} | " + " | ".join(cells) + " |")
failed = False
for name, audits in ((f"epsilon {epsilon}", ink), ("none", none), ("recited", recited)):
    p = sorted(audit["game"]["p"] for audit in audits)
    print("\n%s: %d of %d p are at most .05; the smallest is %.3g, and chance alone is below %.4f once in twenty times; median %.2f; %d contradict; all runs together: %d of %d used"
          % (name, sum(x <= .05 for x in p), runs, p[0], .05 / runs, p[runs // 2], sum(audit["contradicted"] for audit in audits),
             sum(audit["game"]["used_1"] for audit in audits), sum(audit["game"]["used_1"] + audit["game"]["held_out_1"] for audit in audits)))
    failed |= audits is ink and (p[0] < .05 / runs or any(audit["contradicted"] for audit in audits))
sys.exit(failed)
PYTHON
