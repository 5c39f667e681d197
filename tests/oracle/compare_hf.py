# SPDX-License-Identifier: Apache-2.0
"""Whether cuttle's tokens are transformers' and its log-probabilities within a bound.
usage: compare_hf.py SCORES.json CUTTLE_SCORES.jsonl plain|rounded BOUND"""
import json
import sys

theirs = json.load(open(sys.argv[1]))
ours = [json.loads(line) for line in open(sys.argv[2])][:-1]
worst = dict(plain=0.0, rounded=0.0)
assert len(theirs) == len(ours)
for a, b in zip(theirs, ours):
    if a["ids"][:256] != b["ids"]:
        sys.exit(f"other tokens: {a['ids'][:40]} but {b['ids'][:40]}")
    for kind in worst:
        worst[kind] = max([worst[kind]] + [abs(x - y) for x, y in zip(a[kind], b["logprobs"])])
count, spread = sum(len(a["plain"]) for a in theirs), max(a["spread"] for a in theirs)
print(f"{count} log-probabilities, worst difference {worst['plain']:.1e}, {worst['rounded']:.1e} with f16 keys and values there too; "
      f"standard deviation of logits {spread:.2f}")
sys.exit(worst[sys.argv[3]] > float(sys.argv[4]))
