# SPDX-License-Identifier: Apache-2.0
"""A vocabulary of 151,646 tokens as a GGUF file without weights, from qwen.tiktoken (the wheel dashscope has it).
usage: qwen_gguf.py QWEN.tiktoken FILE.gguf"""
import base64
import struct
import sys

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
U32, STRING, ARRAY, I32 = 4, 8, 9, 5


def byte_letters():
    """GPT-2's letter for each byte: itself where it can be seen, else the next from U+0100 on."""
    seen = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}


def halves(ranks, token, rank):
    """The two tokens that became this one: what byte-pair encoding makes of it with earlier merges alone."""
    parts = [token[i:i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best, at = min((ranks.get(parts[i] + parts[i + 1], rank), i) for i in range(len(parts) - 1))
        if best >= rank:
            return None
        parts[at:at + 2] = [parts[at] + parts[at + 1]]
    return parts


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def texts(values):
    return struct.pack("<IQ", STRING, len(values)) + b"".join(map(text, values))


def main():
    ranks = {}
    with open(sys.argv[1], "rb") as file:
        for line in file:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
    letters = byte_letters()
    spelled = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = []
    for token, rank in ranks.items():
        parts = halves(ranks, token, rank) if len(token) > 1 else None
        if parts:
            merges.append(" ".join(spelled[part] for part in parts))
    tokens = [spelled[token] for token in ranks] + SPECIAL
    kinds = [1] * len(ranks) + [3] * len(SPECIAL)
    end = struct.pack("<I", len(tokens) - 1)
    pairs = [
        pair("general.architecture", STRING, text("llama")),
        pair("tokenizer.ggml.model", STRING, text("gpt2")),
        pair("tokenizer.ggml.pre", STRING, text("qwen2")),
        pair("tokenizer.ggml.tokens", ARRAY, texts(tokens)),
        pair("tokenizer.ggml.token_type", ARRAY, struct.pack(f"<IQ{len(kinds)}i", I32, len(kinds), *kinds)),
        pair("tokenizer.ggml.merges", ARRAY, texts(merges)),
        pair("tokenizer.ggml.eos_token_id", U32, end),
    ]
    with open(sys.argv[2], "wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs)) + b"".join(pairs))


if __name__ == "__main__":
    main()
