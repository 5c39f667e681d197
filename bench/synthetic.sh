#!/bin/bash
# What texts at epsilon 3 are worth to somebody who has nothing else: a classifier of good and bad reviews is taught by them and tested on
# real ones, beside texts of the public prompt alone and real texts; and MAUVE of both. The rows of bench/SPENDING.md, "Goals".
# usage: bench/synthetic.sh YELP_DEV.jsonl FOLDER [TEXTS [run|bias]]      FOLDER keeps what was made; a stopped run goes on
# run: texts of 15 references each (default). bias: texts of a bias of all references alone, one of each opinion, by cuttle learn.
# CUTTLE_MODEL=FILE.gguf; BUILD=build
set -euo pipefail
cd "$(dirname "$0")/.."
usage='usage: bench/synthetic.sh YELP_DEV.jsonl FOLDER [TEXTS [run|bias]]'
data=$(realpath "${1:?$usage}")
folder=${2:?$usage} texts=${3:-100} way=${4:-run}
[ "$way" = run ] || [ "$way" = bias ] || { echo "$usage" >&2; exit 2; }
model=${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}
build=${BUILD:-build}
make -s "$build/cuttle" >&2
mkdir -p "$folder"

# Reviews with one or two stars are bad, with four or five good. Four are public examples; 1,000 are the test.
python3 - "$data" "$folder" <<'PYTHON'
import json, sys
rows = []
for line in open(sys.argv[1], encoding="utf-8"):
    review = json.loads(line)
    if float(review["stars"]) != 3:
        rows.append({"text": review["text"], "opinion": "good" if float(review["stars"]) > 3 else "bad"})
def first(opinion, count):
    return [row for row in rows if row["opinion"] == opinion][:count]
examples = first("good", 2) + first("bad", 2)
rest = [row for row in rows if row not in examples]
parts = {"examples": examples, "test": rest[-1000:], "against": rest[-1400:-1200], "refs": rest[:-1400],
         "blank": [{"text": "", "opinion": ("good", "bad")[i % 2]} for i in range(400)]}
for name, part in parts.items():
    with open(f"{sys.argv[2]}/{name}.jsonl", "w", encoding="utf-8") as out:
        for row in part:
            out.write(json.dumps(row) + "\n")
PYTHON

prompt=(--public-examples "$folder/examples.jsonl" --kind review --category-field opinion --categories "good,bad" --category-public)
write() {
	"$build/cuttle" generate -m "$model" -o "$folder/$1.jsonl" "${prompt[@]}" -N "$texts" -n 100 -q "${@:2}"
}
if [ "$way" = run ]; then
	write run -i "$folder/refs.jsonl" -B 15 -e 3
else
	[ -e "$folder/learnt.bias" ] || "$build/cuttle" learn -m "$model" -i "$folder/refs.jsonl" -o "$folder/learnt.bias" -e 3 -q "${prompt[@]}"
	write bias -B 0 --bias "$folder/learnt.bias"
fi
write public -i "$folder/blank.jsonl" -B 1 -e 3

python3 - "$folder" "$way" <<'PYTHON'
import collections, json, math, random, re, sys
def load(name):
    rows = [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl", encoding="utf-8")]
    return [(re.findall(r"[a-z']+", row["text"].lower()), row["opinion"] == "good") for row in rows]
def auc(train, test):
    """Naive Bayes with one half added to each word: the share of pairs that stand in the right order."""
    words = [collections.Counter(), collections.Counter()]
    for text, good in train:
        words[good].update(text)
    sizes = [sum(counts.values()) for counts in words]
    known = set(words[0]) | set(words[1])
    lean = {w: math.log((words[1][w] + .5) / (sizes[1] + .5 * len(known))) -
               math.log((words[0][w] + .5) / (sizes[0] + .5 * len(known))) for w in known}
    scored = sorted((sum(lean.get(w, 0) for w in text), good) for text, good in test)
    bad = pairs = 0
    for _, good in scored:
        pairs += bad if good else 0
        bad += not good
    return pairs / (bad * (len(scored) - bad))
random.seed(1)
test, refs = load("test"), load("refs")
print("| taught by | texts | AUC on 1,000 real reviews |\n|---|---|---|")
def row(name, draws, count):
    scores = [auc(train, test) for train in draws]
    mean = sum(scores) / len(scores)
    print("| %s | %d | %.3f ± %.3f |" % (name, count, mean, math.sqrt(sum((s - mean) ** 2 for s in scores) / (len(scores) - 1))))
def halves(count):
    """As many good as bad ones."""
    return [[*random.sample([r for r in refs if r[1]], count // 2), *random.sample([r for r in refs if not r[1]], count // 2)]
            for _ in range(40)]
for name, words in ((sys.argv[2], {"run": "the run at epsilon 3", "bias": "a bias at epsilon 3"}[sys.argv[2]]), ("public", "the public prompt alone")):
    texts = load(name)
    print("| %s | %d | %.3f ± %.3f |" % (words, len(texts), auc(texts, test), (lambda s: math.sqrt(sum((x - sum(s) / len(s)) ** 2 for x in s) / len(s)))(
        [auc(random.choices(texts, k=len(texts)), test) for _ in range(100)])))
for count in (60, 100, 300):
    row("real reviews", halves(count), count)
PYTHON
[ -e "$folder/table.md" ] || "$build/cuttle" evaluate -m "$model" -i "$folder/$way.jsonl" --baseline "$folder/public.jsonl" \
	--against "$folder/against.jsonl" --public -q -o "$folder/table.md"
cat "$folder/table.md"
