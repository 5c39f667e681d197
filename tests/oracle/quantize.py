#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cuttle model quantize` writes, read by the package gguf: from F32, F16 and BF16 files of random weights to each type, the relative
error of each matrix within what the type's bits allow, and bytes equal to gguf's own where it rounds that type too.
usage: quantize.py CUTTLE GEN_TINY     needs numpy and gguf; not part of make test"""
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np

BOUNDS = dict(f16=3e-4, bf16=3e-3, q8_0=0.006, q4_0=0.08, q4_1=0.075, q4_k=0.075, q6_k=0.018)  # uniform weights
cuttle, gen_tiny = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    source, result = os.path.join(folder, "source.gguf"), os.path.join(folder, "result.gguf")
    for start in "F32", "F16", "BF16":
        subprocess.run([gen_tiny, source, start, "512"], check=True)
        weights = {t.name: gguf.dequantize(t.data, t.tensor_type).copy() for t in gguf.GGUFReader(source).tensors}
        # gen_tiny poisons one token, which no block type can hold.
        with open(source, "r+b") as file:
            embedding = next(t for t in gguf.GGUFReader(source).tensors if t.name == "token_embd.weight")
            bad = np.flatnonzero(~np.isfinite(weights["token_embd.weight"]))
            for place in bad:
                file.seek(int(embedding.data_offset) + int(place) * (4 if start == "F32" else 2))
                file.write(bytes(4 if start == "F32" else 2))
                weights["token_embd.weight"].flat[place] = 0
        for name, bound in BOUNDS.items():
            subprocess.run([cuttle, "model", "quantize", "-i", source, "-o", result, "--type", name, "--overwrite"], check=True)
            worst, same = 0, 0
            for tensor in gguf.GGUFReader(result).tensors:
                wanted, found = weights[tensor.name], gguf.dequantize(tensor.data, tensor.tensor_type)
                if wanted.ndim == 1:
                    assert np.array_equal(wanted, found), tensor.name
                    continue
                worst = max(worst, float(np.linalg.norm(wanted - found) / np.linalg.norm(wanted)))
                if tensor.tensor_type.name not in ("Q4_K", "Q6_K"):
                    assert np.array_equal(gguf.quantize(wanted, tensor.tensor_type).ravel().view(np.uint8), tensor.data.ravel().view(np.uint8))
                    same += 1
            print(f"{start} to {name}: largest relative error {worst:.5f}, {same} matrices byte for byte gguf's", flush=True)
            assert worst < bound, name
