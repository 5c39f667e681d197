# SPDX-License-Identifier: Apache-2.0
"""Runs build/masks and bench/peer_masks.py in turn, several rounds, and prints tables. bench/README.md says what is measured.
usage: masks.py VOCAB.gguf DRAWN.json PYTHON LIBLLAMA.so ROUNDS"""
import json
import os
import platform
import subprocess
import sys

SIDES = ("cuttle", "llguidance", "xgrammar", "llama.cpp")
# Nothing but the one thread.
ALONE = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def run(side, vocab, drawn, python, llama):
    here = os.path.dirname(os.path.abspath(__file__))
    command = ["build/masks", "time", vocab, drawn] if side == "cuttle" else \
        [python, os.path.join(here, "peer_masks.py"), side, drawn] + ([vocab, llama] if side == "llama.cpp" else [])
    try:
        done = subprocess.run(command, env={**os.environ, **ALONE}, capture_output=True, text=True, check=False)
        if not done.returncode:
            return json.loads(done.stdout)
        reason = (done.stderr.strip().splitlines() or ["no reason"])[-1]
    except OSError as error:
        reason = str(error)
    print(f"SKIPPED: {side}: {reason}", file=sys.stderr)
    return None


def pool(reports, case, name):
    """All of the rounds in order of size, without the time of a call that does nothing."""
    values = []
    for report in reports:
        more = report["cases"][case][name]
        values += [max(value - report["call"], 0) for value in more] if isinstance(more, list) else [more]
    return sorted(values)


def spread(values):
    number = [values[len(values) // 2], values[len(values) * 99 // 100], values[-1]]
    return " / ".join(f"{value:.2f}" if value < 10 else f"{value:,.0f}" for value in number)


def machine():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{model}, {os.cpu_count()} processors, {platform.system()} {platform.release().split('-')[0]}"


def main():
    vocab, drawn, python, llama, rounds = sys.argv[1:6]
    with open(drawn, encoding="utf-8") as file:
        given = json.load(file)
    reports = {side: [] for side in SIDES}
    gone = set()
    for number in range(int(rounds)):
        for side in SIDES[::-1] if number % 2 else SIDES:
            report = run(side, vocab, drawn, python, llama) if side not in gone else None
            if report:
                reports[side].append(report)
            else:
                gone.add(side)
    print(f"\n{len(given['tokens']):,} tokens; {machine()}; one thread; {rounds} rounds; microseconds")
    for side in SIDES:
        if reports[side]:
            one = reports[side][0]
            print(f"{side} {one.get('version', 'of this tree')}; a call that does nothing: {one['call']:.2f}, taken off")
    print("\n| case | side | compile | mask, first: median / p99 / most | mean | again | step, first | tokens allowed |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for number, case in enumerate(given["cases"]):
        for side in SIDES:
            if not reports[side] or "refused" in reports[side][0]["cases"][number]:
                reason = reports[side][0]["cases"][number]["refused"] if reports[side] else "SKIPPED"
                print(f"| {case['name']} | {side} | {reason} |")
                continue
            compiled, first, again, step = (pool(reports[side], number, name) for name in ("compile", "first", "again", "step"))
            one = reports[side][0]["cases"][number]
            allowed = one["allowed"] / len(one["first"])
            print(f"| {case['name']} | {side} | {compiled[len(compiled) // 2]:,.0f} | {spread(first)} | "
                  f"{sum(first) / len(first):,.2f} | {spread(again)} | {spread(step)} | {allowed:,.1f} |")


if __name__ == "__main__":
    main()
