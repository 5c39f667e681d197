#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""engine/grammar/ against llama.cpp's own matcher, on random texts of its example grammars.

usage: grammar_llama.py GEN_GRAMMAR TEXTS DRAWN.json VOCAB.gguf LIBLLAMA.so FOLDER
DRAWN.json is what build/masks draw wrote of VOCAB.gguf: the bytes of each token. A text is of a grammar
where llama.cpp allows each of its tokens, and the end behind them. It needs numpy.
"""
import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("SKIPPED: tests/oracle/grammar_llama.py needs numpy, which is not installed")
    sys.exit(0)

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "../../bench")]
from grammar import Grammar, damage, read_sources, walk  # noqa: E402
from peer_masks import Llama  # noqa: E402


def longest_tokens(text, numbers, longest):
    """None where some byte is no token."""
    ids = []
    while text:
        size = next((size for size in range(min(len(text), longest), 0, -1) if text[:size] in numbers), 0)
        if not size:
            return None
        ids.append(numbers[text[:size]])
        text = text[size:]
    return ids


def has_text(llama, ids, end):
    library, one = llama.library, numpy.zeros(1, dtype=llama.fresh.dtype)
    sampler = library.llama_sampler_clone(llama.base)
    for token in ids + [end]:
        one["id"], one["logit"] = token, 0
        library.llama_sampler_apply(sampler, ctypes.byref(llama.Candidates(one.ctypes.data, 1, -1, False)))
        allowed = bool(numpy.isfinite(one["logit"][0]))
        if not allowed:
            break
        if token != end:
            library.llama_sampler_accept(sampler, token)
    library.llama_sampler_free(sampler)
    return allowed


def compare(tool, name, source, count, llama, drawn):
    grammar, texts = Grammar(source), []
    numbers = {bytes.fromhex(hexed): number for number, hexed in enumerate(drawn["tokens"]) if hexed}
    longest = max(map(len, numbers))
    try:
        llama.compile({"gbnf": source, "texts": [[]]})
    except ValueError:
        print(f"{name}: llama.cpp refuses it")
        return 1
    while len(texts) < count:
        try:
            text = walk(grammar, ("call", "root"), 0)
        except RecursionError:
            continue
        if len(text) <= 120:
            more = [(one, longest_tokens(one.encode(), numbers, longest)) for one in (text, damage(text), damage(damage(text)))]
            texts += [(one, ids) for one, ids in more if ids is not None]
    with tempfile.NamedTemporaryFile(suffix=".gbnf") as file:
        file.write(source.encode())
        file.flush()
        lines = "".join(text.encode().hex() + "\n" for text, _ in texts)
        said = subprocess.run([tool, file.name], input=lines, capture_output=True, text=True, check=False)
    if said.returncode:
        print(f"{name}: refused: {said.stdout.strip()}")
        return 1
    wrong = has = 0
    for (text, ids), line in zip(texts, said.stdout.splitlines(), strict=True):
        theirs = has_text(llama, ids, drawn["ends"][0])
        has += theirs
        if theirs != (line[0] == "1"):
            wrong += 1
            if wrong < 4:
                print(f"{name}: {text!r} is {theirs} in llama.cpp")
    print(f"{name}: {len(texts)} texts, {has} of the grammar, {wrong} differ")
    return wrong


def main():
    sys.setrecursionlimit(20000)
    random.seed(2)
    tool, count, path, vocab, library, folder = sys.argv[1:]
    for file in (path, vocab, library, folder):
        if not os.path.exists(file):
            print(f"SKIPPED: {file} is not there")
            sys.exit(0)
    with open(path, encoding="utf-8") as file:
        drawn = json.load(file)
    llama = Llama(drawn, (vocab, library))
    sources = read_sources([folder])
    wrong = sum(compare(tool, name, source, int(count) // len(sources), llama, drawn) for name, source in sources.items())
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
