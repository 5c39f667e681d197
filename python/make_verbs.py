#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the module's functions from what `cuttle help --json` prints, so that they cannot drift.

usage: make_verbs.py CATALOG.json FOLDER    writes FOLDER/_verbs.py and a file for each name space
Fails where a table here names a verb or option that the command does not have.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, Dict, List, Tuple

# What stands behind a verb's words, as parameters. The rest of the tables names what help does not
# say in a form that can be read by a program.
OPERANDS = {
    "model info": ["model"],
    "model verify": ["model"],
    "clusters show": ["clusters"],
    "words": ["words"],
    "receipt verify": ["receipt"],
    "report": ["*files"],
    "merge": ["run"],
    "serve key": ["id", "role"],
    "serve trail": ["action", "place"],
}
# Verbs that write texts, and whether they write to standard output, too.
TEXTS = {
    "generate": True,
    "expand": True,
    "evolve": True,
    "sanitize": True,
    "perturb": True,
    "tag": True,
    "score": True,
    "tokenize": True,
    "detokenize": True,
    "infer": False,
    "extract": False,
    "merge": False,
}
BIASES = {"learn"}  # a file and its receipt
RECEIPTS = {"expand": "own-receipt"}  # where it is not called receipt
NO_RECEIPT = {"audit", "shard"}  # whose --receipt is read, or is that of another verb
JSON = {"ledger list", "ledger show", "model info", "inspect"}  # asked for --json always
JSON_VERBS = {"budget"}
JSON_NOT = {"budget plan"}  # which has --format json
LEFT_OUT = {"quiet", "json"}  # the module's own; json stays where it is not always asked for
RECORDS = {
    "input",
    "public-examples",
    "against",
    "baseline",
    "test",
    "texts",
    "held-out",
    "members",
    "replies",
    "categories",
}
DOCUMENTS = {"schema", "receipt", "parent"}
LISTS = {
    "names",
    "word-list",
    "sensitive",
    "stop-words",
    "lexicon",
    "grammar",
    "prompt-public",
    "prompt-private",
    "prompt-variation",
    "prompt",
    "instruction",
}
PATHS = {"FILE", "RUN", "REAL", "OUT", "WORDS", "FOLDER", "PATH", "NPY"}
NOT_RECORDS = {("model", "input"), ("receipt", "output"), ("bench", "prompt")}
READ_OUTPUTS = {("receipt", "output"), ("receipt", "dropped")}
WRITTEN = {"generate", "learn", "evolve", "sanitize", "perturb", "infer", "merge", "shard"}

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Made by python/make_verbs.py from `cuttle help --json` of version {version}. Do not edit.
"""{about}"""

from __future__ import annotations

from typing import Any, Literal, Optional, Sequence, Union

from ._forms import Document, Field, Lines, Path, Texts, Value
from ._run import Answer, Option, Receipt, Run, Verb, call_answer, call_run, checked

'''


def parameter(name: str) -> str:
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def applies(option: Dict[str, Any], verb: Dict[str, Any], action: str) -> bool:
    """Whether an option belongs to an action: help says it, as in "plan, split: texts to write"."""
    named: List[str] = []
    for prefix in re.findall(r"(?:^|[.;] )([a-z, -]+?)(?: with [^:.]*)?:", option["help"]):
        words = re.split(r", | and ", prefix)
        if all(word in verb["actions"] for word in words):
            named += words
        else:
            return True
    return (
        not named
        or action in named
        or not re.match(r"[a-z, -]+?(?: with [^:.]*)?:", option["help"])
    )


def role(verb: str, option: Dict[str, Any]) -> str:
    name, argument = option["name"], option["argument"] or ""
    if option["kind"] not in ("text", "list"):
        return "value"
    if (verb, name) in READ_OUTPUTS:
        return "texts"
    if name == "receipt" and verb in WRITTEN:
        return "path"
    if name in DOCUMENTS:
        return "document"
    if (name in RECORDS and argument in PATHS | {"LIST|FILE"}) and (verb, name) not in NOT_RECORDS:
        return "texts"
    if name in LISTS and argument in PATHS:
        return "lines"
    if argument in PATHS and (verb, name, argument) != ("ledger", "run", "RUN"):
        return "path"
    if argument == "FIELD" or name.endswith("-field"):
        return "field"
    return "value"


def python_type(option: Dict[str, Any], kind: str) -> str:
    if option["kind"] == "flag":
        return "bool"
    if option["kind"] == "choice":
        names = ", ".join(f'"{choice}"' for choice in option["choices"])
        return f"Literal[{names}]"
    if option["kind"] == "count":
        return "int"
    if option["kind"] == "real":
        return (
            'Union[float, Literal["auto"]]' if option["argument"].startswith("auto|") else "float"
        )
    one = {
        "texts": "Union[Texts, Run]",
        "document": "Union[Document, Receipt]",
        "lines": "Lines",
        "path": "Path",
        "field": "Field",
    }.get(kind, "Value")
    if option["name"] == "categories":
        one = "Texts"
    return f"Union[{one}, Sequence[{one}]]" if option["kind"] == "list" else one


class Words:
    """Says in Python's words what help says of the command's options."""

    def __init__(self, options: List[Dict[str, Any]]) -> None:
        self.names = {option["name"] for option in options}
        self.letters = {option["letter"]: option["name"] for option in options if option["letter"]}

    def say(self, text: str) -> str:
        def long(match: "re.Match[str]") -> str:
            return parameter(match[1]) if match[1] in self.names else match[0]

        def short(match: "re.Match[str]") -> str:
            name = self.letters.get(match[1])
            return parameter(name) if name else match[0]

        text = re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", long, text)
        text = re.sub(r"(?<![\w-])-([a-zA-Z])(?![\w-])", short, text)
        return text.replace("\\", "\\\\").replace('"""', "'''")


def bounds(option: Dict[str, Any]) -> str:
    said = []
    if option["range"]:
        said.append(option["range"])
    if option["least"]:
        said.append(f"at least {option['least']}")
    if option["most"] and option["kind"] == "count" and option["most"] < 2**32 - 1:
        said.append(f"at most {option['most']}")
    if option["most"] and option["kind"] == "list":
        said.append(f"up to {option['most']} of them in a list")
    return f" ({', '.join(said)})" if said else ""


def docstring(
    verb: Dict[str, Any],
    words: Tuple[str, ...],
    shown: List[Tuple[str, Dict[str, Any]]],
    returns: str,
    operands: List[str],
) -> str:
    say = Words(verb["options"]).say
    name = " ".join(words)
    summary = f"{verb['summary'][0].upper()}{verb['summary'][1:]}."
    lines = [summary if len(words) == 1 else f"``cuttle {name}``: {verb['summary']}.", ""]
    examples = [verb["example"], verb["another"]]
    matching = [one for one in examples if one and (len(words) == 1 or one.startswith(words[1]))]
    if matching:
        lines += [f"As a command: ``cuttle {verb['name']} {matching[0]}``", ""]
    lines += [f"`cuttle help {verb['name']} --all` says more.", "", "Options:"]
    for one, option in shown:
        form = FORMS.get(role(verb["name"], option), "") if one != "progress" else ""
        head = f"    {one}: {form}{say(option['help'])}{bounds(option)}."
        lines += textwrap.wrap(
            head, 96, subsequent_indent="        ", break_long_words=False, break_on_hyphens=False
        )
    lines += [
        "",
        f"Returns {returns}.",
        "Raises CuttleError, by the exit code: BudgetRefused, InputInvalid,",
    ]
    lines += [
        "ModelInvalid, Partial, EvidenceInvalid, OutOfMemory, RemoteRefused; TypeError",
        "for texts that are none.",
    ]
    lines += ["", "Example::", "", f"    {example(words, operands, verb)}"]
    return "\n".join(("    " + line).rstrip() for line in lines)


# What may stand for a file.
FORMS = {
    "texts": "texts, or a path: ",
    "document": "a dict, or a path: ",
    "lines": "lines, bytes, or a path: ",
}

# Examples where the first options of a verb do not make one.
EXAMPLES = {
    "generate": 'run = cuttle_dp.generate(df["note"], model="model.gguf", epsilon=3, num=100)',
    "budget clip": "float(cuttle_dp.budget.clip(epsilon=3, batch_size=7, max_tokens=200, temperature=1))",
    "receipt verify": "print(cuttle_dp.receipt.verify(run))",
    "report": 'cuttle_dp.report(run.receipt, output="report.html")',
    "expand": 'more = cuttle_dp.expand(run, model="model.gguf", num=500)',
    "evaluate": 'cuttle_dp.evaluate(run, against=df["note"], model="model.gguf", private=True)',
    "learn": 'cuttle_dp.learn(df["note"], model="model.gguf", epsilon=3, output="notes.bias")',
    "ledger init": 'cuttle_dp.ledger.init(ledger="spent.db", dataset="notes", epsilon_limit=10)',
    "tag": 'tagged = cuttle_dp.tag(df["letter"], names=["Ada Brook"])',
    "sanitize": 'new = cuttle_dp.sanitize(tagged.lines, model="model.gguf", epsilon=8)',
    "inspect": 'print(cuttle_dp.inspect(df["note"]))',
    "serve trail": 'print(cuttle_dp.serve_trail("verify", "jobs"))',
}


def example(words: Tuple[str, ...], operands: List[str], verb: Dict[str, Any]) -> str:
    name = " ".join(words)
    if name in EXAMPLES:
        return EXAMPLES[name]
    called = ".".join(words) if verb["name"] in spaces([verb]) else "_".join(words)
    first = [f'"{one.lstrip("*").upper()}"' for one in operands]
    names = [option["name"] for option in verb["options"]]
    if not operands and "input" in names:
        first = ['["one text", "another"]']
    if (
        "model" in names
        and "model" not in operands
        and verb["name"] not in ("budget", "clusters", "receipt")
    ):
        first.append('model="model.gguf"')
    if verb["name"] == "ledger":
        first += ['ledger="spent.db"', 'dataset="notes"']
    return f"cuttle_dp.{called}({', '.join(first)})"


def spaces(verbs: List[Dict[str, Any]]) -> List[str]:
    """Verbs that are name spaces: all they do stands behind a word of their own."""
    return [verb["name"] for verb in verbs if verb["actions"] and not verb["usage"].startswith("-")]


def function(verb: Dict[str, Any], words: Tuple[str, ...], called: str) -> str:
    name = " ".join(words)
    operands = OPERANDS.get(name, [])
    always = name in JSON or (verb["name"] in JSON_VERBS and name not in JSON_NOT)
    names = [option["name"] for option in verb["options"]]
    planned = {"json", "dry-run"} <= set(names)
    asked = "always" if always else "dry_run" if planned else "never"
    options = []
    for option in verb["options"]:
        left = option["name"] in LEFT_OUT and (option["name"] == "quiet" or always)
        if left or option["name"] == "progress" or (option["name"] == "json" and planned):
            continue
        if parameter(option["name"]) in [one.lstrip("*") for one in operands]:
            continue
        if len(words) == 1 or applies(option, verb, words[1]):
            options.append((parameter(option["name"]), option))
    returns = "texts" if verb["name"] in TEXTS else "bias" if verb["name"] in BIASES else "answer"
    streams = TEXTS.get(verb["name"], False)
    receipt = ""
    if returns != "answer" and verb["name"] not in NO_RECEIPT:
        wanted = RECEIPTS.get(verb["name"], "receipt")
        receipt = parameter(wanted) if wanted in names else ""
    kept = any(
        option["name"] == "output" and role(verb["name"], option) == "path" for _, option in options
    )
    table = ",\n        ".join(
        f'"{one}": Option("{option["name"]}", "{option["kind"]}", "{role(verb["name"], option)}")'
        for one, option in options
    )
    parameters: List[str] = []
    for operand in operands:
        if operand.startswith("*"):
            parameters.append(f"{operand}: Union[Document, Receipt, Run]")
        elif name == "words":
            parameters.append(f"{operand}: Optional[Path] = None")
        else:
            kind = "Union[Document, Receipt, Run]" if operand == "receipt" else "Path"
            parameters.append(f"{operand}: {kind}")
    first = [pair for pair in options if pair[0] == "input"]
    rest = [pair for pair in options if pair[0] != "input"]
    for one, option in first:
        kind = python_type(option, role(verb["name"], option))
        parameters.append(f"{one}: Optional[{kind}] = None")
    if not any(one.startswith("*") for one in parameters):
        parameters.append("*")
    for one, option in rest:
        kind = python_type(option, role(verb["name"], option))
        parameters.append(
            f"{one}: {kind} = False" if kind == "bool" else f"{one}: Optional[{kind}] = None"
        )
    progress = "progress" in names
    shown = first + rest
    if progress:
        parameters.append("progress: Optional[bool] = None")
        shown = shown + [
            (
                "progress",
                {
                    "help": "show how far it is. None: where somebody watches and tqdm "
                    "is installed",
                    "range": None,
                    "least": None,
                    "most": None,
                    "kind": "flag",
                },
            )
        ]
    result = "Answer" if returns == "answer" else "Run"
    spec = f"_{called.upper()}"
    signature = ",\n    ".join(parameters)
    said = "an Answer" if result == "Answer" else "a Run"
    said += ", whose plan is set by dry_run" if "dry-run" in names else ""
    return f'''

{spec} = Verb(
    "{name}",
    {words!r},
    {tuple(operands)!r},
    {{
        {table},
    }},
    returns="{returns}",
    streams={streams},
    progress={progress},
    receipt="{receipt}",
    json="{asked}",
    kept={'"output"' if kept else None},
)


@checked
def {called}(
    {signature},
) -> {result}:
    """{docstring(verb, words, shown, said, operands).strip()}
    """
    return call_{result.lower()}({spec}, locals())
'''


def check_tables(catalog: Dict[str, Any]) -> None:
    """The command has what the tables here name."""
    verbs = {verb["name"]: verb for verb in catalog["verbs"]}
    known = set(verbs) | {
        f"{name} {action}" for name, verb in verbs.items() for action in verb["actions"]
    }
    options = {option["name"] for verb in verbs.values() for option in verb["options"]}
    for table in (
        OPERANDS,
        TEXTS,
        BIASES,
        RECEIPTS,
        NO_RECEIPT,
        JSON,
        JSON_VERBS,
        JSON_NOT,
        WRITTEN,
        EXAMPLES,
    ):
        for name in table:
            assert name in known, f"make_verbs.py names the verb {name}, which there is not"
    for names in (RECORDS, DOCUMENTS, LISTS):
        for name in names:
            assert name in options, f"make_verbs.py names the option {name}, which there is not"


def main() -> None:
    catalog = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(sys.argv[2])
    check_tables(catalog)
    own = spaces(catalog["verbs"])
    plain = HEAD.format(
        version=catalog["version"], about="The verbs of the command, a function each."
    )
    names = []
    for verb in catalog["verbs"]:
        if verb["name"] in own:
            text = HEAD.format(
                version=catalog["version"], about=f"cuttle {verb['name']}: {verb['summary']}."
            )
            for action in verb["actions"]:
                text += function(verb, (verb["name"], action), parameter(action))
            actions = ", ".join(f'"{parameter(action)}"' for action in verb["actions"])
            text += f"\n\n__all__ = [{actions}]\n"
            (folder / f"{verb['name']}.py").write_text(text, encoding="utf-8")
            continue
        plain += function(verb, (verb["name"],), verb["name"])
        names.append(verb["name"])
        for action in verb["actions"]:
            plain += function(verb, (verb["name"], action), f"{verb['name']}_{action}")
            names.append(f"{verb['name']}_{action}")
    listed = ", ".join(f'"{name}"' for name in names)
    plain += f'\n\nVERSION = "{catalog["version"]}"\nSPACES = {own!r}\n__all__ = [{listed}]\n'
    (folder / "_verbs.py").write_text(plain, encoding="utf-8")


if __name__ == "__main__":
    main()
