# SPDX-License-Identifier: Apache-2.0
"""Runs cuttle and its peers in turn, several rounds, and compares medians. The table goes to standard error, JSON to standard output.
bench/README.md says what is measured."""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

PROMPT = 400
METRICS = ("prompt1", "prompt8", "row1", "row8")  # all per second, larger is better


def arguments():
    parser = argparse.ArgumentParser(prog="bench/peers.sh run", description=__doc__)
    parser.add_argument("--cache", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--cuttle", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--new", type=int, default=64, help="tokens written after each prompt")
    parser.add_argument("--models", default="smollm2,tinyllama", help="comma list of smollm2, tinyllama")
    parser.add_argument("--sides", default="", help="only these sides, a comma list of the names in the table")
    parser.add_argument("--timeout", type=int, default=900, help="seconds one side may take in one round")
    return parser.parse_args()


def read_cuttle(output):
    """One row is the public row alone (batch 0), eight rows are B = 7."""
    report, result = json.loads(output), {}
    for run in report["runs"]:
        result["isa"] = run["isa"]
        if run["parallel"] > 1:
            result["private"] = run["private_tokens_per_s"]
            continue
        rows = {0: 1, 7: 8}[run["batch"]]
        result[f"prompt{rows}"] = run["prompt_tokens_per_s"]
        result[f"step{rows}"] = run["step_ms"]
        if rows == 8:
            result["private"] = run["private_tokens_per_s"]
            result["parts_ms"] = run["parts_ms"]
    return result


def read_llama(output):
    result = {}
    for line in output.splitlines():
        if line.startswith("{"):
            run = json.loads(line)
            result[f"prompt{run['pl']}"] = run["speed_pp"]
            result[f"step{run['pl']}"] = 1e3 * run["t_tg"] / run["tg"]
    return result


def read_driver(output):
    return json.loads(output.splitlines()[-1])


def sides_of(shape, options):
    """name -> (command, extra environment, reader) of every side that is set up."""
    cache, threads = options.cache, str(options.threads)
    gguf = f"{cache}/ours/smollm2.Q4_1.gguf" if shape == "smollm2" else f"{cache}/ours/tinyllama.Q4_0.gguf"
    sides = {}
    bench = [options.cuttle, "bench", "-m", gguf, "-p", str(PROMPT), "-n", str(options.new), "-t", threads, "-r", "1", "-o", "json"]
    sides["cuttle"] = (bench + ["-B", "0,7"], {}, read_cuttle)
    sides["cuttle avx2"] = (bench + ["-B", "0,7", "--isa", "avx2"], {}, read_cuttle)
    sides["cuttle parallel 4"] = (bench + ["-B", "7", "--parallel", "4"], {}, read_cuttle)
    llama = [f"{cache}/llama/native/bin/llama-batched-bench", "-m", gguf, "-t", threads, "-tb", threads, "-c", "4096", "-fa", "on",
             "-npp", str(PROMPT), "-ntg", str(options.new), "-npl", "1,8", "--output-format", "jsonl"]
    sides["llama.cpp"] = (llama, {}, read_llama)
    sides["llama.cpp avx2"] = (llama, {"LD_LIBRARY_PATH": f"{cache}/llama/avx2/bin"}, read_llama)
    drivers = [("OpenVINO int4", "openvino", "int4", "peer_openvino.py"), ("OpenVINO int8", "openvino", "int8", "peer_openvino.py"),
               ("ONNX Runtime int4", "onnxruntime", "int4", "peer_ort.py")]
    for name, peer, bits, driver in drivers:
        command = [f"{cache}/venv-{peer}/bin/python", os.path.join(os.path.dirname(os.path.abspath(__file__)), driver),
                   f"{cache}/{peer}/{shape}-{bits}", f"{cache}/ours/{shape}.json", threads, str(options.new)]
        sides[name] = (command, {}, read_driver)
    needed = {"llama.cpp": ["llama"], "llama.cpp avx2": ["llama"], "OpenVINO int4": [f"openvino/{shape}-int4"],
              "OpenVINO int8": [f"openvino/{shape}-int8"], "ONNX Runtime int4": [f"onnxruntime/{shape}-int4"]}
    wanted = options.sides.split(",") if options.sides else list(sides)
    ready = {}
    for name in wanted:
        if all(os.path.exists(f"{cache}/{folder}/complete") for folder in needed.get(name, [])):
            ready[name] = sides[name]
        else:
            print(f"compare: {name} is not set up for {shape}: left out", file=sys.stderr)
    return ready


def run(side, timeout):
    """What the side measured, or None and why."""
    command, environment, reader = side
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode:
            return None, f"exit code {done.returncode}: " + (done.stderr.strip().splitlines() or [""])[-1]
        result = reader(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError) as error:
        return None, f"{type(error).__name__}: {error}"
    for rows in (1, 8):
        if f"step{rows}" in result:
            result[f"row{rows}"] = rows * 1e3 / result[f"step{rows}"]
    return result, None


def rounds_of(shape, options):
    sides, results, failures = sides_of(shape, options), {}, {}
    for number in range(options.rounds):
        # Back and forth: what drifts does not favour a side.
        for name in list(sides)[:: -1 if number % 2 else 1]:
            if name in failures:
                continue
            print(f"compare: {shape}, round {number + 1} of {options.rounds}: {name}", file=sys.stderr)
            result, why = run(sides[name], options.timeout)
            if result is None:
                failures[name] = why
                print(f"compare: {name} is left out: {why}", file=sys.stderr)
            else:
                results.setdefault(name, {})[number] = result
    return {name: rounds for name, rounds in results.items() if name not in failures}, failures


def summary(rounds):
    """Per number: median, least and greatest over the rounds."""
    keys = [key for key, value in next(iter(rounds.values())).items() if isinstance(value, (int, float))]
    values = {key: [result[key] for result in rounds.values()] for key in keys}
    texts = {key: value for key, value in next(iter(rounds.values())).items() if isinstance(value, str)}
    numbers = {key: {"median": statistics.median(v), "min": min(v), "max": max(v)} for key, v in values.items()}
    return {**texts, **numbers}


def ratio(results, ours, our_key, theirs, their_key):
    """Median over the rounds of the ratio within one round, or None when a side is missing."""
    if ours not in results or theirs not in results:
        return None
    pairs = [(result.get(our_key), results[theirs][number].get(their_key)) for number, result in results[ours].items()]
    return statistics.median(a / b for a, b in pairs) if all(a and b for a, b in pairs) else None


def ratios(results):
    peers = [name for name in results if not name.startswith("cuttle")]
    found = {}
    for metric in METRICS:
        against = {peer: ratio(results, "cuttle", metric, peer, metric) for peer in peers if not peer.endswith("avx2")}
        against = {peer: value for peer, value in against.items() if value}
        if against:
            best = min(against, key=against.get)
            found[metric] = {"best_peer": best, "to_best_peer": against[best], "to_each": against}
            found[metric]["avx2_to_llama_avx2"] = ratio(results, "cuttle avx2", metric, "llama.cpp avx2", metric)
    found["private_b7_to_llama_row1"] = ratio(results, "cuttle", "private", "llama.cpp", "row1")
    found["private_b7_to_onnxruntime_row1"] = ratio(results, "cuttle", "private", "ONNX Runtime int4", "row1")
    found["private_b7_parallel4_to_llama_row1"] = ratio(results, "cuttle parallel 4", "private", "llama.cpp", "row1")
    return found


def machine():
    model, flags = platform.machine(), set()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            if key.strip() in ("flags", "Features"):
                flags = set(value.split())
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(file.readline().split()[1]) // 1024
    kinds = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16", "asimddp", "i8mm")
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "memory_mib": memory, "isa": [kind for kind in kinds if kind in flags],
            "kernel": platform.release(), "load_before": os.getloadavg()[0]}


def cell(numbers, key, form="{:.0f}"):
    if key not in numbers:
        return ""
    value = numbers[key]
    return f"{form.format(value['median'])} ({form.format(value['min'])}-{form.format(value['max'])})"


def table(shape, summaries, found):
    lines = [f"### {shape}", "",
             "| side | prompt tok/s, 1 context | 8 contexts | 1 row tok/s | ms | 8 rows: rows/s | ms/step | private tok/s |",
             "|---|---|---|---|---|---|---|---|"]
    for name, numbers in summaries.items():
        cells = [cell(numbers, "prompt1"), cell(numbers, "prompt8"), cell(numbers, "row1", "{:.1f}"), cell(numbers, "step1", "{:.2f}"),
                 cell(numbers, "row8"), cell(numbers, "step8", "{:.1f}"), cell(numbers, "private", "{:.1f}")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| cuttle against | best peer | ratio | llama.cpp | avx2 against llama.cpp avx2 |", "|---|---|---|---|---|"]
    names = {"prompt1": "prompt, 1 context", "prompt8": "prompt, 8 contexts", "row1": "1 row", "row8": "8 rows"}

    def number(value):
        return "" if value is None else f"{value:.2f}"

    for metric in METRICS:
        if metric in found:
            entry = found[metric]
            lines.append(f"| {names[metric]} | {entry['best_peer']} | {number(entry['to_best_peer'])} "
                         f"| {number(entry['to_each'].get('llama.cpp'))} | {number(entry['avx2_to_llama_avx2'])} |")
    lines += ["", f"Private tokens/s, B = 7, to llama.cpp's single stream: {number(found['private_b7_to_llama_row1'])}; "
              f"to ONNX Runtime's: {number(found['private_b7_to_onnxruntime_row1'])}; "
              f"--parallel 4 to llama.cpp's: {number(found['private_b7_parallel4_to_llama_row1'])}", ""]
    return "\n".join(lines)


def main():
    options = arguments()
    report = {"date": datetime.date.today().isoformat(), "machine": machine(), "threads": options.threads, "prompt": PROMPT,
              "new_tokens": options.new, "rounds": options.rounds, "models": {}}
    load = report["machine"]["load_before"]
    if load > 0.5:
        print(f"compare: the machine is busy (load {load:.1f}): the numbers will not mean much", file=sys.stderr)
    tables = []
    for shape in options.models.split(","):
        results, failures = rounds_of(shape, options)
        summaries = {name: summary(rounds) for name, rounds in results.items()}
        found = ratios(results)
        report["models"][shape] = {"sides": summaries, "ratios": found, "left_out": failures,
                                   "rounds": {name: list(rounds.values()) for name, rounds in results.items()}}
        tables.append(table(shape, summaries, found))
    about = report["machine"]
    print(f"\n{about['cpu']}, {about['cores']} cores, {' '.join(about['isa'])}; {options.threads} threads; {options.rounds} rounds, "
          f"median (least-greatest); {report['date']}; load before the run {about['load_before']:.2f}\n", file=sys.stderr)
    print("\n".join(tables), file=sys.stderr)
    json.dump(report, sys.stdout, indent=1)
    print()


main()
