#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of pages for users: tests/cli/docs.sh runs what this finds, and asks it for what cannot be run.

usage: pages.py script PAGE FOLDER >SCRIPT     a script of all commands of a page; what each block says goes to FOLDER/N.said
                                           and its lines to FOLDER/N.block
       pages.py words CUTTLE ROOT PAGE...      fails where a page names a verb, an option or a target of make that is not there

In a page a block marked sh is run as it stands, and one marked python behind those before it. Of one marked console the lines behind "$ " are run, and the rest is what they said once.
A block marked text has lines that the block before it must say; they go to FOLDER/N.wanted. In tables a first cell that is a command is
run, and in README.md a command among the words that has values. A command with a word in capitals for something that only the
reader has (MODEL, FOLDER, NAME) is not run. Blocks marked bash cannot be run in a test: their words are looked at, like all others."""
import re
import subprocess
import sys

PLACEHOLDER = re.compile(r"(?<![\w-])(MODEL|FOLDER|NAME|ADDRESS|HEX|F|VERB|OPTION)(?![\w.])")


def fences(text):
    """Yields (mark, lines) of each block, and ("", [line]) of each line outside."""
    mark, held = None, []
    for line in text.split("\n"):
        if line.startswith("```"):
            if mark is None:
                mark, held = line[3:].strip(), []
            else:
                yield mark or "none", held
                mark = None
        elif mark is None:
            yield "", [line]
        else:
            held.append(line)


def session(lines):
    """The commands of a block marked console."""
    goes_on = False
    for line in lines:
        if goes_on or line.startswith("$ "):
            yield line if goes_on else line[2:]
            goes_on = line.endswith("\\")


def loose(page, line):
    """The commands of a line outside all blocks."""
    cell = re.match(r"\| `(cuttle [^`]*)` \|", line)
    if cell:
        yield cell.group(1).replace("\\|", "|")
    elif page.endswith("README.md"):
        for words in re.findall(r"`(cuttle [^`]*)`", line):
            if re.search(r" -[-a-z]+ [^-]", words):
                yield words


def script(page, folder):
    number, program = 0, []
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for mark, lines in fences(text):
        if mark == "text":
            with open("%s/%d.wanted" % (folder, number), "a", encoding="utf-8") as wanted:
                wanted.write("".join(line + "\n" for line in lines))
            continue
        if mark == "":
            commands = [words for words in loose(page, lines[0]) if not PLACEHOLDER.search(words)]
        elif mark == "python":
            program += lines
            commands = ["python3 - <<'END'", *program, "END"]
        else:
            commands = list(session(lines)) if mark == "console" else lines if mark == "sh" else []
        if commands:
            number += 1
            with open("%s/%d.block" % (folder, number), "w", encoding="utf-8") as block:
                block.write("".join(line + "\n" for line in commands))
            print("\n".join(["{"] + commands + ["} >%s/%d.said 2>&1" % (folder, number)]))


class Words:
    """What there is: verbs with their options, and targets of make."""

    def __init__(self, cuttle, root):
        def says(*arguments):
            return subprocess.run([cuttle, *arguments], capture_output=True, text=True, check=True).stdout

        self.options = {}
        for verb in says("help", "--verbs").split():
            self.options[verb] = set(re.findall(r"^ +(?:-., )?(--[a-z0-9-]+)", says("help", verb, "--all"), re.M)) | {"--help", "--all"}
        self.options["shard"] |= self.options["generate"]
        self.options["help"] = {"--all", "--verbs", "--json", "--mdoc", "--completion"}
        self.all = set().union(*self.options.values()) | {"--version"}
        with open(root + "/Makefile", encoding="utf-8") as file:
            self.targets = set(" ".join(re.findall(r"^([a-z][a-z0-9 \-]*):(?!=)", file.read(), re.M)).split())

    def faults(self, words):
        """Yields what is wrong with the words of a span or of a block."""
        for target in re.findall(r"(?:^|[;&(] ?|sudo )make ([a-z][a-z0-9-]*)", words, re.M):
            if target not in self.targets:
                yield "there is no make " + target
        for command in re.findall(r"(?:^|[\s/;&(])cuttle ([a-z][^;|&#\n]*)", words):
            verb = command.split()[0]
            if verb not in self.options:
                if re.search(r"\s-", command) or command == verb:
                    yield "there is no cuttle " + verb
                continue
            for option in re.findall(r"(?:^|\s)(--[a-z][a-z0-9-]*)", command):
                if option not in self.options[verb]:
                    yield "cuttle %s has no %s" % (verb, option)

    def bare(self, span):
        """Yields what is wrong with a span that begins with an option."""
        option = re.match(r"--[a-z][a-z0-9-]*", span)
        if option and option.group(0) not in self.all:
            yield "no verb has " + option.group(0)


def check(cuttle, root, pages):
    there, found = Words(cuttle, root), 0
    for page in pages:
        with open(root + "/" + page, encoding="utf-8") as file:
            text = file.read()
        wrong = set()
        for mark, lines in fences(text):
            if mark in ("sh", "bash", "console"):
                wrong.update(there.faults("\n".join(lines).replace("\\\n", " ")))
        prose = "\n".join(lines[0] for mark, lines in fences(text) if mark == "")
        for span in re.findall(r"`([^`]+)`", prose):
            span = " ".join(span.replace("\\|", ",").split())
            wrong.update(there.faults(span))
            wrong.update(there.bare(span))
        # Elsewhere a block would be shown as one, and nobody would look at it.
        if re.search(r"^    \S", re.sub(r"(?ms)^```.*?^```", "", re.sub(r"(?m)^[-*0-9].*\n(?:  .*\n)*", "", text)), re.M):
            wrong.add("a block that is indented: mark it sh, python, console, text or bash")
        for fault in sorted(wrong):
            print("%s: %s" % (page, fault))
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1] == "script":
        script(sys.argv[2], sys.argv[3])
    else:
        sys.exit(check(sys.argv[2], sys.argv[3], sys.argv[4:]))
