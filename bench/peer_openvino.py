# SPDX-License-Identifier: Apache-2.0
"""OpenVINO GenAI at cuttle's job: contexts continued in lock step. Prints one JSON line.
usage: peer_openvino.py IR_FOLDER PROMPTS.json THREADS NEW_TOKENS"""
import json
import statistics
import sys
import time

import numpy
import openvino
import openvino_genai

folder, prompts, threads, new = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(prompts, encoding="utf-8") as file:
    contexts = json.load(file)["ids"]
scheduler = openvino_genai.SchedulerConfig()
scheduler.cache_size = 1
scheduler.max_num_batched_tokens = 8192  # all prompts in one step
scheduler.dynamic_split_fuse = False
scheduler.enable_prefix_caching = False
# Activations quantised in the weights' groups: its fastest setting here.
properties = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 64}
pipeline = openvino_genai.ContinuousBatchingPipeline(folder, scheduler, "CPU", properties)


def run(rows, tokens):
    """Seconds of each step; the first one reads the prompts."""
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = config.min_new_tokens = tokens + 1
    config.ignore_eos, config.do_sample = True, False
    # A dropped handle cancels its request.
    handles = [pipeline.add_request(row, openvino.Tensor(numpy.array([contexts[row]], dtype=numpy.int64)), config) for row in range(rows)]
    seconds = []
    while pipeline.has_non_finished_requests():
        begin = time.perf_counter()
        pipeline.step()
        seconds.append(time.perf_counter() - begin)
    assert len(handles) == rows
    return seconds


result = {"version": "openvino-genai " + openvino.__version__}
for rows in (1, 8):
    run(rows, 2)
    seconds = run(rows, new)
    result[f"prompt{rows}"] = rows * len(contexts[0]) / seconds[0]
    result[f"step{rows}"] = 1e3 * statistics.median(seconds[1:new])
print(json.dumps(result))
