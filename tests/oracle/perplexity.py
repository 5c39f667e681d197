#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a GGUF file in float64, written from the papers (LLaMA, RoPE, RMSNorm, SwiGLU, GQA) and GGUF's specification, with what
cuttle rounds on purpose and nothing else: the file's own dequantised weights, activations of block types in int8 per 32 values
(kernels/rowquant.h), keys and values in f16. Needs numpy and gguf. usage:
  perplexity.py golden GEN_TINY                            prints tests/golden/type_scores.txt
  perplexity.py smollm CUTTLE SMOLLM2.gguf FOLDER [TYPE]...   its weights again in each type whose blocks fit, against `cuttle score`
  perplexity.py random CUTTLE GEN_TINY FOLDER [TYPE]...       random weights of width 512, for the types of 256-blocks
FOLDER holds the files for the time being. The last two print a table and fail when a perplexity differs by more than 0.5 %."""
import json
import os
import subprocess
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

BOUND, GOLDEN_TOKENS = 0.005, 128
FLOATS = Type.F32, Type.F16, Type.BF16
SMALL = "F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 IQ4_NL".split()
LARGE = "Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_XS".split()
HERE = os.path.dirname(os.path.abspath(__file__))
PROSE = os.path.join(HERE, "../golden/prose.jsonl")


class Model:
    """A llama of GGUF: rows of Q and K that rotate together are neighbours."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        get = lambda key, default=None: reader.fields["llama." + key].contents() if "llama." + key in reader.fields else default
        self.layers, self.heads = get("block_count"), get("attention.head_count")
        self.kv_heads = get("attention.head_count_kv", self.heads)
        self.size = get("attention.key_length", get("embedding_length") // self.heads)
        self.epsilon, self.base = float(get("attention.layer_norm_rms_epsilon")), float(get("rope.freq_base", 10000.0))
        self.tensors = {t.name: (gguf.dequantize(t.data, t.tensor_type).astype(np.float64), t.tensor_type) for t in reader.tensors}

    def weight(self, name):
        return self.tensors[name + ".weight"]

    def linear(self, x, name):
        matrix, kind = self.weight(name)
        if kind not in FLOATS:
            blocks = x.reshape(len(x), -1, 32)
            most = np.abs(blocks).max(-1, keepdims=True)
            most[most == 0] = 1
            x = (np.round(blocks * (127 / most)) * (most / 127)).reshape(x.shape)  # numpy rounds halves to even
        return x @ matrix.T

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * self.weight(name)[0]

    def rotate(self, x):
        """x [tokens][heads][size]"""
        angle = np.arange(len(x))[:, None] * self.base ** (-np.arange(0, self.size, 2) / self.size)
        cos, sin, even, odd = np.cos(angle)[:, None], np.sin(angle)[:, None], x[..., 0::2], x[..., 1::2]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)

    def keep(self, x):
        return x.astype(np.float32).astype(np.float16).astype(np.float64)

    def attend(self, x, at):
        tokens = len(x)
        q, k, v = (self.linear(x, at + part).reshape(tokens, -1, self.size) for part in ("attn_q", "attn_k", "attn_v"))
        q, k, v = self.rotate(q), self.keep(self.rotate(k)), self.keep(v)
        q, k, v = (np.repeat(part, self.heads // part.shape[1], 1).swapaxes(0, 1) for part in (q, k, v))  # [heads][tokens][size]
        scores = q @ k.swapaxes(1, 2) / np.sqrt(self.size)
        scores[:, np.triu(np.ones((tokens, tokens), bool), 1)] = -np.inf
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        out = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1)
        return self.linear(out.reshape(tokens, -1), at + "attn_output")

    def logprobs(self, ids):
        """ln P(ids[t + 1] | ids[0..t])"""
        x = self.weight("token_embd")[0][ids]
        for layer in range(self.layers):
            at = f"blk.{layer}."
            x = x + self.attend(self.norm(x, at + "attn_norm"), at)
            normed = self.norm(x, at + "ffn_norm")
            gate = self.linear(normed, at + "ffn_gate")
            x = x + self.linear(gate / (1 + np.exp(-gate)) * self.linear(normed, at + "ffn_up"), at + "ffn_down")
        head = "output" if "output.weight" in self.tensors else "token_embd"
        logits = self.linear(self.norm(x, "output_norm")[:-1], head)
        logits -= logits.max(-1, keepdims=True)
        return (logits - np.log(np.exp(logits).sum(-1, keepdims=True)))[np.arange(len(ids) - 1), ids[1:]]


def iq4_nl(x):
    """The nearest of the table's values times a step that takes the largest one to the table's end: plain, but SmolLM2 stays itself."""
    table = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64)
    blocks = x.reshape(-1, 32).astype(np.float64)
    extreme = blocks[np.arange(len(blocks)), np.abs(blocks).argmax(1)]
    step = (extreme / -127).astype(np.float16)
    codes = np.zeros(blocks.shape, np.uint8)
    scaled = np.divide(blocks, step[:, None].astype(np.float64), out=np.zeros_like(blocks), where=step[:, None] != 0)
    codes = np.searchsorted((table[1:] + table[:-1]) / 2, scaled).astype(np.uint8)
    packed = codes[:, :16] | codes[:, 16:] << 4
    return np.concatenate([step.view(np.uint8).reshape(-1, 2), packed], 1).reshape(x.shape[0], -1)


def again(source, path, kind):
    """The file `source` at `path`, its matrices in another type."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name not in ("general.architecture", "general.file_type"):
            sub = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub)
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        if values.ndim == 1:
            writer.add_tensor(tensor.name, values)
        else:
            data = iq4_nl(values) if kind == Type.IQ4_NL else gguf.quantize(values, kind)
            writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def compare(cuttle, path, name, context):
    out = path + ".jsonl"
    subprocess.run([cuttle, "score", "-m", path, "-i", PROSE, "-o", out, "-c", str(context)], check=True, stderr=subprocess.DEVNULL)
    scored = [json.loads(line) for line in open(out)][:-1]
    os.remove(out)
    ours = np.concatenate([text["logprobs"] for text in scored])
    model = Model(path)
    exact = np.concatenate([model.logprobs(text["ids"]) for text in scored])
    ratio = np.exp(exact.mean() - ours.mean())
    print(f"| {name} | {len(ours)} | {np.exp(-exact.mean()):.3f} | {np.exp(-ours.mean()):.3f} | {100 * (ratio - 1):+.3f} % | "
          f"{abs(ours - exact).mean():.4f} |", flush=True)
    return abs(ratio - 1) <= BOUND


def table(types, make):
    print("| type | tokens | float64 | cuttle | difference | mean \\|d logprob\\| |\n|---|---|---|---|---|---|", flush=True)
    return all([make(name) for name in types])


def smollm(cuttle, source, folder, *types):
    def make(name):
        path = os.path.join(folder, f"smollm-{name}.gguf")
        again(source, path, Type[name])
        good = compare(cuttle, path, name, 600)
        os.remove(path)
        return good
    return table(types or SMALL, make)


def random(cuttle, gen_tiny, folder, *types):
    def make(name):
        path = os.path.join(folder, f"random-{name}.gguf")
        subprocess.run([gen_tiny, path, name, "512"], check=True)
        good = compare(cuttle, path, name, 512)
        os.remove(path)
        return good
    return table(types or LARGE, make)


def golden(gen_tiny):
    """The ids are those of tests/engine/test_score.c."""
    ids = [(i * i * 7 + i * 37) % 251 for i in range(GOLDEN_TOKENS)]
    print("# by tests/oracle/perplexity.py: a type, and ln P of tokens 1.. of the tiny model in it, in float64 with int8 activations")
    for name in SMALL + LARGE:
        path = f"/tmp/cuttle-golden-{os.getpid()}.gguf"
        subprocess.run([gen_tiny, path, name, "256" if name in LARGE else "64"], check=True)
        print(name, " ".join(f"{value:.4f}" for value in Model(path).logprobs(ids)))
        os.remove(path)
    return True


if len(sys.argv) < 3 or sys.argv[1] not in ("golden", "smollm", "random"):
    sys.exit(__doc__)
sys.exit(not dict(golden=golden, smollm=smollm, random=random)[sys.argv[1]](*sys.argv[2:]))
