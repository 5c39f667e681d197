#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# measure/next_token a second time, from its formulas: all runs in one dictionary, and each token of the vocabulary tried as the guess.
#   tests/oracle/next_token.py > tests/golden/next_token.txt           (tests/measure/test_measure_next.c reads the file)
#   tests/oracle/next_token.py | diff - tests/golden/next_token.txt    (checks the file)
# A line is a case, and then of each tested text the tokens, those guessed right, and bits. The test makes the texts by the same numbers.
import math
from collections import Counter, defaultdict

M = (1 << 64) - 1
MARK = -1
ORDER, LOOK_BACK, SHARE = 4, 16, 0.1


def draw(state):  # tiny_random of the tests
    state[0] = (state[0] + 0x9E3779B97F4A7C15) & M
    z = state[0]
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return z ^ (z >> 31)


def make_texts(seed, count, longest, vocabulary):
    """Each token depends on the one before, or is drawn anew."""
    state, texts = [seed], []
    for _ in range(count):
        text, token = [], 0
        for _ in range(draw(state) % (longest + 1)):
            fresh = draw(state) % 3 == 0
            token = draw(state) % vocabulary if fresh else (3 * token + draw(state) % 2) % vocabulary
            text.append(token)
        texts.append(text)
    return texts


class Model:
    def __init__(self, texts, vocabulary):
        self.vocabulary = vocabulary
        self.behind = defaultdict(Counter)
        for text in texts:
            row = [MARK] + text
            for at in range(1, len(row)):
                for length in range(ORDER):
                    if at - length >= 0:
                        self.behind[tuple(row[at - length:at])][row[at]] += 1

    def chance(self, context, token):
        chance = 1 / self.vocabulary
        for length in range(min(len(context), ORDER - 1) + 1):
            behind = self.behind.get(tuple(context[len(context) - length:]))
            if behind:
                kinds = len(behind)
                chance = (behind[token] + kinds * chance) / (sum(behind.values()) + kinds)
        return chance

    def score(self, text):
        right, bits, taught = 0, 0.0, self.behind.get((), {})
        for at, token in enumerate(text):
            context = ([MARK] + text[:at])[-(ORDER - 1):]
            places = [i for i in range(1, at) if text[i - 1] == text[at - 1]][-LOOK_BACK:] if at else []
            cached = [text[i] for i in places]

            def mixed(word):
                chance = self.chance(context, word)
                return (1 - SHARE) * chance + SHARE * (cached.count(word) / len(cached)) if cached else chance

            best = max(sorted(set(taught) | set(cached)), key=mixed, default=None)  # the lowest of equals
            right += best == token
            bits -= math.log2(mixed(token))
        return len(text), right, bits


# Case: seeds of texts that teach and that are tested, how many, the longest, vocabulary.
for case, (teach, test, taught, tested, longest, vocabulary) in enumerate(
        ((1, 2, 12, 6, 20, 5), (3, 4, 40, 8, 60, 30), (5, 5, 3, 3, 90, 3), (6, 7, 0, 2, 9, 4), (8, 9, 30, 4, 200, 2), (10, 11, 25, 5, 40, 300))):
    model = Model(make_texts(teach, taught, longest, vocabulary), vocabulary)
    numbers = [number for text in make_texts(test, tested, longest, vocabulary) for number in model.score(text)]
    print(f"case_{case}", *[f"{float(number):.12g}" for number in numbers])
