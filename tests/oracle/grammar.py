#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second matcher of grammars in GBNF, and a comparison of engine/grammar/ with it on random texts.

usage: grammar.py GEN_GRAMMAR TEXTS [FILE.gbnf|FOLDER]...   GEN_GRAMMAR is build/tests/gen_grammar.
With files or folders these take the place of the grammars below: llama.cpp's own are in grammars/ of its repository.
Texts are walks through a grammar, and the same with a character more, less or another. Each must be
one of the grammar here and there, or in neither. Written from the notation alone: a parser to
tuples, and a matcher that gives, for a part and a place, all places where it may end.
"""
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

GRAMMARS = {
    "json": r'''root ::= object
object ::= "{" ws (pair ("," ws pair)*)? "}" ws
pair ::= string ":" ws value
value ::= object | array | string | number | ("true" | "false" | "null") ws
array ::= "[" ws (
  value ("," ws value)*
)? "]" ws
string ::= "\"" ([^"\\\x7f\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-f]{4}))* "\"" ws
number ::= "-"? ([0-9] | [1-9] [0-9]{0,3}) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,2})? ws
ws ::= | " " | "\n" [ \t]{0,3}
''',
    "sums": '''root ::= (sum "=" ws number "\\n")+
sum ::= term ([-+*/] ws term)*
term ::= name | number | "(" ws sum ")" ws
name ::= [a-z] [a-z0-9_]* ws
number ::= [0-9]+ ws
ws ::= [ \\t]*
''',
    "list": 'root ::= item{1,4}\nitem ::= "- " [^\\r\\n\\u2028\\x0b-\\x0c]{1,20} "\\n"\n',
    "chess": '''root ::= ("1. " move " " move "\\n" ([1-9] [0-9]? ". " move " " move "\\n"){,4})
move ::= (pawn | piece | castle) [+#]?
piece ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBQR])?
castle ::= "O-O" "-O"?
''',
    "code": '''root ::= declaration*
declaration ::= type " " name "(" (type " " name)? ")" ws "{" ws statement* "}" ws
type ::= "int" | "float" | "char"
name ::= [a-zA-Z_] [a-zA-Z_0-9]{0,5}
statement ::= (name " = " value ";" | "if (" value (" < " | " == ") value ") {" ws statement* "}" |
  "return " value ";" | "// " [^\\n]* "\\n") ws
value ::= unit (" " [-+*/] " " unit)*
unit ::= name | [0-9]+ | "(" value ")" | name "(" (value (", " value)*)? ")"
ws ::= [ \\n]{0,2}
''',
    "japanese": 'root ::= (word [ 、。\\t])+\nword ::= [ぁ-ゟ]{1,6} | [ァ-ヿ]+ | [一-鿿]{1,3} | "ー"?\n',
    "counts": 'root ::= (("a"? "b"?){2,3} | ("aa" | "a"){3,5}){1,2} "c"{2,}? | .{3}\n',
    "empty": 'root ::= e ("" | e e){2,7} "x" e+\ne ::= "y"? | ("z"*){2,}\n',
}
TOKEN = re.compile(r'''\s+|\#[^\n]*|(?P<name>[A-Za-z0-9_-]+)(?P<rule>[ \t]*::=)?|(?P<text>"(?:\\.|[^"\\])*")
|(?P<set>\[(?:\\.|[^\]\\])*\])|(?P<times>[*+?]|\{[^}]*\})|(?P<mark>[().|])''', re.X | re.S)
CHARACTER = re.compile(r'\\x(..)|\\u(....)|\\U(.{8})|\\(.)|(.)', re.S)
UNLIMITED = 10**9


def characters(text):
    out = []
    for x, u, w, escaped, plain in CHARACTER.findall(text):
        if x or u or w:
            out.append(int(x or u or w, 16))
        else:
            out.append(ord({"n": "\n", "r": "\r", "t": "\t"}.get(escaped, escaped) or plain))
    return out


def parse_set(text):
    negated, ranges = text.startswith("^"), []
    spelled = [match.group(0) for match in CHARACTER.finditer(text[negated:])]
    values = characters(text[negated:])
    at = 0
    while at < len(values):
        if at + 2 < len(values) and spelled[at + 1] == "-":
            ranges.append((values[at], values[at + 2]))
            at += 3
        else:
            ranges.append((values[at], values[at]))
            at += 1
    return ("set", negated, tuple(ranges))


class Grammar:
    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise ValueError(text[at:at + 20])
            if match.lastgroup:
                self.tokens.append((match.lastgroup if not match["name"] else
                                    "rule" if match["rule"] else "name",
                                    match["name"] or match.group(0)))
            at = match.end()
        self.rules, self.at = {}, 0
        while self.at < len(self.tokens):
            name = self.tokens[self.at][1]
            self.at += 1
            self.rules[name] = self.any()

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def any(self):
        parts = [self.all()]
        while self.peek() == ("mark", "|"):
            self.at += 1
            parts.append(self.all())
        return ("any", tuple(parts))

    def all(self):
        parts = []
        while self.peek()[0] not in ("end", "rule") and self.peek()[1] not in (")", "|") or \
                self.peek()[0] in ("text", "set"):
            parts.append(self.part())
        return ("all", tuple(parts))

    def part(self):
        kind, word = self.peek()
        self.at += 1
        if kind == "text":
            part = ("all", tuple(("set", False, ((c, c),)) for c in characters(word[1:-1])))
        elif kind == "set":
            part = parse_set(word[1:-1])
        elif kind == "name":
            part = ("call", word)
        elif word == ".":
            part = ("set", True, ())
        else:
            part = self.any()
            self.at += 1
        while self.peek()[0] == "times":
            least, most = self.times(self.peek()[1])
            part = ("repeat", part, least, most)
            self.at += 1
        return part

    @staticmethod
    def times(word):
        if word in "*+?":
            return int(word == "+"), 1 if word == "?" else UNLIMITED
        least, comma, most = word[1:-1].partition(",")
        return int(least or 0), int(most) if most.strip() else UNLIMITED if comma else int(least)


def fits(part, character):
    inside = any(low <= ord(character) <= high for low, high in part[2])
    return inside != part[1]


def ends(grammar, text, part, at, known):
    """All places where the part may end that begins at `at`."""
    key = (id(part), at)
    if key in known:
        return known[key]
    kind = part[0]
    if kind == "set":
        out = {at + 1} if at < len(text) and fits(part, text[at]) else set()
    elif kind == "call":
        out = ends(grammar, text, grammar.rules[part[1]], at, known)
    elif kind == "any":
        out = set().union(*(ends(grammar, text, one, at, known) for one in part[1]))
    elif kind == "all":
        out = {at}
        for one in part[1]:
            out = set().union(*(ends(grammar, text, one, place, known) for place in out))
    else:
        out, now, count, before = set(), {at}, 0, []
        while now and now not in before[-1:]:
            if count >= part[2]:
                out |= now
            if count == part[3] or count > part[2] + len(text):
                break
            before.append(now)
            now = set().union(*(ends(grammar, text, part[1], place, known) for place in now))
            count += 1
        if now in before[-1:]:  # it would stay so
            out |= now
    known[key] = out
    return out


def walk(grammar, part, depth):
    """A random text of the part."""
    kind = part[0]
    if kind == "set":
        for _ in range(200):
            pool = [chr(random.randint(*random.choice(part[2])))] if not part[1] else \
                [random.choice("aZ09 \té、\U0001f600\u07ff\u0800\uffff-\"x")]
            if fits(part, pool[0]) and not 0xd800 <= ord(pool[0]) <= 0xdfff:
                return pool[0]
        return "a"
    if kind == "call":
        return walk(grammar, grammar.rules[part[1]], depth + 1)
    if kind == "any":
        parts = part[1] if depth < 12 else sorted(part[1], key=lambda one: len(str(one)))[:1]
        return walk(grammar, random.choice(parts), depth + 1)
    if kind == "all":
        return "".join(walk(grammar, one, depth + 1) for one in part[1])
    most = min(part[3], part[2] + (3 if depth < 10 else 0))
    return "".join(walk(grammar, part[1], depth + 1) for _ in range(random.randint(part[2], most)))


def damage(text):
    at, kind = random.randint(0, len(text)), random.randrange(3)
    more = random.choice(text + "a1\" \n、é") if kind else ""
    return text[:at] + more + text[at + (kind != 1):]


def compare(tool, name, source, count):
    grammar, texts = Grammar(source), []
    while len(texts) < count:
        try:
            text = walk(grammar, ("call", "root"), 0)
        except RecursionError:
            continue
        if len(text) <= 120:
            texts += [text, damage(text), damage(damage(text))]
    with tempfile.NamedTemporaryFile(suffix=".gbnf") as file:
        file.write(source.encode())
        file.flush()
        lines = "".join(text.encode().hex() + "\n" for text in texts)
        said = subprocess.run([tool, file.name], input=lines, capture_output=True, text=True, check=False)
    if said.returncode:
        print(f"{name}: refused: {said.stdout.strip()}")
        return 1
    wrong = has = 0
    for text, line in zip(texts, said.stdout.splitlines(), strict=True):
        mine = len(text) in ends(grammar, text, ("call", "root"), 0, {})
        has += mine
        if mine != (line[0] == "1"):
            wrong += 1
            if wrong < 4:
                print(f"{name}: {text!r} is {mine} here")
    print(f"{name}: {len(texts)} texts, {has} of the grammar, {wrong} differ")
    return wrong


def read_sources(paths):
    if not paths:
        return GRAMMARS
    found, sources = [], {}
    for path in paths:
        if not os.path.exists(path):
            print(f"SKIPPED: {path} is not there")
            sys.exit(0)
        found += sorted(glob.glob(os.path.join(path, "*.gbnf"))) if os.path.isdir(path) else [path]
    for path in found:
        with open(path, encoding="utf-8") as file:
            sources[os.path.basename(path)] = file.read()
    return sources


def main():
    sys.setrecursionlimit(20000)
    random.seed(1)
    tool, count = sys.argv[1], int(sys.argv[2])
    sources = read_sources(sys.argv[3:])
    wrong = sum(compare(tool, name, source, count // len(sources)) for name, source in sources.items())
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
