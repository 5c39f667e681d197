# SPDX-License-Identifier: Apache-2.0
"""Does a remote model's reply help the local model, when the remote one saw perturbed words alone? Runs cuttle infer end to end against
examples/loopback and prints the tables of section "Utility" in bench/INFERDPT.md. The texts are shown to whoever reads the folder: use
public ones. What stands in FOLDER already is not made again, so a run that was stopped goes on; --tables only reads."""
import argparse
import array
import collections
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import time
import urllib.request

DOCUMENT, TRUTH = 50, 75  # words of a document, and of its true continuation
TOKENS = 100  # of a reply, and of a final text
SEED = 1
EQUAL = "diversity, equal length"
SHORTEST = 10  # words that are compared in their diversity
INSTRUCTION = ("Continue the text below. Write only what follows it, in the same manner, and nothing about it.\n\n"
               "Text: %s\n\nContinuation:")  # as in workflow/infer.c, for the row that perturbs nothing
STOP_WORDS = """a about after all also an and any are as at be because been before being but by can could did do does for from get had has
have he her here him his how i if in into is it its just like me more most my no not now of on one only or other our out over said she so
some such than that the their them then there these they this those through to too up us very was we were what when where which who will
with would you your""".split()
METHODS = {
    "rank, step 20, eps 3": ["-e", "3", "-k", "20"],
    "rank, step 20, eps 6": ["-e", "6", "-k", "20"],
    "rank, step 20, eps 10": ["-e", "10", "-k", "20"],
    "rank, step 3, eps 6": ["-e", "6", "-k", "3"],
    "rantext, eps 6": ["-e", "6", "--method", "rantext"],
    "santext+, eps 6": ["-e", "6", "--method", "santext+", "--sensitive", "sensitive.txt"],
    "custext+, eps 6": ["-e", "6", "--method", "custext+", "--stop-words", "stop.txt"],
}
ALONE = "local model alone"  # no notes
RAW = "nothing hidden"  # notes: the reply to the raw document
OTHER = "another text's reply"  # notes: the reply to the next raw document of the same file
ORACLE = "a perfect reply"  # notes: the true continuation itself
REMOTE = "remote alone, raw text"  # that reply is the final text
TRUE = "true continuation"  # the record's own next words
TRIED = "rank, step 20, eps 6"  # the default, which is also tried in the model's chat format
INSTRUCT, ALONE_INSTRUCT = TRIED + ", instruct", ALONE + ", instruct"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/infer.py", description=__doc__)
    parser.add_argument("cuttle")
    parser.add_argument("loopback")
    parser.add_argument("model", help="the local model, and the remote one, too")
    parser.add_argument("folder", help="for all that is made")
    parser.add_argument("count", type=int, help="records of each file: the first that are long enough")
    parser.add_argument("data", nargs="+", help="JSONL with the field text")
    parser.add_argument("--tables", action="store_true", help="make nothing, only print")
    return parser.parse_args()


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(path, rows):
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    os.replace(path + ".part", path)


def read_words(path):
    """The words of a words file and their vectors; io/tables/words_file.h has the format."""
    with open(path, "rb") as file:
        data = file.read()
    count, width, sets, transform, texts = struct.unpack_from("<4IQ", data, 16)
    at = 104
    words = data[at:at + texts].split(b"\0")[:count]
    at += texts + 4 * count * bool(sets) + 4 * (width + width * width) * transform
    numbers = array.array("f", data[at:at + 4 * count * width])
    return {word.decode(): numbers[i * width:(i + 1) * width] for i, word in enumerate(words)}


# ---- making ------------------------------------------------------------------------------------------------------------------------------


class Maker:
    def __init__(self, options):
        self.options = options
        self.words = self.path("words.cw")

    def path(self, name):
        return os.path.join(self.options.folder, name.replace(" ", "-").replace(",", ""))

    def cuttle(self, *parts):
        begun = time.time()
        subprocess.run([self.options.cuttle, *parts], check=True, stderr=subprocess.DEVNULL)
        print(f"{time.time() - begun:6.0f} s  cuttle {parts[0]}, {os.path.basename(parts[-1])}", file=sys.stderr)

    def texts(self):
        """Documents, their true continuations, and the public lists of the baselines."""
        documents, truths = [], []
        for data in self.options.data:
            rows = [row["text"].split() for row in read(data)]
            for text in [text for text in rows if len(text) >= DOCUMENT + TRUTH][:self.options.count]:
                documents.append({"text": " ".join(text[:DOCUMENT])})
                truths.append({"text": " ".join(text[DOCUMENT:DOCUMENT + TRUTH])})
        write(self.path("documents.jsonl"), documents)
        write(self.path(TRUE + ".jsonl"), truths)
        write(self.path("none.jsonl"), [{"index": 0, "text": ""}])
        if not os.path.exists(self.words):
            self.cuttle("words", "-m", self.options.model, "-o", self.words)
        words = list(read_words(self.words))  # the likely ones come first
        for name, listed in (("sensitive.txt", words[len(words) // 2:]), ("stop.txt", STOP_WORDS)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.writelines(word + "\n" for word in listed)

    def serve(self, work):
        """Calls work(endpoint) while a model answers there. Its draws begin anew each time."""
        port = self.path("port")
        if os.path.exists(port):
            os.remove(port)
        command = [self.options.loopback, self.options.model, port, str(SEED)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(port) or not os.path.getsize(port):
                if server.poll() is not None:
                    raise SystemExit("infer.py: loopback ended")
                time.sleep(0.1)
            with open(port, encoding="ascii") as file:
                work(f"http://127.0.0.1:{file.read().strip()}/v1")
        finally:
            server.kill()
            server.wait()

    def infer(self, name, method):
        method = [self.path(part) if part.endswith(".txt") else part for part in method]
        self.serve(lambda endpoint: self.cuttle(
            "infer", "-q", "--overwrite", "--words", self.words, "-m", self.options.model, "-i", self.path("documents.jsonl"), *method,
            "-N", str(DOCUMENT), "--endpoint", endpoint, "--remote-model", "loopback", "--remote-tokens", str(TOKENS), "-n", str(TOKENS),
            "--insecure-seed", str(SEED), "-o", self.path(name + ".jsonl")))

    def ask_raw(self):
        replies = []

        def ask(endpoint):
            for index, row in enumerate(read(self.path("documents.jsonl"))):
                question = {"role": "user", "content": INSTRUCTION % row["text"]}
                body = {"messages": [question], "max_tokens": TOKENS, "temperature": 0.5}
                request = urllib.request.Request(endpoint + "/chat/completions", json.dumps(body).encode())
                with urllib.request.urlopen(request) as answer:
                    replies.append({"index": index, "text": json.load(answer)["choices"][0]["message"]["content"]})

        self.serve(ask)
        write(self.path(REMOTE + ".jsonl"), replies)

    def extract(self, name, replies, *more):
        self.cuttle(
            "extract", "-q", "--overwrite", "-m", self.options.model, "-i", self.path("documents.jsonl"), "--replies", replies,
            "-n", str(TOKENS), "--insecure-seed", str(SEED), *more, "-o", self.path(name + ".jsonl"))

    def rotate(self):
        """Gives each document the reply to the next one of its own file."""
        texts = [row["text"] for row in read(self.path(REMOTE + ".jsonl"))]
        count = self.options.count
        return [{"index": i, "text": texts[i - i % count + (i + 1) % count]} for i in range(len(texts))]

    def replies(self, name):
        rows = read(self.path(name + ".replies.jsonl"))
        return [row for row in rows if "index" in row]

    def make(self):
        os.makedirs(self.options.folder, exist_ok=True)
        self.texts()

        def lacks(name):
            return not os.path.exists(self.path(name + ".jsonl"))

        if lacks(ALONE):
            self.extract(ALONE, self.path("none.jsonl"))
        if lacks(ALONE_INSTRUCT):
            self.extract(ALONE_INSTRUCT, self.path("none.jsonl"), "--template", "instruct")
        if lacks(REMOTE):
            self.ask_raw()
        if lacks(RAW):
            write(self.path(RAW + ".replies.jsonl"), read(self.path(REMOTE + ".jsonl")))
            self.extract(RAW, self.path(RAW + ".replies.jsonl"))
        if lacks(OTHER):
            write(self.path(OTHER + ".replies.jsonl"), self.rotate())
            self.extract(OTHER, self.path(OTHER + ".replies.jsonl"))
        if lacks(ORACLE):
            write(self.path(ORACLE + ".replies.jsonl"), [{"index": i, **row} for i, row in enumerate(read(self.path(TRUE + ".jsonl")))])
            self.extract(ORACLE, self.path(ORACLE + ".replies.jsonl"))
        for name, method in METHODS.items():
            if lacks(name):
                self.infer(name, method)
        if lacks(INSTRUCT):
            write(self.path(INSTRUCT + ".replies.jsonl"), self.replies(TRIED))
            self.extract(INSTRUCT, self.path(INSTRUCT + ".replies.jsonl"), "--template", "instruct")

    def score(self, name, texts):
        """ln P of every token of each text."""
        scores = self.path(name + ".scores")
        if not os.path.exists(scores):
            write(self.path("scored.jsonl"), [{"text": text} for text in texts])
            self.cuttle("score", "-m", self.options.model, "-i", self.path("scored.jsonl"), "-o", scores)
        return [row["logprobs"] for row in read(scores) if "logprobs" in row]


# ---- measures ----------------------------------------------------------------------------------------------------------------------------


def split(text):
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+", text.lower().replace("\u2019", "'"))


def grams(text, n):
    words = split(text)
    return [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]


def diversity(text, most=None):
    """The product over n = 2..4 of distinct by all n-grams, of all words or of at most so many."""
    lists = [grams(" ".join(split(text)[:most]), n) for n in (2, 3, 4)]
    return math.prod(len(set(some)) / len(some) for some in lists) if all(lists) else None


def share(of, there, n):
    """The share of the distinct n-grams of one text that stand in the other, too."""
    mine = set(grams(of, n))
    return len(mine & set(grams(there, n))) / len(mine) if mine else None


def direction(text, vectors):
    known = [vectors[word] for word in split(text) if word in vectors]
    return [sum(column) for column in zip(*known)] if known else None


def cosine(a, b):
    if a is None or b is None:
        return None
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def ratio(pairs):
    return sum(pair[0] for pair in pairs) / sum(pair[1] for pair in pairs)


def interval(pairs):
    """Of documents with a pair of (sum, weight) from two rows: the difference of the weighted means, and 95 % of a bootstrap."""
    def difference(some):
        return ratio([one for one, _ in some]) - ratio([other for _, other in some])

    draw = random.Random(SEED)
    drawn = sorted(difference(draw.choices(pairs, k=len(pairs))) for _ in range(2000))
    return difference(pairs), drawn[50], drawn[1949]


def loss(logprobs, tokens):
    """-ln P of the last tokens and their number; None: there are none."""
    return (-sum(logprobs[-tokens:]), tokens) if tokens > 0 else None


def weigh(value):
    """A value that is no pair has weight 1."""
    return value if isinstance(value, tuple) else (value, 1)


def measure(maker):
    """Of each row and measure a value for each document."""
    vectors = read_words(maker.words)

    def texts(name):
        return [row["text"] for row in read(maker.path(name + ".jsonl"))]

    documents, truths, alone = texts("documents"), texts(TRUE), texts(ALONE)
    document_ways = [direction(text, vectors) for text in documents]
    truth_ways = [direction(text, vectors) for text in truths]
    lengths = [len(logprobs) for logprobs in maker.score("documents", documents)]
    result = {}

    def conditional(name, ends):
        """Of the final texts behind their documents: how likely, and how many tokens."""
        scores = maker.score(name, [f"{document} {end}".rstrip() for document, end in zip(documents, ends)])
        return scores, [len(logprobs) - length for logprobs, length in zip(scores, lengths)]

    _, truth_tokens = conditional("truth", truths)
    for name in [ALONE, *METHODS, RAW, OTHER, ORACLE, REMOTE, ALONE_INSTRUCT, INSTRUCT, TRUE]:
        if not os.path.exists(maker.path(name + ".jsonl")):
            continue
        finals, row = texts(name), collections.defaultdict(list)
        scores, tokens = conditional(name, [" ".join(final.split()) for final in finals])
        row["words"] = [len(split(final)) for final in finals]
        row["diversity"] = [diversity(final) for final in finals]
        for final, other in zip(finals, alone):
            least = min(len(split(final)), len(split(other)))
            both = [diversity(text, least) if least >= SHORTEST else None for text in (final, other)]
            row[EQUAL].append(both)
        ways = [direction(final, vectors) for final in finals]
        row["cosine document"] = [cosine(a, b) for a, b in zip(ways, document_ways)]
        if name != TRUE:
            row["cosine truth"] = [cosine(a, b) for a, b in zip(ways, truth_ways)]
        row["ln ppl"] = [loss(logprobs, count) for logprobs, count in zip(scores, tokens)]
        row["ln ppl alone"] = [loss(logprobs, len(logprobs)) for logprobs in maker.score(name + " by itself", finals)]
        notes = None
        if os.path.exists(maker.path(name + ".replies.jsonl")):
            notes = [reply["text"] for reply in maker.replies(name)]
            for n in (1, 2, 3):
                row[f"reply {n}"] = [share(a, b, n) for a, b in zip(documents, notes)]
                row[f"use {n}"] = [share(a, b, n) for a, b in zip(finals, notes)]
                row[f"chance {n}"] = [share(a, b, n) for a, b in zip(alone, notes)]
        if name in METHODS:
            for n in (1, 2, 3):
                row[f"left {n}"] = [share(a, b, n) for a, b in zip(documents, texts(name + ".perturbed"))]
        if name == ALONE or (notes and name not in (ORACLE, INSTRUCT)):
            prompts = [f"{note.strip()}\n\n{document}" for note, document in zip(notes, documents)] if notes else documents
            scores = maker.score(name + " truth", [f"{prompt} {truth}" for prompt, truth in zip(prompts, truths)])
            row["ln ppl truth"] = [loss(logprobs, count) for logprobs, count in zip(scores, truth_tokens)]
        result[name] = row
    return result


# ---- tables ------------------------------------------------------------------------------------------------------------------------------


def number(value, places=3):
    return "" if value is None else f"{value:.{places}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{places}f}"


def table(heads, rows):
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_tables(result, chosen):
    def average(name, what):
        known = [weigh(result[name][what][i]) for i in chosen if result[name][what] and result[name][what][i] is not None]
        return ratio(known) if known else None

    def perplexity(name, what):
        value = average(name, what)
        return "" if value is None else number(math.exp(value), 2)

    table(["final text from", "words", "diversity", "cosine to document", "cosine to truth", "ppl", "ppl by itself", "ppl of truth"],
          [[name, number(average(name, "words"), 0)] +
           [number(average(name, what)) for what in ("diversity", "cosine document", "cosine truth")] +
           [perplexity(name, what) for what in ("ln ppl", "ln ppl alone", "ln ppl truth")] for name in result])

    def difference(name, what):
        if not result[name][what]:
            return ""
        if what == EQUAL:
            values = [result[name][what][i] for i in chosen]
        else:
            values = [(result[name][what][i], result[ALONE][what][i]) for i in chosen]
        values = [(weigh(one), weigh(other)) for one, other in values if one is not None and other is not None]
        if len(values) < 2:
            return ""
        return "{:+.3f} ({:+.3f} to {:+.3f})".format(*interval(values)).replace("0.", ".")

    measures = (EQUAL, "cosine document", "cosine truth", "ln ppl", "ln ppl truth")
    table([f"minus {ALONE}", *measures], [[name] + [difference(name, what) for what in measures] for name in result if name != ALONE])

    def triple(name, what):
        return " ".join(number(average(name, f"{what} {n}")) for n in (1, 2, 3))

    table(["n = 1, 2, 3", "document's n-grams in what left", "in the reply", "final text's n-grams in the reply", f"those of the {ALONE}"],
          [[name] + [triple(name, what) for what in ("left", "reply", "use", "chance")] for name in result if "use 1" in result[name]])


def main():
    options = arguments()
    maker = Maker(options)
    if not options.tables:
        maker.make()
    result = measure(maker)
    count = len(result[ALONE]["words"])
    print(f"All {count} documents\n")
    print_tables(result, range(count))
    for i, data in enumerate(options.data):
        print(f"{os.path.basename(data)} alone\n")
        print_tables(result, range(i * options.count, (i + 1) * options.count))


main()
