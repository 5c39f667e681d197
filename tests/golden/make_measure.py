#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others say of measure/: prints tests/golden/measure.txt. Rows of numbers follow from a formula
that tests/measure/ repeats, so that only results are stored. Run on a machine with
  python3 -m venv ../venv && ../venv/bin/pip install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
  ../venv/bin/pip install mauve-text==0.4.0 faiss-cpu==1.15.1 torch==2.14.1 packaging tqdm requests
  ../venv/bin/python tests/golden/make_measure.py > tests/golden/measure.txt
mauve-text is used as a program, for numbers alone. A line is a name and numbers."""
import math
import numpy as np
from scipy import special, stats
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

M = (1 << 64) - 1


def finish(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return z ^ (z >> 31)


class Stream:  # measure/stream.h, and tiny_random of the tests when made by Stream(seed)
    G = 0x9E3779B97F4A7C15

    def __init__(self, state):
        self.state = state

    @classmethod
    def of(cls, seed, which):
        return cls(finish((finish((seed + cls.G) & M) + which * cls.G + 1) & M))

    def bits(self):
        self.state = (self.state + self.G) & M
        return finish(self.state)

    def below(self, limit):
        while True:
            b = self.bits()
            if b <= M - (1 << 64) % limit:
                return b % limit

    def unit(self):  # -1 .. 1, exact in a float
        return (self.bits() >> 40) / 2**23 - 1


def rows(seed, count, width, groups, shares, spread):
    """Row i belongs to a group drawn by shares of 16; its centre plus noise, later columns smaller."""
    s = Stream(seed)
    centres = [[s.unit() for _ in range(width)] for _ in range(groups)]
    x, y = np.zeros((count, width), np.float32), []
    for i in range(count):
        lot, g = s.bits() % 16, 0
        while lot >= shares[g]:
            lot -= shares[g]
            g += 1
        y.append(g)
        for j in range(width):
            x[i, j] = np.float32((centres[g][j] + spread * s.unit()) / (1 + j))
    return x, np.array(y)


def say(name, *values):
    print(name, *[f"{float(v):.17g}" for value in values for v in np.ravel(value)])


def unit(x):
    x = x.astype(float)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def pca():
    for name, count, width in (("tall", 120, 24), ("wide", 30, 70)):
        x, _ = rows(11, count, width, 4, (4, 4, 4, 4), 1.0)
        x = unit(x)
        fit = PCA(svd_solver="full").fit(x)
        reached = np.cumsum(fit.explained_variance_ratio_)
        kept = int(np.argmax(reached >= .9)) + 1
        say(f"pca_{name}_shares", fit.explained_variance_ratio_[:kept])
        axes = fit.components_[:kept]
        axes = axes * np.sign(axes[np.arange(kept), np.argmax(np.abs(axes), axis=1)])[:, None]
        say(f"pca_{name}_rows", ((x - fit.mean_) @ axes.T)[[0, 7, count - 1]])


def kmeans():
    x, _ = rows(12, 300, 8, 6, (1, 2, 3, 4, 3, 3), .9)
    x, k, best = x.astype(float), 7, (math.inf,)
    for start in range(5):
        s, order = Stream.of(3, start), list(range(len(x)))
        for c in range(k):
            o = c + s.below(len(x) - c)
            order[c], order[o] = order[o], order[c]
        fit = KMeans(k, init=x[order[:k]], n_init=1, max_iter=500, tol=0, algorithm="lloyd").fit(x)
        sizes = np.bincount(fit.labels_, minlength=k)
        say(f"kmeans_start_{start}", fit.inertia_)
        if fit.inertia_ < best[0]:
            best = (fit.inertia_, sizes, fit.labels_)
    say("kmeans_best", best[0])
    say("kmeans_sizes", best[1])
    say("kmeans_labels", best[2])


HISTOGRAMS = (([10, 20, 30, 40], [40, 30, 20, 10]), ([50, 0, 25, 25], [0, 50, 25, 25]), ([5, 5, 5, 5], [5, 5, 5, 5]),
              ([7, 1, 0, 12, 30], [6, 2, 3, 9, 30]), ([20, 0], [0, 20]),
              ([3, 9, 0, 0, 40, 11, 7, 0, 1, 29], [12, 9, 2, 0, 31, 0, 7, 8, 1, 30]))


def mauve_end():
    """What mauve-text says from vectors to numbers. Its clusters are its own, hence .02."""
    import mauve
    one, _ = rows(13, 200, 32, 5, (6, 4, 3, 2, 1), 1.0)
    other, _ = rows(13, 400, 32, 5, (1, 2, 3, 4, 6), 1.0)
    other = other[200:]
    for c in (.9, 5.0):
        out = [mauve.compute_mauve(p_features=one, q_features=other, num_buckets=10, mauve_scaling_factor=c, seed=s,
                                   kmeans_num_redo=5, kmeans_max_iter=500, verbose=False) for s in range(5)]
        say(f"mauve_end_{c}", [np.mean([getattr(o, f) for o in out])
                               for f in ("mauve", "mauve_star", "frontier_integral", "frontier_integral_star")])


def mauve_curve():
    """What mauve-text makes of shares. Its own area is of sorted points."""
    from mauve.compute_mauve import get_divergence_curve_for_multinomials as curve, get_fronter_integral as frontier
    for n, (a, b) in enumerate(HISTOGRAMS):
        for name, extra in (("", 0), ("_star", .5)):
            p, q = (np.array(a) + extra) / (sum(a) + extra * len(a)), (np.array(b) + extra) / (sum(b) + extra * len(b))
            scores = []
            for c in (.9, 5):
                x, y = curve(p, q, np.linspace(1e-6, 1 - 1e-6, 25), c).T
                i, j = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
                scores.append(.5 * (metrics.auc(x[i], y[i]) + metrics.auc(y[j], x[j])))
            say(f"mauve_{n}{name}", scores, frontier(p, q))


def probe():
    for name, count, train, width, groups in (("tall", 260, 160, 12, 4), ("wide", 120, 50, 90, 3)):
        x, y = rows(14, count, width, groups, (8, 4, 2, 2) if groups == 4 else (6, 5, 5), 2.5)
        x = unit(x).astype(np.float32).astype(float)
        fit = LogisticRegression(C=10, tol=1e-12, max_iter=10000, solver="newton-cg").fit(x[:train], y[:train])
        chances = fit.predict_log_proba(x[train:])
        guess = fit.predict(x[train:])
        say(f"probe_{name}_rates", metrics.accuracy_score(y[train:], guess), metrics.balanced_accuracy_score(y[train:], guess))
        say(f"probe_{name}_chances", chances[[0, 1, 2, count - train - 1]])
        say(f"probe_{name}_area", metrics.roc_auc_score(y[train:] == 0, np.round(chances[:, 0], 1)))


def samples():
    s = Stream(15)
    a, b = [s.bits() % 50 for _ in range(300)], [3 + s.bits() % 45 for _ in range(170)]
    say("samples", np.mean(a), np.std(a, ddof=1), 2.576 * np.std(a, ddof=1) / math.sqrt(300), stats.ks_2samp(a, b).statistic)


def binomial():
    for n, (a, b, x) in enumerate(((.5, .5, .3), (2, 3, .7), (180, 21, .88), (568, 1433, .2843), (1, 2000, 1e-4), (5000, 5001, .49), (3.5, 200, .9))):
        say(f"beta_{n}", a, b, x, special.betainc(a, b, x))
    for i, (k, n, a) in enumerate(((0, 200, .05), (0, 200, 1e-6), (17, 200, .025), (200, 200, .025), (568, 2000, .025), (20, 2000, .025), (3, 2000, .05), (9999, 10000, 5e-7))):
        low = 0 if k == 0 else special.betaincinv(k, n - k + 1, a)
        high = 1 if k == n else special.betaincinv(k + 1, n - k, 1 - a)
        say(f"proportion_{i}", k, n, a, low, high)


for part in (pca, kmeans, mauve_curve, mauve_end, probe, samples, binomial):
    part()
