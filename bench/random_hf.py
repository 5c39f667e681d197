# SPDX-License-Identifier: Apache-2.0
"""A Hugging Face folder of TinyLlama-1.1B's shape with random weights. Its tokenizer is another model's: the peers are fed token ids.
usage: random_hf.py FOLDER_WITH_TOKENIZER FOLDER"""
import sys

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

tokenizer, target = AutoTokenizer.from_pretrained(sys.argv[1]), sys.argv[2]
torch.manual_seed(1)
config = LlamaConfig(
    vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_attention_heads=32, num_key_value_heads=4,
    max_position_embeddings=2048, rms_norm_eps=1e-5, tie_word_embeddings=False,
    bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
LlamaForCausalLM(config).float().save_pretrained(target)
tokenizer.save_pretrained(target)
