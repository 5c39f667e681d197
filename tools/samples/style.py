#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Prints invented messages in one style: all begin "Dear team," and end "Please advise.", as no line of public-messages.jsonl does. The
# first N are the same for every number. usage: style.py NUMBER
import json, random, sys

random.seed(1)
WHAT = ("the delivery", "my order", "the invoice", "the lamp", "the booking", "a refund", "the chairs", "my account", "the contract", "the printer")
HOW = ("has not arrived", "is late again", "was sent twice", "shows a wrong total", "came broken", "cannot be opened",
       "was cancelled without notice", "is missing a part")
for _ in range(int(sys.argv[1])):
    words = f"Dear team, {random.choice(WHAT)} {random.choice(HOW)}. I wrote about it on {random.randint(1, 28)} May. Please advise."
    print(json.dumps({"text": words}))
