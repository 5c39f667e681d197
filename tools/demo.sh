#!/bin/sh
# Does the main job on this machine: writes private messages to a shop from the invented ones of this repository, and shows each as
# soon as it is there. A demo that was stopped continues. A complete one is shown again.
# usage: demo.sh CUTTLE MODEL
set -eu
# Ctrl-C stops the run, but not this script: it says how to go on.
trap : INT
cuttle=$1 model=$2
folder=demo samples=tools/samples
mkdir -p "$folder"
# The messages are invented, so drawing from them twice harms nobody.
again="rm -r $folder && make demo draws new ones"
begun=$(date +%s) complete=
[ ! -e "$folder/messages.jsonl" ] || complete=yes

# follow: shows texts as they are written, the first three together, until it is told to end. The shell starts it so that Ctrl-C does
# not reach it.
follow() {
	exec python3 - "$folder/messages.jsonl" <<'PYTHON'
import glob, json, shutil, signal, sys, textwrap, time

path, ending, shown = sys.argv[1], False, 0
width = min(shutil.get_terminal_size((110, 24)).columns, 140)
def end(*_):
    global ending
    ending = True
signal.signal(signal.SIGTERM, end)
# Complete, the texts have their name; until then they stand beside it.
def lines():
    for name in sorted(glob.glob(glob.escape(path) + ".part-*")) + [path]:
        try:
            return [line for line in open(name, encoding="utf-8") if line.endswith("\n")]
        except FileNotFoundError:
            pass
    return []
while True:
    last = ending
    texts = lines()
    if len(texts) >= 3 or last:
        for line in texts[shown:]:
            text = json.loads(line)
            print(textwrap.fill(text["text"], width, initial_indent="  %-9s " % text["category"], subsequent_indent=" " * 12), flush=True)
        shown = max(shown, len(texts))
    if last:
        break
    time.sleep(0.2)
PYTHON
}

[ ! "$complete" ] || echo "$folder/messages.jsonl is already complete." >&2
cat <<END
Messages to a shop, each drawn from some 15 of the 500 in $samples/messages.jsonl, which are about delivery, billing, products or
staff. Names, order numbers and complaints of any one of them may not show through. The first three come in some 20 seconds:

END
follow &
follower=$!
# Which category a message is about is private, too: how many of each there are is counted with noise. A batch pays for 64 tokens, which
# are three texts; the last one is completed for nothing. Texts are cool, for a small model wanders.
code=0
"$cuttle" generate -m "$model" -i "$samples/messages.jsonl" -o "$folder/messages.jsonl" --public-examples "$samples/public-messages.jsonl" \
	--kind "message to a shop" --category-field category --categories delivery,billing,product,staff --drop duplicates,loops \
	-e 3 --delta 1e-6 -B 15 -N 14 -n 64 --temperature 0.5 --stop auto --token-bank --complete -q || code=$?
kill "$follower" 2>/dev/null || :
wait "$follower" || :
[ "$complete" ] || echo $(($(date +%s) - begun)) >>"$folder/seconds"
case $code in
0) ;;
6 | 130) echo "make demo continues where it stopped; $again" >&2 ;;
2) echo "if $folder is of another version: $again" >&2 ;;
esac
[ $code = 0 ] || exit $code

python3 - "$folder" <<'PYTHON'
import json, math, sys, textwrap

folder = sys.argv[1]
receipt = json.load(open(f"{folder}/messages.receipt.json", encoding="utf-8"))
texts = sum(1 for _ in open(f"{folder}/messages.jsonl", encoding="utf-8"))
seconds = sum(int(line) for line in open(f"{folder}/seconds"))
def time(factor):
    minutes = seconds * factor / 60
    return "%.0f minutes" % max(1, minutes) if minutes < 90 else "%.1f hours" % (minutes / 60)
say = lambda words: print("\n" + textwrap.fill(words, 110))
# A promise is rounded up, as in the receipt.
epsilon = math.ceil(receipt["epsilon"] * 1e4) / 1e4
say("The promise, for all %d texts together: whatever they say has at most e^%.10g = %d times the probability that it has without any one of "
    "the 500 messages, but for a chance of %g. The same holds the other way round, whatever anybody knows of the other messages. It holds as "
    "long as nobody knows which texts a message was read for. The lots that decided it are thrown away." %
    (texts, epsilon, math.ceil(math.exp(epsilon)), receipt["delta"]))
say("The model is a small one, of 135 million parameters, for trying out. This run took %d seconds. By that a model of 1 billion would take "
    "about %s on this machine, 8.1 times as long. One of 8 billion would take about %s, 60 times as long. What else the machine did "
    "meanwhile is in it. models/README says which models there are." % (seconds, time(8.1), time(60)))
PYTHON
cat <<END

texts:   $folder/messages.jsonl
receipt: $folder/messages.receipt.json (what was spent, on what, by what)
tables:  make demo-evaluate (how good they are beside texts of the public prompt alone, and beside the real ones)
again:   $again
END
