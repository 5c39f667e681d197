#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes prose_scores.txt: what Hugging Face transformers, in float64 over the dequantised GGUF, thinks of every next token of prose.jsonl.
# It shares no code with cuttle. Usage: make_scores.py MODEL.gguf prose.jsonl prose_scores.txt [threads]
import hashlib
import importlib.metadata
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import gguf
import numpy
import regex
import torch
from tokenizers import pre_tokenizers
from transformers import AutoTokenizer, LlamaForCausalLM
from transformers.models.llama import modeling_llama

GPT2_SPLIT = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def byte_letters():
    """GPT-2's printable stand-in for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + rank) for rank, byte in enumerate(others)}


class PlainBpe:
    """SmolLM2's rule written out: each digit alone, then the GPT-2 split, then the lowest-ranked merge, leftmost first."""

    def __init__(self, reader):
        self.ids = {token: number for number, token in enumerate(reader.get_field("tokenizer.ggml.tokens").contents())}
        merges = reader.get_field("tokenizer.ggml.merges").contents()
        self.rank = {tuple(merge.split(" ")): number for number, merge in enumerate(merges)}
        self.letters = byte_letters()

    def word(self, text):
        parts = [self.letters[byte] for byte in text.encode()]
        while len(parts) > 1:
            pairs = [(self.rank.get(pair, len(self.rank)), at) for at, pair in enumerate(zip(parts, parts[1:]))]
            rank, at = min(pairs)
            if rank == len(self.rank):
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [self.ids[part] for part in parts]

    def encode(self, text):
        pieces = [piece for piece in regex.split(r"(\p{N})", text) if piece]
        return [number for piece in pieces for match in GPT2_SPLIT.findall(piece) for number in self.word(match)]


def load_tokenizer(folder, name):
    """transformers' reader of GGUF drops the pre-tokenizer's first pass, digits alone; it is put back here."""
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    return tokenizer


def check_weights(model, reader):
    """transformers' dequantised weights must be, bit for bit, those of the gguf package; Q and K only with their rows in another order."""
    config, state = model.config, model.state_dict()
    names = {
        "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }  # fmt: skip
    whole = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
    for tensor in reader.tensors:
        expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if tensor.name in whole:
            theirs = whole[tensor.name]
        else:
            _, layer, kind, _ = tensor.name.split(".")
            theirs = f"model.layers.{layer}.{names[kind]}.weight"
            if kind in ("attn_q", "attn_k"):
                # The file orders each head (0, h/2, 1, h/2+1, ...) for adjacent-pair RoPE; transformers pairs i with i + h/2.
                heads = config.num_attention_heads if kind == "attn_q" else config.num_key_value_heads
                expected = expected.reshape(heads, -1, 2, expected.shape[1]).swapaxes(1, 2).reshape(expected.shape)
        assert numpy.array_equal(state[theirs].numpy(), expected), tensor.name
    assert torch.equal(state["lm_head.weight"], state["model.embed_tokens.weight"]), "this script expects a tied head"


def load_model(folder, name, reader):
    """Float32 weights as dequantised, checked, then float64; RMSNorm and RoPE, in float32 there, are redone in float64."""
    model = LlamaForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32, attn_implementation="sdpa").eval()
    check_weights(model, reader)
    model = model.double()

    def rms_norm(self, x):
        assert x.dtype == torch.float64
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))

    head, base = model.config.head_dim, model.config.rope_parameters["rope_theta"]
    assert model.config.rope_parameters["rope_type"] == "default"

    def rope(self, x, position_ids):
        frequency = base ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
        angle = (position_ids[:, :, None].double() * frequency).repeat(1, 1, 2)
        return angle.cos(), angle.sin()

    modeling_llama.LlamaRMSNorm.forward = rms_norm
    modeling_llama.LlamaRotaryEmbedding.forward = rope
    return model


@torch.no_grad()
def score(model, ids):
    logits = model(torch.tensor([ids]), use_cache=False).logits[0, :-1]
    assert logits.dtype == torch.float64 and bool(torch.isfinite(logits).all())
    logprobs = torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return logprobs.tolist(), logits.argmax(-1).tolist()


def load_texts(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main():
    path, prose, out = sys.argv[1:4]
    torch.set_num_threads(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    folder, name = os.path.split(os.path.abspath(path))
    reader = gguf.GGUFReader(path)
    tokenizer, plain, model = load_tokenizer(folder, name), PlainBpe(reader), load_model(folder, name, reader)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in ("torch", "transformers", "gguf", "numpy"))
    lines, total, tokens = [], 0.0, 0
    for text in load_texts(prose):
        ids = tokenizer(text["text"], add_special_tokens=False)["input_ids"]
        assert ids == plain.encode(text["text"]), text["id"]
        logprobs, top1 = score(model, ids)
        total, tokens = total - sum(logprobs), tokens + len(logprobs)
        lines += [f"text {text['id']} {len(ids)}", " ".join(map(str, ids))]
        lines += [" ".join(f"{x:.9e}" for x in logprobs), " ".join(map(str, top1))]
        print(f"{text['id']}: {len(ids)} tokens, perplexity {numpy.exp(-numpy.mean(logprobs)):.4f}")
    perplexity = numpy.exp(total / tokens)
    with open(out, "w", encoding="ascii") as file:
        print("# Golden scores of prose.jsonl, made by make_scores.py; see README.md.", file=file)
        print(f"# model {name} sha256 {digest}", file=file)
        print(f"# {versions}; float64 throughout, no BOS", file=file)
        print(f"# {tokens} predicted tokens, perplexity {perplexity:.6f}", file=file)
        print("# per text: 'text ID COUNT'; COUNT ids; COUNT-1 natural-log probabilities of the next token; COUNT-1 most likely", file=file)
        print("\n".join(lines), file=file)
    print(f"{tokens} predicted tokens, perplexity {perplexity:.6f}")


if __name__ == "__main__":
    main()
