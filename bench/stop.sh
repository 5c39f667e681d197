#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What --stop saves: 20 batches of short texts, by the mark of the plain form alone and by auto, each without a token bank and with one.
# The seed is fixed, so a batch's first text begins alike in all of them. Prints, of the tokens that were paid, how many stand in texts
# that came to their end, and how many such texts there are. usage: stop.sh MODEL FOLDER
set -eu
cuttle=build/cuttle model=$1 folder=$2 samples=tools/samples
mkdir -p "$folder"
# run NAME OPTION...
run() {
	name=$1
	shift
	"$cuttle" generate -m "$model" -i $samples/messages.jsonl -o "$folder/$name.jsonl" --public-examples $samples/public-messages.jsonl \
		--kind "customer message" -B 15 -e 3 -N 20 -n 60 --temperature 0.7 --lots off --insecure-seed 1 -q "$@" 2>/dev/null
}
run before --stop '\n###'
run after
run before-bank --stop '\n###' --token-bank
run after-bank --token-bank
python3 - "$folder" <<'PYTHON'
import json, sys
load = lambda name: [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl", encoding="utf-8")]
paid = 20 * 60
for name in ("before", "after", "before-bank", "after-bank"):
    texts = load(name)
    # What stands behind a line break nobody keeps: its share of the letters is taken for that of the tokens.
    kept = lambda text: text["tokens"] * len(text["text"].split("\n")[0]) / max(1, len(text["text"]))
    whole = [text for text in texts if text["finish"] != "length" or "\n" in text["text"]]
    tokens = sum(kept(text) for text in whole)
    print("%-12s texts %2d, that came to their end %2d, with something behind it %2d; of %d paid tokens %4.0f in these, lost %2.0f %%"
          % (name, len(texts), len(whole), sum("\n" in text["text"] for text in texts), paid, tokens, 100 - 100 * tokens / paid))
PYTHON
