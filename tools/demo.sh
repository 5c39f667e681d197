#!/bin/sh
# Does the main job on this machine: writes private clinical notes from the invented notes of this
# repository, and says how good they are beside texts of the same prompts without any note. A demo
# that was stopped continues. A complete one is shown again.
# usage: demo.sh CUTTLE MODEL
set -eu
# Ctrl-C stops the run, but not this script: it says how to go on.
trap : INT
cuttle=$1 model=$2
folder=demo samples=tools/samples
mkdir -p "$folder"
# The references are invented, so drawing from them twice harms nobody.
again="rm -r $folder && make demo draws new ones"
# Which wards there are is public here; which one a note is from stays private.
wards=chronic,children,community,senses,surgery,medicine,emergency,heart,mind,maternity
# Enough texts for a table, and few enough for two minutes of two slow cores.
texts=24

# step VERB...: runs cuttle, and says how to go on where it ends before its end.
step() {
	code=0
	"$cuttle" "$@" || code=$?
	case $code in
	0) return ;;
	6 | 130) echo "make demo continues where it stopped; $again" >&2 ;;
	2) echo "if $folder is of another version: $again" >&2 ;;
	esac
	exit $code
}

# write INPUT OUTPUT OPTION...: the same prompts and settings, whatever the references are.
write() {
	input=$1 output=$2
	shift 2
	step generate -m "$model" -i "$input" -o "$folder/$output" --public-examples "$samples/public.jsonl" --kind "clinical note" \
		--category-field ward --categories "$wards" --examples-per-text 4 --drop duplicates,loops,unlikely \
		-e 3 --delta 1e-6 -N $texts -n 96 --temperature 0.8 -k 50 "$@"
}

write "$samples/notes.jsonl" notes.jsonl -B 15
if [ ! -e "$folder/table.json" ]; then
	# Notes without a text are null: what is written from them is of the public prompt alone.
	for ward in $(echo $wards $wards $wards | tr , ' '); do echo "{\"text\": \"\", \"ward\": \"$ward\"}"; done >"$folder/blank.jsonl"
	echo "Now $texts texts of the same prompts without any note, to compare with, and the comparison:" >&2
	write "$folder/blank.jsonl" public.jsonl -B 1 --category-public -q
	head -128 "$samples/notes.jsonl" >"$folder/against.jsonl"
	sed -n 129,256p "$samples/notes.jsonl" >"$folder/test.jsonl"
	step evaluate -m "$model" -i "$folder/notes.jsonl" --baseline "$folder/public.jsonl" --against "$folder/against.jsonl" --private \
		--task ward --test "$folder/test.jsonl" -o "$folder/table.json"
fi

echo
echo "Clinical notes, each written from some 15 notes of one ward in $samples/notes.jsonl, none of which may show through."
python3 - "$folder" <<'PYTHON'
import json, sys, textwrap

folder = sys.argv[1]
load = lambda name: json.load(open(f"{folder}/{name}", encoding="utf-8"))
notes = [json.loads(line) for line in open(f"{folder}/notes.jsonl", encoding="utf-8")]
shown = {}
for note in notes:
    # Of each ward the first that is plain sentences, or else the first: the model likes headings and lists.
    ends = note["text"].rstrip().endswith((".", "!", "?")) and not any(mark in note["text"] for mark in ("#", "**", "\n\n"))
    if note["ward"] not in shown or (ends and not shown[note["ward"]][0]):
        shown[note["ward"]] = (ends, note)
print(f"One of each ward, plain sentences if it has any; {folder}/notes.jsonl has all {len(notes)}:")
for ends, note in shown.values():
    print()
    print(textwrap.fill(note["text"], 110, initial_indent="  %d. %s: " % (note["index"] + 1, note["ward"]), subsequent_indent="     "))

receipt, table = load("notes.receipt.json"), load("table.json")
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
print("  %-46s %-17s %-20s %s" % ("", "these notes", "public prompt alone", "real notes"))
for name, words in [
    ("bayes", "wards told right, taught by them; chance is .1"),
    ("probe", "the same, by another classifier"),
    ("perplexity_median", "perplexity to the model, median"),
    ("length", "tokens"),
    ("distinct_2", "pairs of words that differ, of all"),
    ("repeats", "four words that a text says twice, of all"),
    ("copies", "texts equal to an earlier one")]:
    print("  %-46s %-17s %-20s %s" % ((words,) + tuple(cell(kind, name) for kind in columns)))
print()
print(textwrap.fill("The columns are of %d texts, %d texts and %d notes. Classifiers are taught by these and sort 128 other notes into ten "
    "wards. ± is one standard deviation of that, of tokens 99 %%; that the next draw has other texts comes to it, so which of the "
    "first two columns is ahead may well be chance. %s has MAUVE, too, which wants hundreds of texts. All real notes are "
    "invented, and among those that the texts may have been written from."
    % (row["run"]["texts"], row["public prompt alone"]["texts"], table["references"], folder + "/table.json"), 110))
print()
print(textwrap.fill("The model is a small one, of 135 million parameters: what it writes sounds like a note, and often makes no sense, with "
    "privacy or without. models/README brings larger ones; bench/SPENDING.md says what notes add to what it writes, and what "
    "epsilon does to that.", 110))
print()
print(textwrap.fill("The table itself is PRIVATE: it is computed from the notes, and no guarantee covers it. It is shown because nobody "
    "in these notes exists. Of your own notes keep it where they are, or let them answer through noise (cuttle evaluate -e).", 110))
print()
print(textwrap.fill(receipt["guarantee"], 110))
PYTHON
echo
echo "texts:   $folder/notes.jsonl"
echo "receipt: $folder/notes.receipt.json (what was spent, on what, by what)"
echo "table:   $folder/table.json (all measures)"
echo "again:   $again"
