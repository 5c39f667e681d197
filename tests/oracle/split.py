#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# io/text/split a second time, with Python's tables of Unicode, and the vectors that it makes:
#   tests/oracle/split.py > tests/golden/split.txt               (tests/io/test_io_split.c reads the file)
#   tests/oracle/split.py | diff - tests/golden/split.txt        (checks the file; Python 3.11 has Unicode 14, which is enough here)
# A line is one text in hex, then what it is cut into: w for a word, n for a number, s for what stands between them, and the bytes in hex.
import random
import unicodedata as u

SCRIPTS = [
    "abcXYZ éÉßıİŉǅΣσςΐ Straße ﬁn",
    "Ελληνικά ΟΔΌΣ",
    "Привет ЁЖ ё",
    "हिन्दी क्षि ১২৩ ४५",
    "한국어 가각힣각",
    "中文字 日本語ひらがなカタカナがガ",
    "ไทยกำ น้ำ",
    "עִבְרִית العَرَبِيَّة ١٢٣",
    "е̄ ȫ ṩ ạ̈ q̣̇ q̣̇",
    "0123456789.,:/-'’ \t\n",
    "!?.,;:-()[]«»“”…—'’_",
    "½²③Ⅳ$€+=<>©😀❤️1️⃣",
    "a\u00adb a\u200cb a\u200db a\u200bb",
]


def points_of(text):
    for c in u.normalize("NFC", u.normalize("NFD", text).casefold()):
        if c not in "\u00ad\u200c\u200d":
            yield c


def kind(c):
    if "\t" <= c <= "\r" or c == "\x85":
        return "Z"
    return u.category(c)


def shape_of(run):
    out, space = "", ""
    for c in run:
        if kind(c)[0] == "Z":
            space = "\n" if c in "\n\r\x85\u2028\u2029" or space == "\n" else " "
        elif kind(c)[0] == "P":
            out, space = out + space + c, ""
    return out + space


def split(text):
    points = list(points_of(text)) + [""] * 2
    is_letter = [bool(c) and kind(c)[0] == "L" for c in points]
    is_digit = [bool(c) and kind(c) == "Nd" for c in points]
    items, at, between = [], 0, ""
    while points[at]:
        if not is_letter[at] and not is_digit[at]:
            between, at = between + points[at], at + 1
            continue
        if shape_of(between):
            items.append(("s", shape_of(between)))
        between, run, word = "", "", is_letter[at]
        while points[at]:
            c = points[at]
            if word and c in "'’" and is_letter[at + 1]:
                run += "'"
            elif word and kind(c)[0] in "LM" or not word and (is_digit[at] or c in ".,:/-" and is_digit[at + 1]):
                run += c
            else:
                break
            at += 1
        items.append(("w" if word else "n", run))
    if shape_of(between):
        items.append(("s", shape_of(between)))
    return items


def show(text):
    print(text.encode().hex() or "-", *(kind + item.encode().hex() for kind, item in split(text)))


random.seed(5)
for text in SCRIPTS + ["", "Ann's 3.5 mg, naïve!", "don’t rock 'n' roll", "12:30, 1/2/2020, 5-6-, .5", "B12 3rd x'1 1'x"]:
    show(text)
    show(u.normalize("NFD", text))
for _ in range(300):
    letters = "".join(random.sample(SCRIPTS, 3))
    show("".join(random.choice(letters) for _ in range(random.randrange(1, 40))))
