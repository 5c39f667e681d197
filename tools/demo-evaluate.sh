#!/bin/sh
# Says how good the texts of make demo are: beside texts of the same prompts without any message, and beside the real ones. Writes those
# of the demo first, where they are not there. What was stopped continues.
# usage: demo-evaluate.sh CUTTLE MODEL
set -eu
# Ctrl-C stops the run, but not this script: it says how to go on.
trap : INT
cuttle=$1 model=$2
folder=demo samples=tools/samples
"${0%-evaluate.sh}.sh" "$cuttle" "$model"
again="rm -r $folder && make demo-evaluate draws new ones"

# step VERB...: runs cuttle, and says how to go on where it ends before its end.
step() {
	code=0
	"$cuttle" "$@" || code=$?
	case $code in
	0) return ;;
	6 | 130) echo "make demo-evaluate continues where it stopped; $again" >&2 ;;
	2) echo "if $folder is of another version: $again" >&2 ;;
	esac
	exit $code
}

if [ ! -e "$folder/table.json" ]; then
	# Messages without a text are null: what is written from them is of the public prompt alone.
	all=delivery,billing,product,staff
	for category in $(echo $all $all $all $all | tr , ' '); do echo "{\"text\": \"\", \"category\": \"$category\"}"; done >"$folder/blank.jsonl"
	echo "Now texts of the same prompts without any message, to compare with, and the comparison:" >&2
	step generate -m "$model" -i "$folder/blank.jsonl" -o "$folder/public.jsonl" --public-examples "$samples/public-messages.jsonl" \
		--kind "message to a shop" --category-field category --categories $all --category-public \
		--drop duplicates,loops -e 3 --delta 1e-6 -B 1 -N 16 -n 64 --temperature 0.5 --stop auto --token-bank --complete -q
	head -250 "$samples/messages.jsonl" >"$folder/against.jsonl"
	sed -n 251,500p "$samples/messages.jsonl" >"$folder/test.jsonl"
	step evaluate -m "$model" -i "$folder/messages.jsonl" --baseline "$folder/public.jsonl" --against "$folder/against.jsonl" --private \
		--task category --test "$folder/test.jsonl" -o "$folder/table.json"
fi
python3 - "$folder" <<'PYTHON'
import json, math, sys, textwrap

folder = sys.argv[1]
load = lambda name: json.load(open(f"{folder}/{name}", encoding="utf-8"))
table = load("table.json")
row = {row["kind"]: row for row in table["rows"]}
columns = ["run", "public prompt alone", "real against real"]
def cell(kind, name):
    found = row[kind].get(name)
    if found is None:
        return "-"
    return "%.3g" % found["value"] + (" ± %.2g" % found["error"] if "error" in found else "")
print()
print("How good they are (cuttle evaluate):")
print()
print("  %-54s %-17s %-20s %s" % ("", "these texts", "public prompt alone", "real messages"))
for name, words in [
    ("bayes", "categories told right, taught by them; chance is .25"),
    ("probe", "the same, by another classifier"),
    ("perplexity_median", "perplexity to the model, median"),
    ("length", "tokens"),
    ("distinct_2", "pairs of words that differ, of all"),
    ("repeats", "four words that a text says twice, of all"),
    ("copies", "texts equal to an earlier one")]:
    print("  %-54s %-17s %-20s %s" % ((words,) + tuple(cell(kind, name) for kind in columns)))
print()
# Which of the first two columns is ahead, as this table says it: a difference has the errors of both.
def verdict(kind, name):
    ours, alone = row["run"].get(name), row["public prompt alone"].get(name)
    if not ours or not alone or "error" not in ours or "error" not in alone:
        return ""
    difference, error = ours["value"] - alone["value"], math.hypot(ours["error"], alone["error"])
    if abs(difference) <= 2 * error:
        return "By the %s classifier no difference shows: %.3g, with an error of %.2g. " % (kind, difference, error)
    ahead = "these texts are" if difference > 0 else "the public prompt alone is"
    return "By the %s classifier %s ahead, by %.3g with an error of %.2g. " % (kind, ahead, abs(difference), error)
print(textwrap.fill("The columns are of %d texts, %d texts and %d messages. Classifiers are taught by these and sort 250 other messages into "
    "four categories. ± is one standard deviation of that, of tokens 99 %%. %s%sA difference shows where it is more than twice its error. "
    "What another draw of texts would change is not in that error, and both prompts name the category. %s has MAUVE, too, "
    "which wants hundreds of texts. All real messages are invented, and among those that the texts may have been written from." % (row["run"]["texts"], row["public prompt alone"]["texts"], table["references"], verdict("first", "bayes"), verdict("other", "probe"), folder + "/table.json"), 110))
print()
print(textwrap.fill("The table itself is PRIVATE: it is computed from the messages, and no guarantee covers it. It is shown because nobody "
    "in these messages exists. Of your own texts keep it where they are, or let them answer through noise (cuttle evaluate -e).", 110))
PYTHON
echo
echo "table:   $folder/table.json (all measures)"
echo "again:   $again"
