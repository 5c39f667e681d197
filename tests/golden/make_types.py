#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Blocks of every tensor type and what the package gguf of PyPI (0.19.0) makes of them: tests/golden/make_types.py > tests/golden/types.txt
# A line is a type, the bytes of 32 or 256 weights in hexadecimal, and the FNV-1a hash (64 bits) of their values as fp32, little-endian.
import sys

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

TYPES = "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS".split()
HALVES = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,)}
# Both zeros, the smallest and largest subnormals, the smallest normal, the largest number, ones, and plain scales.
SCALES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00, 0x1C9A, 0x9ABC, 0x2E66, 0xB3A1]


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


random = np.random.default_rng(6)
print("# by make_types.py: type, bytes of the block, FNV-1a of its values")
for name in TYPES:
    kind = GGMLQuantizationType[name]
    weights, size = GGML_QUANT_SIZES[kind]
    for i in range(len(SCALES) + 3):
        if weights == 1:
            bits = random.integers(0, 1 << 8 * size, 32, dtype=np.uint64)
            exponent = {"F32": 0x7F800000, "F16": 0x7C00, "BF16": 0x7F80}[name]
            bits = np.where(bits & exponent == exponent, bits ^ exponent, bits)  # no NaN: their bits are nobody's promise
            block = bits.astype({2: np.uint16, 4: np.uint32}[size]).view(np.uint8).copy()
        else:
            block = random.integers(0, 256, size, dtype=np.uint8)
            if i >= len(SCALES):
                block[:] = (0x00, 0xFF, 0x7F)[i - len(SCALES)]
            for j, place in enumerate(HALVES.get(name, (0,))):
                block[place : place + 2] = np.array([SCALES[(i + 5 * j) % len(SCALES)]], np.uint16).view(np.uint8)
        with np.errstate(over="ignore"):
            if name == "F32":
                values = block.view(np.float32)
            elif name == "F16":
                values = block.view(np.float16).astype(np.float32)
            else:
                values = dequantize(block.reshape(1, -1), kind)
        print(name, block.tobytes().hex(), f"{fnv(values.astype('<f4').tobytes()):016x}")
        if not np.isfinite(values).all():
            sys.exit("a value is not finite")
