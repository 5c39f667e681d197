#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the sentences that users read, and finds dead links. tests/cli/docs.sh calls it.

usage: prose.py [--table] ROOT PAGE...
       prose.py --help-of CUTTLE [--table]
       prose.py --literals ROOT [--table]

What counts. Blocks of commands, addresses of links and headings are left out. `A span of code` is one word. A sentence ends
with . ! or ? before white space, and at the end of a paragraph, of an item of a list and of a cell of a table. Items and cells
count for the longest sentence, but not for the mean where they have fewer than five words: labels would make a page look simple.
Of dp/PRIVACY.md its beginning counts alone, up to "## The promise". With --help-of the help of every verb is a page: what it says
of each option, and its paragraphs; lines that are indented show commands. With --literals the strings of the C code are
pages, one a room: errors, warnings, reports, sentences of receipts. Literals side by side are one string, which a newline
parts. SQL, prompts of the model and the sentences of earlier receipts are left out: they stay as they are.
Fails where the mean of a page is above 15 words, a sentence has more than 30, or a link leads nowhere. --table prints a line a
page: lines, sentences, mean, longest, share above 25 words."""
import os
import re
import subprocess
import sys

MEAN, LONGEST, LABEL = 15, 30, 5
ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|vs|cf)\.$")


def blocks(text):
    """Yields (line number, is a part of its own, words) of each paragraph, item and cell."""
    fenced, held, begin, own = False, [], 0, False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
            line = ""
        elif fenced:
            continue
        item = re.match(r"\s*(?:[-*] |\d+\. )", line)
        if not line.strip() or line.startswith(("#", "|")) or item:
            if held:
                yield begin, own, " ".join(held)
            held = []
        if line.startswith("|"):
            if not re.fullmatch(r"[|\-: ]+", line):
                for cell in re.split(r"(?<!\\)\|", line)[1:-1]:
                    yield number, True, cell.strip()
        elif line.strip() and not line.startswith("#"):
            if not held:
                begin, own = number, bool(item)
            held.append(line[item.end():] if item else line.strip())
    if held:
        yield begin, own, " ".join(held)


def plain(words):
    words = re.sub(r"``.*?``|`[^`]*`", "CODE", words)
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", words)
    return re.sub(r"[*_]{1,2}(\S(?:.*?\S)?)[*_]{1,2}", r"\1", words)


def sentences(words):
    """The sentences of a paragraph, each as its words."""
    sentence = []
    for word in plain(words).split():
        sentence.append(word)
        if re.search(r"[.!?][)\"'*]*$", word) and not ABBREVIATIONS.search(word):
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def measure(name, text, faults):
    counted, longest, many = [], 0, 0
    for number, own, words in blocks(text):
        for sentence in sentences(words):
            length = sum(1 for word in sentence if re.search(r"\w", word))
            if not length:
                continue
            if length > LONGEST:
                faults.append("%s:%d: a sentence of %d words: %s ..." % (name, number, length, " ".join(sentence[:8])))
            longest = max(longest, length)
            if own and length < LABEL:
                continue
            counted.append(length)
            many += length > 25
    mean = sum(counted) / len(counted) if counted else 0
    if mean > MEAN:
        faults.append("%s: %.1f words a sentence, and at most %d may be" % (name, mean, MEAN))
    return "%-22s %4d lines  %4d sentences  %4.1f words  longest %2d  above 25: %4.1f %%" % (
        name, text.count("\n"), len(counted), mean, longest, 100 * many / max(1, len(counted)))


def anchor(heading):
    """The anchor that a heading gets."""
    heading = re.sub(r"[`*]", "", plain_heading(heading)).lower()
    return re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-")


def plain_heading(heading):
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)


def anchors(path):
    with open(path, encoding="utf-8") as file:
        return {anchor(line.lstrip("#").strip()) for line in file if line.startswith("#")}


def links(root, page, text, faults):
    fenced = re.sub(r"(?ms)^```.*?^```", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", fenced)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, part = target.partition("#")
        file = os.path.normpath(os.path.join(root, os.path.dirname(page), path)) if path else os.path.join(root, page)
        if not os.path.exists(file):
            faults.append("%s: a link to %s, which is not there" % (page, target))
        elif part and part not in anchors(file):
            faults.append("%s: a link to %s, which has no such heading" % (page, target))


def helps(cuttle):
    """Yields a name and a page for each verb's help."""
    def says(*words):
        return subprocess.run([cuttle, "help", *words], capture_output=True, text=True, check=True).stdout

    for verb in says("--verbs").split():
        options, _, about = says(verb, "--all").partition("\n  -h, --help\n")
        lines = ["- " + " ".join(re.split(r"(?:  +|\n +)", option, maxsplit=1)[1:]).split("\n\n")[0]
                 for option in re.split(r"\n +(?:-., )?--(?=[a-z])", options)[1:]]
        lines = [" ".join(line.split()) for line in lines]
        yield verb, "\n".join(lines + [re.sub(r"(?m)^ +.*\n", "", about)])


ROOMS = ("base", "convert", "dp", "engine", "io", "measure", "serve", "tag", "tools", "topics", "workflow")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
STRING = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)+'|%s(?:\s*(?:PRI\w+|[A-Z][A-Z_]+)?\s*%s)*" % (LITERAL, LITERAL), re.S)
SQL = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA)\b")
PROMPTS = ("engine/run/plan/prompt.c",)
# How sentences begin that were written before 0.2.0 was done (enum receipt_wording).
FORMER = ("Guarantee: whatever anyone concludes", "Guarantee, per document: whatever", "Guarantee per word: whoever sees",
          "The %zu texts are (epsilon", "Which words are marked was chosen by what they say, %s: this")


def strings(code):
    """Yields (line number, string) of each string in C: what a format would print, but for its values."""
    for found in STRING.finditer(code):
        if found[0].startswith('"'):
            text = "".join(part[1:-1] for part in re.findall(LITERAL, found[0]))
            yield code.count("\n", 0, found.start()) + 1, text.replace('\\"', '"').replace("\\n", "\n").replace("%%", "%")


def literals(root):
    """Yields a room and a page of its strings, each a paragraph, with where it stands."""
    for room in ROOMS:
        page = []
        for folder, _, names in sorted(os.walk(os.path.join(root, room))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if not name.endswith((".c", ".h")) or path in PROMPTS:
                    continue
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    code = file.read()
                for number, text in strings(code):
                    if not SQL.match(text) and not text.startswith(FORMER):
                        page += [("%s:%d" % (path, number), line) for line in text.split("\n")]
        yield room, page


def measure_literals(room, page, faults):
    """As measure, of paragraphs that say where they stand. Strings of fewer than five words are names and parts."""
    counted = []
    for place, text in page:
        for sentence in sentences(text):
            length = sum(1 for word in sentence if re.search(r"\w", word))
            if length > LONGEST:
                faults.append("%s: a sentence of %d words: %s ..." % (place, length, " ".join(sentence[:8])))
            if length >= LABEL:
                counted.append(length)
    mean = sum(counted) / max(1, len(counted))
    if mean > MEAN:
        faults.append("%s: %.1f words a sentence, and at most %d may be" % (room, mean, MEAN))
    return "%-22s %4d sentences  %4.1f words  longest %2d  above 25: %4.1f %%" % (
        room, len(counted), mean, max(counted, default=0), 100 * sum(n > 25 for n in counted) / max(1, len(counted)))


def main(arguments):
    faults, table = [], arguments[:1] == ["--table"]
    if table:
        arguments = arguments[1:]
    if arguments[0] == "--help-of":
        for name, text in helps(arguments[1]):
            line = measure(name, text, faults)
            if "--table" in arguments:
                print(line)
        return report(faults)
    if arguments[0] == "--literals":
        for room, page in literals(arguments[1]):
            line = measure_literals(room, page, faults)
            if "--table" in arguments:
                print(line)
        return report(faults)
    root = arguments[0]
    for page in arguments[1:]:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        links(root, page, text, faults)
        if page.startswith("bench/") or page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
            continue
        if page == "dp/PRIVACY.md":
            text = text[: text.find("\n## The promise\n")]
        line = measure(page, text, faults)
        if table:
            print(line)
    return report(faults)


def report(faults):
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
