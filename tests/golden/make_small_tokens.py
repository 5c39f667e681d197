#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small_merges.txt, and qwen2_, default_, dbrx_ and gpt4o_tokens.txt next to itself, with Hugging Face's tokenizers as the oracle.

usage: make_small_tokens.py [RANDOM_STRINGS FOLDER]      (needs: pip install tokenizers gguf)

A byte-level vocabulary of 256 bytes and 512 merges is trained on prose.jsonl and on the shorter texts of make_smollm_tokens.py. Token b is byte b,
token 256 + i what merge i makes. With two arguments, vectors of so many random strings for every pre-tokenizer go to FOLDER instead.
"""
import json
import pathlib
import random
import sys

from make_smollm_tokens import LLAMA3, TEXTS, texts
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

# o200k_base, as tiktoken has it.
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def split(*patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns] + [BYTES])


SPLITS = {"qwen2": split(QWEN2), "default": split(r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
          "gpt-2": split(GPT2), "smollm": split(r"\p{N}", GPT2), "llama-bpe": split(LLAMA3), "dbrx": split(CL100K), "gpt-4o": split(GPT4O)}


def letters():
    """GPT-2's letter of each byte."""
    plain = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    other = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + other.index(byte)) for byte in range(256)]


def train():
    corpus = [json.loads(line)["text"] for line in open(HERE / "prose.jsonl", encoding="utf-8")]
    corpus += [text for text in texts() if len(text) < 60]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = SPLITS["gpt-2"]
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=900, initial_alphabet=letters(), show_progress=False))
    vocab, merges = {letter: byte for byte, letter in enumerate(letters())}, []
    for left, right in json.loads(tokenizer.to_str())["model"]["merges"]:
        if left + right not in vocab and len(merges) < 512:
            vocab[left + right] = len(vocab)
            merges.append((left, right))
    return vocab, merges


def build(name, vocab, merges):
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=name == "llama-bpe"))
    tokenizer.pre_tokenizer = SPLITS[name]
    return tokenizer


def write(path, tokenizer, name, strings):
    with open(path, "w", encoding="ascii", newline="\n") as out:
        out.write(f"# SPDX-License-Identifier: Apache-2.0\n# By make_small_tokens.py, vocabulary of small_merges.txt, pre-tokenizer {name}.\n"
                  "# A line: the text's UTF-8 in hex, '-' for none; its tokens.\n")
        for text in strings:
            out.write(" ".join([text.encode().hex() or "-"] + [str(i) for i in tokenizer.encode(text).ids]) + "\n")


def random_strings(count):
    chance = random.Random(7)
    words = [word for text in TEXTS.split("¦") for word in text.split()]
    pools = ["abcXYZ", "'stremvld", " ", " \t\n\r", "0123456789", "!?.,;:-$+<=>^~|", "éüßñ", "жщѣ", "中文字", "😀🏽\u200d", "\u00a0\u3000\x85\u2028",
             "٣²Ⅷ1", "“”«»–…", "\u0301\u0302", "AÉЖaéжǅʰªא中", "/\r\n!", "\x00\x1c\x7f\u00ad\ufeff"]
    for _ in range(count):
        kind = chance.random()
        if kind < 0.25:
            yield "".join(chr(c) for c in (chance.randrange(0x110000) for _ in range(chance.randint(1, 12))) if not 0xd800 <= c < 0xe000)
        elif kind < 0.4:
            yield chance.choice(["", " ", "  ", "\n"]).join(chance.choice(words) for _ in range(chance.randint(1, 6)))
        else:
            yield "".join(chance.choice(chance.choice(pools)) for _ in range(chance.randint(1, 40)))


def main():
    vocab, merges = train()
    if len(sys.argv) == 3:
        strings = list(random_strings(int(sys.argv[1])))
        for name in SPLITS:
            write(pathlib.Path(sys.argv[2]) / f"{name}.txt", build(name, vocab, merges), name, strings)
        return
    with open(HERE / "small_merges.txt", "w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{left} {right}\n" for left, right in merges)
    for name in ("qwen2", "default", "dbrx", "gpt-4o"):
        write(HERE / f"{name.replace('-', '')}_tokens.txt", build(name, vocab, merges), name, dict.fromkeys(texts()))


if __name__ == "__main__":
    main()
