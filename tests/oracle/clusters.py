#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second implementation of `cuttle clusters --by words`, from the headings of topics/tfidf.h, topics/centres.h,
topics/topics.h and topics/clusters_file.h. Prints the SHA-256 of the clusters file.
usage: clusters.py K PUBLIC.jsonl"""
import hashlib, json, math, re, struct, sys
from fractions import Fraction

ONE, WIDTH, WORDS = 1 << 15, 4096, 512


def log(above, below):
    """round(16 log2(above / below)): the greatest r with 2^((2r - 1)/32) <= above / below."""
    r, x = 0, Fraction(above, below) ** 32
    while x >= Fraction(2) ** (2 * r + 1):
        r += 1
    return r


def words(text):
    found = re.findall(rb"[A-Za-z\x80-\xff]+", text)[:WORDS]
    return [bytes(c + 32 if 65 <= c <= 90 else c for c in w) for w in found]


def digest(word):
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def count(items):
    counts = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


def feature(counts, weights):
    v = {d: log(1 + min(c, 255), 1) * weights[d] for d, c in counts.items() if weights[d]}
    root = math.isqrt(sum(x * x for x in v.values()))
    return {d: x * ONE // root for d, x in v.items() if x}


class Stream:
    """splitmix64"""

    state, mask = 0, (1 << 64) - 1

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.mask
        x = self.state
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & self.mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & self.mask
        return x ^ x >> 31


def dot(a, b):
    return sum(x * b.get(d, 0) for d, x in a.items())


def start(points, k, stream):
    centres = [points[stream.next() % len(points)]]
    best = [None] * len(points)
    while len(centres) < k:
        for i, p in enumerate(points):
            s = dot(p, centres[-1])
            best[i] = s if best[i] is None or s > best[i] else best[i]
        far = [max(0, ONE * ONE - b) for b in best]
        rest, chosen = (stream.next() % sum(far) if sum(far) else 0), 0
        while chosen + 1 < len(points) and rest >= far[chosen]:
            rest -= far[chosen]
            chosen += 1
        centres.append(points[chosen])
    return centres


def assign(points, centres):
    products = [[dot(p, c) for c in centres] for p in points]
    best = [max(row) for row in products]
    return [row.index(b) for row, b in zip(products, best)], best


def fill(clusters, best, k):
    sizes = [clusters.count(j) for j in range(k)]
    for j in range(k):
        if not sizes[j]:
            i = min((i for i in range(len(best)) if sizes[clusters[i]] > 1), key=lambda i: (best[i], i))
            sizes[clusters[i]] -= 1
            clusters[i], sizes[j] = j, 1


def direction(points):
    s = {}
    for p in points:
        for d, x in p.items():
            s[d] = s.get(d, 0) + x
    root = math.isqrt(sum(x * x for x in s.values()))
    return {d: x * ONE // root for d, x in s.items()} if root else {}


def k_means(points, k):
    stream, kept = Stream(), None
    for _ in range(10):
        centres = start(points, k, stream)
        for _ in range(25):
            clusters, best = assign(points, centres)
            fill(clusters, best, k)
            centres = [direction([p for p, c in zip(points, clusters) if c == j]) for j in range(k)]
        clusters, best = assign(points, centres)
        if kept is None or sum(best) > kept[0]:
            kept = sum(best), centres, clusters
    return kept[1:]


def names(texts, clusters, k):
    n, sizes, heavy = len(texts), [clusters.count(j) for j in range(k)], [[] for _ in range(k)]
    times = [count(words(t)) for t in texts]
    for w in sorted({w for t in times for w in t}, key=digest):
        df = sum(w in t for t in times)
        if df < 2 or len(w) > 24:
            continue
        weights = [log(1 + n, 1 + df) * log(1 + t.get(w, 0), 1) for t in times]
        for j in range(k):
            heavier = n * sum(x for x, c in zip(weights, clusters) if c == j) - sizes[j] * sum(weights)
            if heavier > 0:
                heavy[j].append((-heavier, w))
    best = [sorted(h, key=lambda pair: pair[0])[:5] for h in heavy]  # stable: of equals the lower hash first
    return [b" ".join(w for _, w in b) or b"cluster %d" % j for j, b in enumerate(best)]


def main():
    k = int(sys.argv[1])
    texts = [json.loads(line)["text"].encode().strip() for line in open(sys.argv[2], encoding="utf-8")]
    counts = [count(digest(w) % WIDTH for w in words(t)) for t in texts]
    df = [sum(d in c for c in counts) for d in range(WIDTH)]
    weights = [log(1 + len(texts), 1 + x) if x > 1 else 0 for x in df]
    pairs = [(t, f) for t, f in ((t, feature(c, weights)) for t, c in zip(texts, counts)) if f]
    centres, clusters = k_means([f for _, f in pairs], k)
    out = struct.pack("<24s6I64s", b"cuttle clusters 1\n", 0, k, len(pairs), 0, 0, 0, b"")
    out += b"".join(name.ljust(128, b"\0") for name in names([t for t, _ in pairs], clusters, k))
    out += struct.pack(f"<{k}I", *(clusters.count(j) for j in range(k)))
    out += struct.pack(f"<{WIDTH * k}i", *(c.get(d, 0) for d in range(WIDTH) for c in centres))
    out += struct.pack(f"<{WIDTH}H", *weights)
    out += hashlib.sha256(out).hexdigest().encode()
    print(hashlib.sha256(out).hexdigest())


main()
