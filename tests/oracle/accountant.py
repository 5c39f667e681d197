#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# dp/zcdp and dp/exact a second time, from the papers, in some forty lines of standard Python, and the vectors that it makes:
#   tests/oracle/accountant.py > tests/golden/accountant.txt               (about 25 s; tests/dp/test_dp_vectors.c reads the file)
#   tests/oracle/accountant.py | diff - tests/golden/accountant.txt        (checks the file; part of `make test-nightly`)
# Values are rounded down, so what dp/ promises may not be below them. Sources: Canonne, Kamath & Steinke 2020 (2004.00010); Bun & Steinke
# 2016 (1605.02065); Dong, Durfee & Rogers 2020 (1909.13830).
import math
from decimal import ROUND_FLOOR, Context, Decimal, getcontext
from fractions import Fraction

getcontext().prec = 45


def least(f):
    """Minimum over b > 0 of a function that first falls, then rises: ternary search in ln b."""
    low, high = Decimal(-60), Decimal(60)
    for _ in range(130):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if f(left.exp()) < f(right.exp()) else (left, high)
    return f(((low + high) / 2).exp())


def cks_epsilon(rho, delta):  # of order 1 + b
    rho, delta = Decimal(rho), Decimal(delta)
    return least(lambda b: (1 + b) * rho - ((1 + b) * delta).ln() / b + (b / (1 + b)).ln())


def cks_delta(rho, epsilon):
    rho, epsilon = Decimal(rho), Decimal(epsilon)
    return least(lambda b: b * ((1 + b) * rho - epsilon) + (1 + b) * (b / (1 + b)).ln() - b.ln()).exp()


def cks_rho(epsilon, delta):
    low, high = Decimal(0), Decimal(epsilon)
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if cks_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


def bs16_epsilon(rho, delta):
    return Decimal(rho) + 2 * (Decimal(rho) * -Decimal(delta).ln()).sqrt()


def rho_of_clip(clip, batch, tau, tokens):
    rho = Fraction(tokens) * Fraction(clip) ** 2 / (2 * batch**2 * Fraction(tau) ** 2)
    return Decimal(rho.numerator) / Decimal(rho.denominator)


def guarantee(batch, tokens, num, den, clip_fixed, fraction_bits, delta):
    slack = 1 + Fraction(1, 10**9)
    return cks_epsilon(rho_of_clip(Fraction(clip_fixed, 2**fraction_bits) * slack, batch, Fraction(num, den), tokens), delta)


def recursion(eta, tokens, grid, width, above):
    """V_T at e = j eta / grid, |j| <= grid width. above: the polygon of dp/PRIVACY.md 11. Else t keeps to the grid, so that nothing is
    interpolated: what an attack really reaches, so below V_T."""
    h, shrink, least_j = eta / grid, math.exp(-eta), -grid * (width + 1) - 1
    scale = math.expm1(h) / -math.expm1(-eta)
    down = [math.expm1(i * h - eta) / math.expm1(-eta) for i in range(grid + 1)]
    v = [max(0.0, -math.expm1(j * h)) for j in range(least_j, 2 - least_j)]
    inside = range(grid + 1, len(v) - grid - 2)
    for _ in range(tokens):
        bend = [scale * (v[j] - v[j + 1] - shrink * (v[j + grid] - v[j + grid + 1])) for j in range(len(v) - grid - 1)]
        new = v[:]
        for at in inside:
            best = last = v[at]
            for i in range(1, grid + 1):
                here, d = down[i] * v[at - i] + (1 - down[i]) * v[at - i + grid], bend[at - i]
                if above and d > 0:
                    best = max(best, last + (min(max(here - last, -d), d) + d) ** 2 / (4 * d))
                best, last = max(best, here), here
            new[at] = best
        if above:  # beyond the window towards (exp(e) = 0, V = 1) on the left, constant on the right
            new[: inside[0]] = [1 + (new[inside[0]] - 1) * math.exp((j - inside[0]) * h) for j in range(inside[0])]
            new[inside[-1] + 1 :] = [new[inside[-1]]] * (len(v) - inside[-1] - 1)
        v = new
    return {least_j + at: x for at, x in enumerate(v)}


def exact_delta(eta, tokens, epsilon, grid, width):
    v, j, h = recursion(eta, tokens, grid, width, True), math.floor(epsilon / eta * grid), eta / grid
    return v[j] - (v[j] - v[j + 1]) * math.expm1(epsilon - j * h) / math.expm1(h)


def exact_epsilon(eta, tokens, delta, grid, width):
    v, h = recursion(eta, tokens, grid, width, True), eta / grid
    j = max(j for j in v if v[j] > delta)
    return j * h + math.log1p((v[j] - delta) / (v[j] - v[j + 1]) * math.expm1(h))


def attack_epsilon(eta, tokens, delta, grid, width):
    v = recursion(eta, tokens, grid, width, False)
    return max(j for j in v if v[j] > delta * (1 + 1e-9)) * eta / grid


def show(function, *arguments):
    value = function(*arguments)
    digits = 20 if isinstance(value, Decimal) else 13
    print(function.__name__, *arguments, Context(digits, ROUND_FLOOR).create_decimal(value))


def main():
    print("# made by tests/oracle/accountant.py: function, its arguments, its value rounded down")
    for rho in (1e-4, 0.001, 0.0243559703595, 0.1, 0.5, 1.53927876387, 5.0, 30.0, 10000.0):
        for delta in (0.001, 1e-6, 1e-9, 1e-12):
            show(cks_epsilon, rho, delta)
        show(bs16_epsilon, rho, 1e-6)
    for rho, epsilon in ((0.1, 1.0), (0.01, 1.0), (1.0, 5.0), (1.5, 10.0), (0.185, 3.0), (20.0, 60.0)):
        show(cks_delta, rho, epsilon)
    for epsilon, delta in ((1.0, 1e-6), (3.0, 1e-6), (10.0, 1e-6), (5.0, 1e-5), (0.1, 1e-9)):
        show(cks_rho, epsilon, delta)
    for clip, batch, tau, tokens in ((0.0829, 7, 1.2, 500), (0.66, 7, 1.2, 500), (1.0, 1, 1.0, 1), (22.28, 127, 1.0, 100), (3e-5, 8, 0.7, 60)):
        show(rho_of_clip, clip, batch, tau, tokens)
    for num, den, clips in ((1, 1, (283, 780, 1233, 2249)), (11, 10, (311, 858, 1357, 2474)), (6, 5, (339, 936, 1480, 2699))):
        for clip_fixed in clips:  # B = 7, T = 500 at epsilon 1, 3, 5, 10: Table 12 of the paper
            show(guarantee, 7, 500, num, den, clip_fixed, 12, 1e-6)
    show(guarantee, 127, 100, 1, 1, 11417, 9, 1e-6)
    for batch, tokens, clip_fixed, bits in ((31, 4, 65535, 11), (255, 100, 8162, 8), (1024, 100, 1996, 6), (4096, 100, 487, 4)):
        show(guarantee, batch, tokens, 1, 1, clip_fixed, bits, 1e-6)  # the largest clips that the weights hold
    for eta, tokens, epsilons in ((0.5, 1, (0.1, 0.3)), (0.5, 8, (0.5, 1.0, 2.0)), (2.0, 4, (1.7, 4.0)), (0.02, 10, (0.05,))):
        for epsilon in epsilons:
            show(exact_delta, eta, tokens, epsilon, 32, tokens)
    for eta, tokens, delta, grid in ((0.5, 8, 0.01, 32), (3.0, 3, 0.001, 64), (0.05, 6, 1e-4, 16)):
        show(exact_epsilon, eta, tokens, delta, grid, tokens)
        show(attack_epsilon, eta, tokens, delta, 4 * grid, tokens)
    for eta, width in ((0.156934553669, 110), (0.0197407, 110)):  # the paper's T = 500, epsilon 10 and 1 of zCDP
        show(exact_epsilon, eta, 500, 1e-6, 8, width)
        show(attack_epsilon, eta, 500, 1e-6, 8, width)
    for clip, batch, tokens in ((65535 / 2**11, 31, 4), (8162 / 2**8, 255, 100), (1996 / 2**6, 1024, 100), (487 / 2**4, 4096, 100)):
        show(exact_epsilon, 2 * clip / batch, tokens, 1e-6, 8, tokens)


main()
