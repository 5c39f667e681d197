#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# dp/rowlaw, dp/share and dp/fusion_account a second time, in exact fractions and 45 digits, and the vectors that they make:
#   tests/oracle/fusion.py > tests/golden/fusion.txt               (about 10 s; tests/dp/test_dp_fusion_vectors.c reads the file)
#   tests/oracle/fusion.py | diff - tests/golden/fusion.txt        (checks the file)
# Values that are not integers are rounded down, so what dp/ promises may not be below them. Sources: dp/PRIVACY.md, steps 22 to 28.
import random
from decimal import ROUND_FLOOR, Context, Decimal, getcontext
from fractions import Fraction
from math import comb

getcontext().prec = 45
N, K = 46, 16  # a law sums to 2^46, a share counts in 2^-16


def decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator) if isinstance(x, Fraction) else Decimal(x)


def row_law(logits, num, den):
    """The law of a row: the double arithmetic of kernels/rowlaw.h on a table that is rounded exactly."""
    fixed = [max(-(2**26), min(2**26, round(Fraction(x) * 4096))) for x in logits]
    below = [max(fixed) - x for x in fixed]
    e = [int((Decimal(2) ** 40 * (-Decimal(d * den) / (num * 4096)).exp()).to_integral_value()) if d * den <= 28.5 * num * 4096 else 0 for d in below]
    scale = (2.0**N - len(e)) / float(sum(e)) * (1 - 2.0**-50)
    law = [1 + int(float(x) * scale) for x in e]
    law[below.index(0)] += 2**N - sum(law)
    assert min(law) >= 1 and sum(law) == 2**N
    return law


def share(a, b, order, divergence):
    """The largest l whose bound of Theorem F2 is at most e^((order-1) c) - 1, in exact fractions."""
    up, down = [Fraction(0)] * (order + 1), Fraction(0)
    for x, y in zip(a, b):
        u, p = Fraction(y - x, x), Fraction(x, 2**N)
        if u < 0:
            down += p * u * u
        for k in range(2, order + 1 if u >= 0 else 0):
            up[k] += p * u**k
    cap = ((order - 1) * Decimal(divergence)).exp() - 1
    low, high = 0, 2**K
    while high - low > 1:
        middle = (low + high) // 2
        x = Fraction(middle, 2**K)
        forward = sum(comb(order, k) * x**k * up[k] for k in range(2, order + 1)) + comb(order, 2) * x * x * down
        reverse = comb(order, 2) * x * x * up[2] + down * ((1 - x) ** (1 - order) - 1 - (order - 1) * x)
        low, high = (middle, high) if decimal(max(forward, reverse)) <= cap else (low, middle)
    return low


def renyi(p, q, order):
    return decimal(sum(x**order * y ** (1 - order) for x, y in zip(p, q))).ln() / (order - 1)


def divergences(a, b, order, divergence):
    """D(q||p) and D(p||q) of the mixture."""
    l = share(a, b, order, divergence)
    p, q = [Fraction(x, 2**N) for x in a], [Fraction((2**K - l) * x + l * y, 2 ** (N + K)) for x, y in zip(a, b)]
    assert sum(q) == 1
    return renyi(q, p, order), renyi(p, q, order)


def loss(order, divergence, blanked, places):
    b = order - 1
    return (1 + blanked * ((b * Decimal(divergence)).exp() - 1) / places).ln() / b


def convert(total, order, delta):
    order = decimal(order)
    return total + (1 - 1 / order).ln() - (order * Decimal(delta)).ln() / (order - 1)


def epsilon(order, delta, tokens, divergence, blanked, places):
    return convert(tokens * loss(order, divergence, blanked, places), order, delta)


def exchange(order, delta, tokens, divergence):
    return convert(tokens * Decimal(divergence) * (2 * order - 1) / (order - 1), Fraction(order * order, 2 * order - 1), delta)


def ceiling(order, delta, tokens, divergence, values):
    total, b = tokens * Decimal(divergence), order - 1
    by_order = ((total - Decimal(values).ln()) * b / order).exp()
    return min(by_order, convert(total, order, delta).exp() / values + Decimal(delta), Decimal(1))


def planned(epsilon_asked, delta, tokens):
    """Order and divergence of the largest c / alpha, for one place."""
    return max((((Decimal(epsilon_asked) - convert(Decimal(0), order, delta)) / tokens / order, order) for order in range(2, 17)))


def capped_epsilon(delta, tokens, divergence, blanked):
    return convert(tokens * (1 + blanked * blanked * (Decimal(divergence).exp() - 1)).ln(), 2, delta)


def show(name, *values):
    def words(x):
        if isinstance(x, (list, tuple)):
            return " ".join(words(y) for y in x)
        return str(Context(19, ROUND_FLOOR).create_decimal(x)) if isinstance(x, Decimal) else str(x)

    print(name, words(values))


def random_row(rng, count):
    """Entries of 1 to 2^46 that sum to 2^46: flat, spread out, tied, or all mass in one place."""
    spread = rng.choice((0, 1, 8, 30, 46))
    w = [int(2 ** (rng.random() * spread)) for _ in range(count)]
    row = [1 + (2**N - count) * x // sum(w) for x in w]
    row[row.index(max(row))] += 2**N - sum(row)
    return row


LAWS = [
    ("V1", "1/2 1/4 1/8 1/8", "1/8 1/8 1/4 1/2"),
    ("V2", "15/16 1/32 1/64 1/64", "1/16 7/8 1/32 1/32"),
    ("V3", "3/4 1/8 1/16 1/16", "11/16 1/4 1/32 1/32"),
    ("V4", "1048573/1048576 1/1048576 1/524288", "1/1048576 1048573/1048576 1/524288"),
    ("V5", "1/16 5/16 5/16 5/16", "1/1073741824 357913941/1073741824 357913941/1073741824 357913941/1073741824"),
]


def main():
    print("# made by tests/oracle/fusion.py: function, its arguments, its value, rounded down where it is no integer")
    for _, p, r in LAWS:
        a, b = ([int(Fraction(x) * 2**N) for x in row.split()] for row in (p, r))
        for order, cs in ((2, (0.002, 0.02, 0.2)), (4, (0.02, 0.2)), (16, (0.2,))):
            for c in cs:
                show("share", order, c, len(a), a, b, share(a, b, order, c))
                show("divergences", order, c, len(a), a, b, *divergences(a, b, order, c))
    rng = random.Random(7)
    for round_ in range(300):
        count = rng.randint(2, 12)
        a, b = random_row(rng, count), random_row(rng, count)
        if round_ % 40 == 0:
            b = a
        order, c = rng.choice((2, 3, 4, 7, 16)), rng.choice((0.0005, 0.01, 0.1, 1, 20))
        show("share", order, c, count, a, b, share(a, b, order, c))
    show("law", 1, 1, 8, "4 3.5 3.25 1 0.5 -2 2.875 -7.5", row_law([4, 3.5, 3.25, 1, 0.5, -2, 2.875, -7.5], 1, 1))
    show("law", 1, 1, 8, "4 4.5 3 1 0.5 -2 2.875 9", row_law([4, 4.5, 3, 1, 0.5, -2, 2.875, 9], 1, 1))
    for round_ in range(60):
        num, den = rng.choice(((1, 1), (6, 5), (1, 2), (3, 2), (16, 1), (1, 1000)))
        logits = [rng.choice((rng.randint(-(2**17), 2**17) / 8192, 2.0**100 if round_ % 5 == 0 else 0.5)) for _ in range(rng.randint(1, 9))]
        show("law", num, den, len(logits), logits, row_law(logits, num, den))
    for tokens, c in ((900, 0.001), (900, 0.01), (900, 0.1), (500, 0.1)):
        for places in (1, 3, 8):
            for blanked in sorted({1, places}):
                show("epsilon", 2, 1e-3, tokens, c, blanked, places, epsilon(2, 1e-3, tokens, c, blanked, places))
    for order, delta, tokens, c, places in ((2, 1e-6, 900, 0.1, 8), (4, 1e-3, 900, 0.01, 1), (4, 1e-5, 900, 0.01, 5), (16, 1e-6, 256, 0.02, 1), (3, 1e-4, 1, 0.5, 2)):
        for blanked in range(1, places + 1):
            show("epsilon", order, delta, tokens, c, blanked, places, epsilon(order, delta, tokens, c, blanked, places))
    for order in range(2, 17):
        show("exchange", order, 1e-3, 900, 0.01, exchange(order, 1e-3, 900, 0.01))
        show("exchange", order, 1e-6, 256, 0.1, exchange(order, 1e-6, 256, 0.1))
    for order in (2, 4, 8, 16):
        for c in (0.00005, 0.0002479, 0.0005, 0.0009, 0.0011, 0.01):
            show("ceiling", order, 1e-3, 900, c, 5, ceiling(order, 1e-3, 900, c, 5))
            show("ceiling", order, 1e-6, 900, c, 1000, ceiling(order, 1e-6, 900, c, 1000))
    for tokens, delta in ((900, 1e-3), (256, 1e-3), (256, 1e-6)):
        for asked in (1, 2, 4, 8, 16, 32):
            best, order = planned(asked, delta, tokens)
            show("planned", asked, delta, tokens, order, best * order)
    for delta, tokens, c in ((1e-3, 900, 0.01), (1e-6, 256, 0.02)):
        for blanked in (1, 2, 8):
            show("capped", delta, tokens, c, blanked, capped_epsilon(delta, tokens, c, blanked))


main()
