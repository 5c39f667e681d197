# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime GenAI at cuttle's job: contexts continued in lock step. Prints one JSON line.
usage: peer_ort.py MODEL_FOLDER PROMPTS.json THREADS NEW_TOKENS"""
import json
import statistics
import sys
import time

import numpy
import onnxruntime_genai

folder, prompts, threads, new = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(prompts, encoding="utf-8") as file:
    contexts = json.load(file)["ids"]
config = onnxruntime_genai.Config(folder)
config.clear_providers()
config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": threads, "inter_op_num_threads": 1}}}}))
model = onnxruntime_genai.Model(config)


def run(rows, tokens):
    """Seconds of reading the prompts, then of each step."""
    length = len(contexts[0])
    parameters = onnxruntime_genai.GeneratorParams(model)
    parameters.set_search_options(batch_size=rows, max_length=length + tokens + 2, min_length=length + tokens + 1, do_sample=False)
    generator = onnxruntime_genai.Generator(model, parameters)
    begin = time.perf_counter()
    generator.append_tokens(numpy.array(contexts[:rows], dtype=numpy.int32))
    seconds = [time.perf_counter() - begin]
    for _ in range(tokens):
        begin = time.perf_counter()
        generator.generate_next_token()
        seconds.append(time.perf_counter() - begin)
    return seconds


result = {"version": "onnxruntime-genai " + onnxruntime_genai.__version__}
for rows in (1, 8):
    run(rows, 2)
    seconds = run(rows, new)
    result[f"prompt{rows}"] = rows * len(contexts[0]) / seconds[0]
    # The first draw needs no pass through the model: its logits came with the prompt.
    result[f"step{rows}"] = 1e3 * statistics.median(seconds[2:])
print(json.dumps(result))
