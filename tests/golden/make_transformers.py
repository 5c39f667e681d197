#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Small models and what transformers says of 256 tokens: tests/golden/make_transformers.py [NAME...] > tests/golden/transformers.txt
# Needs torch and transformers (2.13.0 and 5.23.0 made the file, from granite on 5.24.0, lfm2 on 5.5.4, the models that slide on 5.24.0); nothing is fetched. A model is written as its name; its config.json and the
# tensors as save_pretrained writes them; and ln P(ids[t+1] | ids[0..t]) in float32. Weights and ids follow from names, as `random` below and
# tests/engine/test_transformers.c do them, in steps that F32, F16 and BF16 hold alike.
import json
import os
import struct
import sys
import tempfile

import numpy as np
import torch
import transformers

TOKENS, WORDS = 256, 258
transformers.utils.logging.disable_progress_bar()
SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=259,
             max_position_embeddings=512, rms_norm_eps=1e-5, bos_token_id=257, eos_token_id=256)
LLAMA3 = dict(rope_type="llama3", rope_theta=500000.0, factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
MODELS = {
    "llama-3.2": ("Llama", dict(rope_parameters=LLAMA3, tie_word_embeddings=True)),
    "tinyllama": ("Llama", dict(num_key_value_heads=1)),
    "llama-linear": ("Llama", dict(rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0))),
    "mistral": ("Mistral", dict(head_dim=32, sliding_window=None, rope_parameters=dict(rope_type="default", rope_theta=1e6))),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1e6))),
    "qwen2.5": ("Qwen2", dict(num_key_value_heads=4)),
    "qwen3": ("Qwen3", dict(head_dim=32, rope_parameters=dict(rope_type="default", rope_theta=1e6))),
    "granite": ("Granite", dict(embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.015625, logits_scaling=0.5,
                                tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1e7))),
    "smollm3": ("SmolLM3", dict(num_hidden_layers=5, pad_token_id=None, tie_word_embeddings=True,
                                rope_parameters=dict(rope_type="default", rope_theta=5e6))),
    "gemma3": ("Gemma3", dict(num_hidden_layers=6, head_dim=32, query_pre_attn_scalar=32, sliding_window=512, rms_norm_eps=0.1, pad_token_id=None,
                              rope_parameters=dict(full_attention=dict(rope_type="linear", rope_theta=1e6, factor=8.0),
                                                   sliding_attention=dict(rope_type="default", rope_theta=10000.0)))),
    "phi3": ("Phi3", dict(pad_token_id=None, num_attention_heads=2, num_key_value_heads=1, original_max_position_embeddings=256, tie_word_embeddings=True,
                          rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75,
                                               short_factor=[1 + i / 8 for i in range(12)], long_factor=[2 + i for i in range(12)]))),
    "gemma3-slides": ("Gemma3", dict(num_hidden_layers=7, head_dim=32, query_pre_attn_scalar=32, sliding_window=37, rms_norm_eps=0.1, pad_token_id=None,
                                     rope_parameters=dict(full_attention=dict(rope_type="linear", rope_theta=1e6, factor=8.0),
                                                          sliding_attention=dict(rope_type="default", rope_theta=10000.0)))),
    "phi3-slides": ("Phi3", dict(pad_token_id=None, num_attention_heads=2, num_key_value_heads=1, original_max_position_embeddings=512, sliding_window=100)),
    "lfm2": ("Lfm2", dict(num_hidden_layers=3, intermediate_size=144, block_multiple_of=32, norm_eps=1e-5, pad_token_id=None, conv_L_cache=3,
                          layer_types=["conv", "full_attention", "conv"], rope_parameters=dict(rope_type="default", rope_theta=1e6))),
    "olmo2": ("Olmo2", dict(pad_token_id=None, rms_norm_eps=0.05, rope_parameters=dict(rope_type="default", rope_theta=5e5))),
}


def random(name, count):
    """Bytes 0..255 that follow from a name: SplitMix64 from its FNV-1a hash, the top byte of each."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 & (1 << 64) - 1
    with np.errstate(over="ignore"):
        x = np.uint64(state) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return ((x ^ x >> np.uint64(31)) >> np.uint64(56)).astype(np.float64)


def weights(family, name, shape):
    bytes = random(name, int(np.prod(shape)))
    if len(shape) == 1:
        values = (bytes - 128) / 512 if name.endswith(".bias") else (64 + bytes // 2) / (256 if name in ("model.norm.weight", "model.embedding_norm.weight") else 128)
        values -= family == "Gemma3" and not name.endswith(".bias")  # which keeps the difference to 1
    elif "embed_tokens" in name or "lm_head" in name:
        values = (bytes - 128) / 256
    elif "conv.conv" in name:
        values = (bytes - 128) / 64
    else:
        values = (bytes - 128) / 1024
    return torch.from_numpy(values.astype(np.float32)).reshape(shape)


def logprobs(model, ids):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    return torch.log_softmax(logits, -1)[torch.arange(TOKENS - 1), torch.tensor(ids[1:])].numpy(), logits.std().item()


ids = [int(byte) % WORDS for byte in random("ids", TOKENS)]
print(f"# by make_transformers.py, torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}")
for name in sys.argv[1:] or MODELS:
    family, settings = MODELS[name]
    config = getattr(transformers, family + ("TextConfig" if family == "Gemma3" else "Config"))(**{**SIZES, **settings})
    config._attn_implementation = "eager"
    model = getattr(transformers, family + "ForCausalLM")(config).float().eval()
    for tensor, parameter in model.named_parameters():
        parameter.data = weights(family, tensor, tuple(parameter.shape))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        saved = json.load(open(os.path.join(folder, "config.json")))
        with open(os.path.join(folder, "model.safetensors"), "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    tensors = [(key, value["shape"]) for key, value in header.items() if key != "__metadata__"]
    print("model", name, len(tensors))
    print(json.dumps(saved, separators=(",", ":")))
    for key, shape in tensors:
        print(key, shape[0] if len(shape) > 1 else 0, shape[-1])  # a convolution's have a 1 between
    plain, spread = logprobs(model, ids)
    print(" ".join(f"{value:.6f}" for value in plain))
    # For whoever tunes the sizes above: how much the one thing matters that cuttle rounds on purpose, keys and values to f16.
    home = sys.modules[type(model).__module__]
    repeat = home.repeat_kv
    home.repeat_kv = lambda states, times: repeat(states.half().float(), times)
    rounded = logprobs(model, ids)[0]
    home.repeat_kv = repeat
    print(f"{name}: logits vary by {spread:.2f}, log-probabilities {plain.min():.1f} to {plain.max():.1f}; keys and values in f16 change "
          f"{abs(plain - rounded).max():.1e}", file=sys.stderr)
