#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the mutants of this folder, of which each is a privacy bug of a line or two, and puts one into a tree.

A file ROOM.mutants has the mutants of one folder of sources, each in these lines, with an empty line after it:

    == NAME
    The guarantee that it breaks, in words.
    killer: TEST            the test that is tried first
    in FILE                 from here on as often as the mutant changes a place
    -old text               as often as it has lines; without the indentation of the first one
    +new text               likewise; none where the old text goes

The old text stands exactly once in its file. So a mutant needs no line numbers and no context, and survives when code moves.

usage: mutants.py names             all names, in order
       mutants.py killer NAME       the test that is tried first
       mutants.py files NAME        the files that it changes
       mutants.py apply NAME TREE   changes them below TREE, or fails and says why
       mutants.py check TREE        fails if an old text does not stand exactly once, or a name stands twice
"""

import pathlib
import sys
from typing import NamedTuple, NoReturn


class Change(NamedTuple):
    file: str
    old: str
    new: str


class Mutant(NamedTuple):
    words: str
    killer: str
    changes: list[Change]


def fail(words: str) -> NoReturn:
    print(f"mutants: {words}", file=sys.stderr)
    sys.exit(1)


def read_changes(name: str, lines: list[str]) -> list[Change]:
    changes: list[tuple[str, list[str], list[str]]] = []
    for line in lines:
        if line.startswith("in "):
            changes.append((line[3:], [], []))
        elif line[:1] == "-" and changes and not changes[-1][2]:
            changes[-1][1].append(line[1:])
        elif line[:1] == "+" and changes:
            changes[-1][2].append(line[1:])
        else:
            fail(f"{name}: cannot read the line {line!r}")
    return [Change(file, "\n".join(old), "\n".join(new)) for file, old, new in changes]


def read_all() -> dict[str, Mutant]:
    mutants: dict[str, Mutant] = {}
    for path in sorted(pathlib.Path(__file__).parent.glob("*.mutants")):
        for row in path.read_text(encoding="utf-8").removeprefix("== ").split("\n\n== "):
            name, words, killer, *rest = row.rstrip("\n").split("\n")
            if name in mutants:
                fail(f"{path.name}: {name} stands twice")
            if not killer.startswith("killer: ") or not rest:
                fail(f"{path.name}: {name} needs words, a killer and a change, in this order")
            mutants[name] = Mutant(words, killer.removeprefix("killer: "), read_changes(name, rest))
    return mutants


def apply(name: str, mutant: Mutant, tree: pathlib.Path, write: bool) -> str:
    """Changes the files, or returns why it cannot: then none is changed. Old texts are found in the files as they are, so that what one
    change puts in is not taken for the old text of another one."""
    places: dict[pathlib.Path, list[tuple[int, Change]]] = {}
    for change in mutant.changes:
        path = tree / change.file
        if not path.is_file():
            return f"{name}: there is no file {change.file}"
        text = path.read_text(encoding="utf-8")
        count = text.count(change.old)
        if not change.old or count != 1:
            return f"{name}: its old text stands {count} times in {change.file}: {change.old.splitlines()[:1]}"
        places.setdefault(path, []).append((text.index(change.old), change))
    if write:
        for path, changes in places.items():
            text = path.read_text(encoding="utf-8")
            for at, change in sorted(changes, reverse=True):
                text = text[:at] + change.new + text[at + len(change.old) :]
            path.write_text(text, encoding="utf-8")
    return ""


def main(arguments: list[str]) -> None:
    mutants = read_all()
    match arguments:
        case ["names"]:
            print("\n".join(sorted(mutants)))
        case ["killer" | "files" | "apply", name, *_] if name not in mutants:
            fail(f"there is no mutant {name}")
        case ["killer", name]:
            print(mutants[name].killer)
        case ["files", name]:
            print("\n".join(dict.fromkeys(change.file for change in mutants[name].changes)))
        case ["apply", name, tree]:
            if wrong := apply(name, mutants[name], pathlib.Path(tree), write=True):
                fail(wrong)
        case ["check", tree]:
            wrong = [w for n, m in mutants.items() if (w := apply(n, m, pathlib.Path(tree), write=False))]
            if wrong:
                fail("\nmutants: ".join(wrong))
        case _:
            fail("usage: mutants.py names | killer NAME | files NAME | apply NAME TREE | check TREE")


main(sys.argv[1:])
