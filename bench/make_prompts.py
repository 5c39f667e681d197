# SPDX-License-Identifier: Apache-2.0
"""8 different contexts of 400 tokens for the peers: the texts over and over, each context starting at another one.
usage: cuttle tokenize -m MODEL -i TEXTS.jsonl | make_prompts.py OUT.json"""
import json
import sys

CONTEXTS, TOKENS = 8, 400
texts = [json.loads(line)["ids"] for line in sys.stdin]
contexts = []
for start in range(CONTEXTS):
    ids, at = [], start
    while len(ids) < TOKENS:
        # With fewer texts than contexts a text comes again, from a later token on.
        ids += texts[at % len(texts)][at // len(texts) * 7 :]
        at += 1
    contexts.append(ids[:TOKENS])
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"ids": contexts}, file)
