#!/bin/sh
# Rewrites the invented letters of this repository, whose private places are marked, and shows before
# and after side by side. A demo that was stopped continues. A complete one is shown again.
# usage: demo-sanitize.sh CUTTLE MODEL
set -eu
# Ctrl-C stops the run, but not this script: it says how to go on.
trap : INT
cuttle=$1 model=$2
folder=demo/letters
mkdir -p "$folder"
# The letters are invented, so drawing from them twice harms nobody.
again="rm -r $folder && make demo-sanitize draws new ones"

# A small model paraphrases best when it is asked for one text between quotation marks. So a letter ends before the closing one, or
# before a line break, which no letter here has. It is cool, for it soon wanders; 12 letters allow a delta of 1e-3.
if "$cuttle" sanitize -m "$model" -i tools/samples/letters.jsonl -o "$folder/letters.jsonl" --tagger none \
	-e 10 --delta 1e-3 --mix all -n 110 --temperature 0.3 -k 50 --stop '"' --stop '\n' -q \
	--instruction tools/samples/paraphrase.txt --prefill 'Here is the paraphrased text: "'; then
	echo
else
	code=$?
	case $code in
	6) echo "make demo-sanitize continues where it stopped; $again" >&2 ;;
	2) echo "if $folder is of another version: $again" >&2 ;;
	esac
	exit $code
fi

python3 - tools/samples/letters.jsonl "$folder/letters.jsonl" <<'PYTHON'
import itertools, json, math, shutil, sys, textwrap
def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
def with_brackets(letter):
    text = letter["text"]
    for span in sorted(letter["spans"], key=lambda span: -span["start"]):
        start, end = span["start"], span["end"]
        text = text[:start] + "[" + text[start:end] + "]" + text[end:]
    return text
width = shutil.get_terminal_size((110, 24)).columns
column = max(20, (width - 5) // 2)
def side_by_side(left, right):
    for pair in itertools.zip_longest(left, right, fillvalue=""):
        print(("  %-*s   %s" % (column, *pair)).rstrip())
print(textwrap.fill("12 letters, before and after. What stands in [brackets] is private: it may move the odds of each word on the right only "
                    "as far as the bound below says.", width))
for before, after in zip(read(sys.argv[1]), read(sys.argv[2])):
    print()
    side_by_side(textwrap.wrap(with_brackets(before), column),
                 textwrap.wrap(after["text"], column))
with open(sys.argv[2].replace(".jsonl", ".receipt.json"), encoding="utf-8") as file:
    receipt = json.load(file)
    print()
    # A promise is rounded up, as in the receipt.
    epsilon = math.ceil(receipt["epsilon"] * 1e4) / 1e4
    print(textwrap.fill("The promise: whatever a new letter says has at most e^%.10g = %d times the probability that it has with all brackets "
                        "blank, but for a chance of %g. The same holds the other way round, and against whoever knows all that stands outside "
                        "the brackets. That there are brackets, where and of which type, is told. So is whatever nobody marked." %
                        (epsilon, math.ceil(math.exp(epsilon)), receipt["delta"]), width))
PYTHON
echo
echo "letters: $folder/letters.jsonl"
echo "receipt: $folder/letters.receipt.json (what was spent, on what, by what)"
echo "again:   $again"
