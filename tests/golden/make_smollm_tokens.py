#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes smollm_tokens.txt and llama_bpe_tokens.txt next to itself, with Hugging Face's tokenizers as the oracle.

usage: make_smollm_tokens.py SmolLM2-135M-Instruct.Q4_1.gguf      (needs: pip install tokenizers gguf)

The tokenizer is built from the GGUF's tokens and merges. smollm: Digits(individual) + ByteLevel(use_regex), as SmolLM2's tokenizer.json
has it. llama_bpe: the same vocabulary behind Llama 3's pattern, with ignore_merges. No special tokens: all is anybody's text.
"""
import pathlib
import random
import sys

import gguf
import tokenizers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

LLAMA3 = (r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXTS = """
Hello world¦ Hello world¦Hello  world¦  Hello   world  ¦Hello, world!¦hello¦The patient was seen on 3/4/2019 at 10:45 AM.¦
BP 120/80, HR 72¦I'm you're he's we've they'll I'd can't¦I'M YOU'RE HE'S WE'VE THEY'LL I'D CAN'T¦'s't're've'm'll'd¦''s '' ' 's¦
don't 'tis o'clock rock'n'roll¦'S 'T 'rE 'Ve 'M 'lL 'D¦it's2 o'clock's¦!!'s ?'ll¦"'re"¦x'sy¦’s ‘t¦0¦1¦12¦123¦1234¦12345¦1234567890¦ 1¦
 12¦  12¦a1b22c333¦ 3.14159¦1,000,000¦v2.0.1¦2024-01-01T00:00:00Z¦x1 y2  z3   4¦٣٤٥¦१२३¦²³¹¦½ ⅓¦Ⅷ ⅻ¦①②③¦<|im_start|>user¦<|im_end|>¦
<|endoftext|>¦<|im_start|>system\\nYou<|im_end|>\\n¦a<|im_end|>b¦<|im_end<|im_end|>>¦<repo_name>¦<file_sep><jupyter_code>¦</s><s><unk>¦
<|eot_id|><|begin_of_text|>¦[INST] <<SYS>> [/INST]¦<gh_stars>12¦<issue_start>¦Führer¦Ärger über Öl¦naïve café résumé¦Zażółć gęślą jaźń¦
Příliš žluťoučký kůň¦Žluťoučký¦İstanbul ığdır¦Þórður¦Tiếng Việt rất hay¦Привет, мир!¦нещо на Български¦Ελληνικά γλώσσα¦עברית שלום¦
مرحبا بالعالم¦فارسی می‌شود¦हिन्दी में लिखा¦বাংলা ভাষা¦தமிழ் மொழி¦ภาษาไทยไม่มีช่องว่าง¦ខ្មែរ¦မြန်မာ¦ქართული¦հայերեն¦አማርኛ¦你好，世界¦
日本語のテキスト、カタカナ。¦한국어 문장입니다¦𠮷野家¦㐀㐁¦ꦗꦮ¦ᠮᠣᠩᠭᠣᠯ¦ߒߞߏ¦Ꮳꮃꭹ¦𝐀𝒷𝕮¦😀¦😀😃😄¦👨‍👩‍👧‍👦¦🏳️‍🌈¦👍🏽¦🇩🇪🇫🇷¦this is 🦙.cpp¦ 🦙 🦙¦❤️‍🔥¦1️⃣2️⃣¦🧑🏿‍🚀x¦a😀b 😀c¦é¦e\\u0301¦
ﬁ ﬂ¦Å Å¦\\u0301¦a\\u0301\\u0302\\u0303b¦\\u200d¦\\u200b¦\\ufeffBOM¦\\u00ad¦a\\u2060b¦\\u202eRTL¦\\ufffd¦\\uffff¦\\U0010ffff¦\\n¦\\n\\n¦
\\n\\n\\n¦\\r\\n¦\\r\\n\\r\\n¦\\r¦\\t¦\\t\\t¦\\t\\n¦ \\n¦\\n ¦ \\n ¦  \\n  ¦a\\nb¦a\\n\\nb¦a\\r\\nb¦a \\n b¦a\\n b¦a  \\n  b¦a\\n\\n  b¦
a\\t b¦a \\tb¦\\ta¦ \\ta¦\\t\\ta¦\\x0b¦\\x0c¦a\\x0bb¦\\x1c\\x1d¦\\x85¦a\\x85b¦\\u00a0¦a\\u00a0b¦a\\u00a0\\u00a0b¦ \\u00a0a¦\\u1680¦
\\u180e¦\\u2000\\u2001\\u2002¦\\u2003a¦a\\u2028b¦\\u2029¦\\u202f1¦\\u205f¦\\u3000¦a\\u3000b¦\\u3000\\u3000あ¦ ¦  ¦   ¦    ¦        ¦a ¦
a  ¦a   ¦ a  ¦1 ¦1  ¦ 1  ¦! ¦!  ¦ !  b¦a  1¦a   12¦  1¦\\n1¦\\n\\n1¦  !¦   !x¦    if x:¦\\tif x:\\n\\t\\treturn 1\\n¦\\x00¦a\\x00b¦
\\x00\\x00\\x00¦\\x01\\x02\\x03¦\\x04\\x06\\x13¦\\x7f¦\\x1b[31mred\\x1b[0m¦\\x08¦def f(x):\\n    return x ** 2  # square\\n¦
int main(void) { return 0; }¦for (i=0;i<10;i++){a[i]+=i*2;}¦#include <stdio.h>\\r\\n¦<div class="a">text</div>¦
{"key": [1, 2, {"a": null}]}¦SELECT * FROM t WHERE x >= 10;¦https://example.org/a?b=c&d=%20#e¦user.name+tag@example.co.uk¦
C:\\\\Users\\\\x¦$\\\\alpha_{i}^{2}$¦===¦-----¦......¦!!!???¦***bold***¦_under_score_¦camelCaseWord¦snake_case_word¦ALLCAPS¦MixedCASE¦
...and¦(a)(b)¦[x]{y}<z>¦~`@#$%^&*¦“quoted” —dash– …¦€100 £20 ¥3000 ₹5¦10°C ±5% µm¦a/b\\\\c¦x=-1¦--flag=value¦a--b¦«français»¦¿Qué?¦ﷺ¦
Ω≈ç√∫¦∀x∈ℝ¦→←↑↓¦■□▲△¦
""".strip("\n").replace("¦\n", "¦").replace("\n", "¦")


def texts():
    for text in TEXTS.split("¦"):
        yield text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    yield "a" * 1000
    yield "ab" * 500
    yield "Donaudampfschifffahrtsgesellschaftskapitän" * 5
    yield "0" * 100
    yield " " * 100 + "x"
    yield "\n" * 70 + "x"
    yield "=" * 200
    yield "的" * 100
    yield "ا" * 100
    yield "x" + "\u0301" * 50
    chance = random.Random(20240607)
    pools = ["abcXYZ", "'stremvld", " ", " \t\n\r", "0123456789", "!?.,;:-", "éüßñ", "жщѣ", "中文字", "あア", "😀🏽\u200d", "\u00a0\u3000\x85\u2028", "٣²Ⅷ"]
    for _ in range(120):
        yield "".join(chance.choice(chance.choice(pools)) for _ in range(chance.randint(1, 40)))


def build(vocab, merges, llama3):
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=llama3, fuse_unk=False))
    if llama3:
        first, second = pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    else:
        first, second = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, second])
    return tokenizer


def main():
    fields = gguf.GGUFReader(sys.argv[1]).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    vocab = {token: index for index, token in enumerate(tokens) if types[index] == 1}
    for name, llama3 in (("smollm_tokens.txt", False), ("llama_bpe_tokens.txt", True)):
        tokenizer = build(vocab, merges, llama3)
        path = pathlib.Path(__file__).parent / name
        with open(path, "w", encoding="ascii", newline="\n") as out:
            out.write("# SPDX-License-Identifier: Apache-2.0\n")
            out.write(f"# By make_smollm_tokens.py, tokenizers {tokenizers.__version__}, vocabulary of SmolLM2-135M-Instruct.Q4_1.gguf, "
                      f"pre-tokenizer {'llama-bpe' if llama3 else 'smollm'}.\n# A line: the text's UTF-8 in hex, '-' for none; its tokens.\n")
            for text in dict.fromkeys(texts()):
                data = text.encode()
                out.write(" ".join([data.hex() or "-"] + [str(i) for i in tokenizer.encode(text, add_special_tokens=False).ids]) + "\n")


if __name__ == "__main__":
    main()
