#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run on many machines takes, on paper: launch, imbalance, and a file server that all share. No cuttle is run.

usage: bench/scale.py [--seed S]

A shard is k texts, one after the other; how long a text takes is gamma-distributed around its mean, cv is its deviation over its mean. Shards
are started in the order of their numbers, so many a second, on the first node that is free. Each node reads the model once, from a server
whose bandwidth all that read share. For bench/SCALE.md.
"""
import argparse
import heapq
import math
import random


def loads(nodes, size, bandwidth, starts, tree):
    """When each node has the model: the server's bandwidth is shared by those that read now, or a tree of copies doubles them."""
    if tree:  # a broadcast: each node that has it gives it to another, at a gigabit network's 100 MB/s
        return [math.ceil(math.log2(i + 2)) * size / 100e6 for i in range(nodes)]
    left, now, reading, done, waiting = [], 0.0, {}, [0.0] * nodes, list(enumerate(starts))[::-1]
    while waiting or reading:
        rate = bandwidth / len(reading) if reading else 0
        soonest = min(reading, key=reading.get) if reading else None
        ends = now + reading[soonest] / rate if reading else math.inf
        begins = waiting[-1][1] if waiting else math.inf
        then = min(ends, begins)
        for node in reading:
            reading[node] -= (then - now) * rate
        now = then
        if ends <= begins:
            del reading[soonest]
            done[soonest] = now
        else:
            node, _ = waiting.pop()
            reading[node] = size
    return done


def run(draw, texts, mean, cv, nodes, shards, launched, size, bandwidth, tree, begin):
    """Seconds until the last text, and the part of the nodes' time that was spent on texts."""
    each = [texts // shards + (i < texts % shards) for i in range(shards)]
    shape = 1 / cv**2
    work = [sum(draw.gammavariate(shape, mean / shape) for _ in range(k)) for k in each]
    have = loads(nodes, size, bandwidth, [i / launched for i in range(nodes)], tree)
    free = [(max(i / launched, have[i]), i) for i in range(nodes)]
    heapq.heapify(free)
    last = 0.0
    for i, seconds in enumerate(work):
        at, node = heapq.heappop(free)
        end = max(at, i / launched) + begin + seconds
        last = max(last, end)
        heapq.heappush(free, (end, node))
    return last, sum(work) / (last * nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    draw = random.Random(parser.parse_args().seed)
    texts, tokens, token = 100000, 500, 8.5e-3
    mean = tokens * token
    print(f"{texts} texts of {tokens} tokens, {token * 1e3} ms a token: {texts * mean / 3600:.0f} h on one node, "
          f"{texts * mean / 60 / 1000:.1f} min on 1,000 without loss\n")

    print("| texts of a shard | cv | mean/max of 1,000 shards, simulated (20 runs) | 1/(1 + 3.2 cv/sqrt k) |\n|---|---|---|---|")
    for k, cv in ((10, 0.4), (100, 0.4), (1000, 0.4), (100, 0.8)):
        shape, found = 1 / cv**2, []
        for _ in range(20):
            # A sum of k gamma variables of one scale is a gamma variable.
            sums = [draw.gammavariate(k * shape, 1) for _ in range(1000)]
            found.append(sum(sums) / len(sums) / max(sums))
        print(f"| {k} | {cv} | {sum(found) / len(found):.3f} | {1 / (1 + 3.2 * cv / math.sqrt(k)):.3f} |")

    print("\n| nodes | shards | model from | launched a second | minutes | nodes' time on texts |\n|---|---|---|---|---|---|")
    for nodes, shards, tree, launched in ((1000, 1000, False, 1000), (1000, 1000, False, 50), (1000, 1000, True, 50), (1000, 5000, True, 50),
                                          (1000, 5000, True, 200), (100, 1000, True, 50), (10, 100, True, 50)):
        seconds, part = run(draw, texts, mean, 0.4, nodes, shards, launched, 98e6, 1e9, tree, 0.5)
        print(f"| {nodes} | {shards} | {'a tree of copies' if tree else 'one server, 1 GB/s'} | {launched} | {seconds / 60:.1f} | {part:.2f} |")

    # The journal is written per token and synced per text. A node's cache joins the writes of a text, where the file system has one.
    line, each = 40, 1000 / mean
    print(f"\n1,000 nodes: {1000 / token:.0f} tokens a second, so as many writes of {line} bytes where nothing is cached; {each:.0f} texts a second, "
          f"so as many syncs of {tokens * line / 1000:.0f} KB, {each * tokens * line / 1e6:.1f} MB/s, where a node caches")


main()
