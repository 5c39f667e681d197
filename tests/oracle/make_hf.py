# SPDX-License-Identifier: Apache-2.0
"""Hugging Face folders with random weights, offline, and what transformers says of 256 tokens, for tests/oracle/convert.sh.
usage: make_hf.py llama32|tinyllama|mistral|qwen2|qwen3|granite|smollm3|olmo2|gemma3|phi3|phi4|lfm2 usual|large FOLDER     makes FOLDER, FOLDER/texts.jsonl and FOLDER/scores.json
usual: weights as transformers begins a training; large: sharp attention and logits that vary by 3.5, as after one. There, what cuttle
rounds on purpose (keys and values to f16) shows, so scores.json also has what transformers says with that rounding."""
import json
import os
import random
import sys

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, GraniteConfig, GraniteForCausalLM, Lfm2Config, Lfm2ForCausalLM, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM
from transformers import Olmo2Config, Olmo2ForCausalLM, Phi3Config, Phi3ForCausalLM, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM, SmolLM3Config, SmolLM3ForCausalLM

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|NUMBERS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
here = os.path.dirname(os.path.abspath(__file__))
prose = [json.loads(line)["text"] for line in open(os.path.join(here, "../golden/prose.jsonl"), encoding="utf-8")]


def byte_level(first, ignore_merges, specials, regex=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if isinstance(first, str):
        first = pre_tokenizers.Split(Regex(PATTERN.replace("NUMBERS", first)), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(prose, trainers.BpeTrainer(
        vocab_size=1000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens(specials)
    return tokenizer


def llama3_tokenizer():
    tokenizer = byte_level(r"\p{N}{1,3}", True, ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A $B", special_tokens=[("<|begin_of_text|>", begin)])])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>")


def granite_tokenizer():
    tokenizer = byte_level(pre_tokenizers.Digits(individual_digits=True), False, ["<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>"], True)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|end_of_text|>", eos_token="<|end_of_text|>")


def olmo2_tokenizer():
    gpt4 = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
    tokenizer = byte_level(pre_tokenizers.Split(Regex(gpt4), "removed", invert=True), False, ["<|endoftext|>", "<|pad|>"], False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>", pad_token="<|pad|>")


def phi4_tokenizer():
    cased = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    o200k = (r"[^\r\n\p{L}\p{N}]?%s*%s+%s|[^\r\n\p{L}\p{N}]?%s+%s*%s" % (cased + cased)
             + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer = byte_level(pre_tokenizers.Split(Regex(o200k), "removed", invert=True), False, ["<|endoftext|>", "<|end|>"], False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>")


def qwen_tokenizer():
    tokenizer = byte_level(r"\p{N}", False, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<think>", special=False, normalized=False)])
    tokenizer.normalizer = normalizers.NFC()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def sentencepiece_tokenizer():
    """Tokens best first, and for each all ways to halve it, which is what transformers makes of a SentencePiece model."""
    normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizer
    trained.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    trained.train_from_iterator(prose, trainers.BpeTrainer(vocab_size=600, show_progress=False))
    by_id = sorted(trained.get_vocab(), key=trained.get_vocab().get)
    words, letters = [t for t in by_id if len(t) > 1], [t for t in by_id if len(t) == 1]
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + words + letters
    vocab = {token: i for i, token in enumerate(tokens)}
    merges = []
    for word in words:
        halves = [(word[:i], word[i:]) for i in range(1, len(word)) if word[:i] in vocab and word[i:] in vocab]
        merges += sorted(halves, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ("<unk>", "<s>", "</s>")])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def gemma_tokenizer():
    """As sentencepiece_tokenizer, but nothing is put before a text, and runs of spaces and of line breaks are added tokens."""
    normalizer = normalizers.Replace(" ", "\u2581")
    split = pre_tokenizers.Split(" ", "merged_with_previous")
    trained = Tokenizer(models.BPE())
    trained.normalizer, trained.pre_tokenizer = normalizer, pre_tokenizers.Split("\u2581", "merged_with_next")
    trained.train_from_iterator(prose, trainers.BpeTrainer(vocab_size=600, show_progress=False))
    by_id = sorted(trained.get_vocab(), key=trained.get_vocab().get)
    runs = ["\u2581" * count for count in range(2, 32)]
    breaks = ["\n" * count for count in range(1, 32)]
    words, letters = [t for t in by_id if len(t) > 1 and t not in runs + breaks], [t for t in by_id if len(t) == 1 and t != "\n"]
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    tokens = specials + breaks + runs + [f"<0x{i:02X}>" for i in range(256)] + words + letters
    vocab = {token: i for i, token in enumerate(tokens)}
    merges = []
    for word in runs + words:
        halves = [(word[:i], word[i:]) for i in range(1, len(word)) if word[:i] in vocab and word[i:] in vocab]
        merges += sorted(halves, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, split
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in specials])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in breaks + runs])
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", unk_token="<unk>", pad_token="<pad>")


def make(kind, size):
    torch.manual_seed(1)
    common = dict(hidden_size=128, intermediate_size=320, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2,
                  rms_norm_eps=1e-5, max_position_embeddings=2048)
    if kind == "llama32":
        tokenizer = llama3_tokenizer()
        # So small an original length that 256 positions reach every branch of the scaling.
        scaling = dict(rope_type="llama3", rope_theta=500000.0, factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
                       original_max_position_embeddings=64)
        config = LlamaConfig(vocab_size=1024, tie_word_embeddings=True, rope_parameters=scaling, **common)
        model = LlamaForCausalLM(config)
    elif kind == "tinyllama":
        tokenizer = sentencepiece_tokenizer()
        model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), tie_word_embeddings=False, **common))
    elif kind == "qwen2":
        tokenizer = qwen_tokenizer()
        model = Qwen2ForCausalLM(Qwen2Config(vocab_size=1024, tie_word_embeddings=True, **common))
    elif kind == "qwen3":
        tokenizer = qwen_tokenizer()
        model = Qwen3ForCausalLM(Qwen3Config(vocab_size=1024, head_dim=32, **common))
    elif kind == "granite":
        tokenizer = granite_tokenizer()
        model = GraniteForCausalLM(GraniteConfig(vocab_size=1024, tie_word_embeddings=True, embedding_multiplier=12.0,
                                                 residual_multiplier=0.22, attention_multiplier=0.015625, logits_scaling=8.0, **common))
    elif kind == "smollm3":
        tokenizer = llama3_tokenizer()
        common.update(num_hidden_layers=5, pad_token_id=None)
        model = SmolLM3ForCausalLM(SmolLM3Config(vocab_size=1024, tie_word_embeddings=True, **common))
    elif kind == "gemma3":
        tokenizer = gemma_tokenizer()
        common.update(num_hidden_layers=7)
        model = Gemma3ForCausalLM(Gemma3TextConfig(vocab_size=len(tokenizer), head_dim=32, query_pre_attn_scalar=32, sliding_window=512, **common))
    elif kind in ("phi3", "phi4"):
        tokenizer = sentencepiece_tokenizer() if kind == "phi3" else phi4_tokenizer()
        common.update(num_attention_heads=4, pad_token_id=None, tie_word_embeddings=kind == "phi4")
        scaling = dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75,
                       short_factor=[1 + i / 8 for i in range(12)], long_factor=[2.0 + i for i in range(12)])
        model = Phi3ForCausalLM(Phi3Config(vocab_size=len(tokenizer), original_max_position_embeddings=256, rope_parameters=scaling, **common))
    elif kind == "lfm2":
        tokenizer = llama3_tokenizer()
        common["norm_eps"] = common.pop("rms_norm_eps")
        common.update(num_hidden_layers=4, pad_token_id=None, layer_types=["conv", "conv", "full_attention", "conv"])
        model = Lfm2ForCausalLM(Lfm2Config(vocab_size=1024, **common))
    elif kind == "olmo2":
        tokenizer = olmo2_tokenizer()
        model = Olmo2ForCausalLM(Olmo2Config(vocab_size=1024, **common))
    else:
        tokenizer = sentencepiece_tokenizer()
        model = MistralForCausalLM(MistralConfig(vocab_size=len(tokenizer), head_dim=32, sliding_window=None, **common))
    for name, weight in model.named_parameters():
        if name.endswith(".bias"):  # which begin as zeros
            torch.nn.init.normal_(weight, std=0.3 if size == "large" else 0.02)
        elif size == "usual":
            continue
        elif weight.dim() == 1:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
        elif "embed_tokens" in name or "lm_head" in name:
            torch.nn.init.normal_(weight, std=0.3)
        else:
            torch.nn.init.normal_(weight, std=0.08)
    config = model.config
    config.bos_token_id, config.eos_token_id = tokenizer.bos_token_id, tokenizer.eos_token_id
    return tokenizer, model.float()


kind, size, folder = sys.argv[1:4]
tokenizer, model = make(kind, size)
dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[os.environ.get("STORE", "f32")]
for weight in model.parameters():  # not model.to: it would round the RoPE frequencies, too
    weight.data = weight.data.to(dtype)
model.save_pretrained(folder, max_shard_size=os.environ.get("SHARD", "50GB"))
for weight in model.parameters():
    weight.data = weight.data.float()
tokenizer.save_pretrained(folder)
random.seed(1)
odd = ["".join(chr(random.choice([32, 32, 97, 101, 0xe9, 0x4e2d, 0x1f600, 10, 48, 39])) for _ in range(200)) for _ in range(20)]
texts = prose + odd
with open(os.path.join(folder, "texts.jsonl"), "w", encoding="utf-8") as file:
    for text in texts:
        file.write(json.dumps({"text": text}) + "\n")


def score(ids):
    logits = model(torch.tensor([ids[:256]])).logits[0].double()
    logprobs = torch.log_softmax(logits, -1)
    return [logprobs[i, ids[i + 1]].item() for i in range(min(256, len(ids)) - 1)], logits.std().item()


model.config._attn_implementation = "eager"
home = sys.modules[type(model).__module__]
repeat = home.repeat_kv
scores = []
with torch.no_grad():
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        plain, spread = score(ids)
        home.repeat_kv = lambda states, times: repeat(states.half().float(), times)
        rounded = score(ids)[0]
        home.repeat_kv = repeat
        scores.append(dict(ids=ids, plain=plain, rounded=rounded, spread=spread))
json.dump(scores, open(os.path.join(folder, "scores.json"), "w"))
