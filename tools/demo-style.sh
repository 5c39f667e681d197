#!/bin/sh
# Shows what --shots is for: two texts from 640 messages each take up a style that all messages have and no public example, cuttle expand
# writes more behind them, and the public prompt alone writes none. A demo that was stopped continues. A complete one is shown again.
# usage: demo-style.sh CUTTLE MODEL
set -eu
# Ctrl-C stops the run, but not this script: it says how to go on.
trap : INT
cuttle=$1 model=$2
folder=demo/style examples=tools/samples/public-messages.jsonl kind="message to a shop"
mkdir -p "$folder"
# The messages are invented, so drawing from them twice harms nobody.
again="rm -r $folder && make demo-style draws new ones"

# step VERB...: runs cuttle, and says how to go on where it ends before its end.
step() {
	code=0
	"$cuttle" "$@" -q || code=$?
	case $code in
	0) return ;;
	6 | 130) echo "make demo-style continues where it stopped; $again" >&2 ;;
	2) echo "if $folder is of another version: $again" >&2 ;;
	esac
	exit $code
}

python3 "${0%/*}/samples/style.py" 8000 >"$folder/private.jsonl"
yes '{"text": ""}' | head -16 >"$folder/blank.jsonl"
[ -e "$folder/drawn.jsonl" ] || echo "8,000 invented messages to a shop. Some of them are read now, which takes about a minute." >&2
step generate -m "$model" -i "$folder/private.jsonl" -o "$folder/drawn.jsonl" --public-examples $examples --kind "$kind" \
	-e 3 --delta 1e-6 -N 2 -B 80 --shots 8 -n 32 -k 0 --temperature 0.7 -c 1024
step expand -m "$model" -i "$folder/drawn.jsonl" -o "$folder/more.jsonl" -N 14 --kind "$kind" --seed 1
# Messages without a text are null: what is written from them is of the public prompt alone.
step generate -m "$model" -i "$folder/blank.jsonl" -o "$folder/public.jsonl" --public-examples $examples --kind "$kind" \
	-e 3 --delta 1e-6 -N 16 -B 1 -n 32 -k 0 --temperature 0.7

python3 - "$folder" <<'PYTHON'
import json, math, sys, textwrap

folder = sys.argv[1]
def read(name):
    with open(f"{folder}/{name}.jsonl", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]
def show(title, texts):
    print("\n" + textwrap.fill(title, 110) + "\n")
    for text in texts:
        print(textwrap.fill(text, 110, initial_indent="  ", subsequent_indent="    "))
private, drawn, more, public = (read(name) for name in ("private", "drawn", "more", "public"))
show("Three of the messages. All begin and end like these, and no public example does:", private[:3])
show("What the model writes from the public examples alone:", public[:6])
show("What it writes from 640 messages each, with 8 of them in every row (generate --shots 8):", drawn)
show("What it writes behind these two, for nothing (expand):", more[:8])
with open(f"{folder}/drawn.receipt.json", encoding="utf-8") as file:
    receipt = json.load(file)
print("\n%-36s %-22s %s" % ("", "with the messages", "public examples alone"))
ours = drawn + more
verdicts = []
for words, has in [('begin with "Dear"', lambda text: text.lower().startswith("dear")), ('have "Please" at their end', lambda text: ". please" in text.lower())]:
    counts = [sum(map(has, texts)) for texts in (ours, public)]
    print("%-36s %-22s %s" % ("texts that " + words, "%d of %d" % (counts[0], len(ours)), "%d of %d" % (counts[1], len(public))))
    # One more of each kind keeps the error of "none" and "all" above 0.
    shares = [(count + 1) / (len(texts) + 2) for count, texts in zip(counts, (ours, public))]
    error = math.sqrt(sum(share * (1 - share) / (len(texts) + 2) for share, texts in zip(shares, (ours, public))))
    verdicts.append("%.2f with an error of %.2f" % (shares[0] - shares[1], error))
say = lambda words: print("\n" + textwrap.fill(words, 110))
say("The shares differ by %s, and by %s. What another draw of the two texts would change is not in that error, and the others follow them." % tuple(verdicts))
say("The promise: whoever sees all these texts finds nothing in them that is more than e^%.3g = %.0f times as likely with any one of the "
    "8,000 messages as without it, nor the other way round, but for a chance of 1 in %s. A style that all have is nobody's secret."
    % (receipt["epsilon"], math.ceil(math.exp(receipt["epsilon"])), format(round(1 / receipt["delta"]), ",")))
PYTHON
echo
echo "texts:   $folder/drawn.jsonl, $folder/more.jsonl"
echo "receipt: $folder/drawn.receipt.json (what was spent, on what, by what)"
echo "again:   $again"
