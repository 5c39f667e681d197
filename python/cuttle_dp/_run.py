# SPDX-License-Identifier: Apache-2.0
"""A call of a verb: from options to a command line, and from what it wrote to a result.

Private texts pass through: what is no path goes into files in memory. Receipts are public.
"""

from __future__ import annotations

import csv
import functools
import html
import io
import json
import math
import os
import shutil
import tempfile
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
)

from . import _command, _errors, _forms
from ._forms import Columns, Form

# What the lines of an output say of a text, beside its columns.
SAID_OF_TEXTS = (
    "index",
    "tokens",
    "finish",
    "batch",
    "free_tokens",
    "parents",
    "votes",
    "words",
    "method",
    "ended",
    "groups",
    "id",
    "spans",
)


# Which parameter names the column of texts where another file has another one than text_field.
OTHER_FIELDS = {
    "public_examples": "examples_field",
    "against": "against_field",
    "test": "against_field",
    "texts": "output_field",
}


LIST_MOST = 10_000  # characters of a list of categories that stands in the command line


class Option(NamedTuple):
    """An option of a verb, as make_verbs.py finds it in the command's own table."""

    name: str  # long name: max-tokens
    kind: str  # flag, text, list, real, count or choice
    role: str  # what stands for its argument: value, path, texts, document, lines, field


class Verb(NamedTuple):
    name: str  # "generate", "budget clip"
    words: Tuple[str, ...]  # ("budget", "clip")
    operands: Tuple[str, ...]  # names of parameters that stand behind the words; *files for several
    options: Dict[str, Option]  # by the parameter's name
    returns: str  # texts, bias (a file with a receipt) or answer
    streams: bool  # its texts come out by standard output where no output is given
    progress: bool  # it tells how far it is
    receipt: str  # the parameter that says where its receipt goes, "" = it has none
    json: str  # when --json is asked for: always, dry_run or never
    kept: Optional[str]  # the parameter that keeps the output through a stop, as generate's output


def rounded_up(value: float) -> str:
    """In four digits, and never less than the value: what is promised may not look smaller."""
    if not value > 0 or math.isinf(value):
        return str(value)
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / unit) * unit:.4g}"


class Receipt(Dict[str, Any]):
    """What a run promises, as a dict. ``content`` has the bytes that a signature is for."""

    content: bytes = b""

    @classmethod
    def read(cls, path: str) -> "Receipt":
        with open(path, "rb") as file:
            content = file.read()
        receipt = cls(json.loads(content))
        receipt.content = content
        return receipt

    def _repr_html_(self) -> str:
        def cell(value: object) -> str:
            return html.escape(str(value))

        def number(name: str) -> str:
            value = self.get(name)
            return rounded_up(value) if isinstance(value, float) else cell(value)

        rows = [
            ("promise", cell(self.get("guarantee", "none is stated"))),
            ("epsilon", number("epsilon")),
            ("delta", number("delta")),
            ("unit", cell(self.get("unit", ""))),
            ("counted in a ledger", cell("yes" if self.get("ledger") else "no")),
            ("not promised", NOT_PROMISED),
        ]
        stamp = "" if self.get("private", True) else "<p><b>NOT PRIVATE</b></p>"
        return (
            stamp
            + "<table>"
            + "".join(
                f"<tr><th style='text-align:left;vertical-align:top'>{name}</th>"
                f"<td style='text-align:left'>{said}</td></tr>"
                for name, said in rows
            )
            + "</table>"
        )


NOT_PROMISED = (
    "what many records share; what the model knew before; a whole person who has several records, "
    "unless unit_key says whose they are; that nobody times or looks into the machine; that the "
    "texts are true"
)


END_UNKNOWN = (
    "how the command ended is not known, so do not count on what it was to do. It did not say so, "
    "as where it is killed or is another program of that name, and its exit code got lost or is 0, "
    "as where this program ignores SIGCHLD or waits for all of its children. The command is"
)


class Run:
    """What a verb that writes texts has written.

    ``texts``: the new texts in the form that came in: list, Series, Array, DataFrame or Table.
    ``lines``: a dict for each text, as the command wrote it. ``receipt``: see Receipt, or None.
    ``output``: the file, or None. ``messages``: the command's sentences. ``plan``: what a dry run
    says, or None.
    """

    def __init__(
        self,
        content: bytes,
        form: Form,
        messages: List[str],
        output: Optional[str],
        receipt: Optional[Receipt],
        table: bool,
        text: str,
        plan: Any = None,
    ) -> None:
        self.plan = plan  # of dry_run: what the receipt would say, or text where there is no JSON
        self.content = content  # the bytes of the output, which the receipt has the hash of
        self.messages = messages
        self.output = output
        self.receipt = receipt
        self._form = form
        self._table = table  # each line is a record of a schema
        self._text = text  # the name of a column of texts

    @functools.cached_property
    def lines(self) -> List[Dict[str, Any]]:
        if self._is_csv():
            return list(csv.DictReader(io.StringIO(self.content.decode("utf-8"), newline="")))
        return [json.loads(line) for line in self.content.splitlines() if line.strip()]

    def _is_csv(self) -> bool:
        return not self.content.startswith(b"{") and bool(self.content)

    @functools.cached_property
    def texts(self) -> Any:
        lines = self.lines
        names = dict.fromkeys(name for line in lines for name in line)
        if self._table:
            columns = {name: [line.get(name) for line in lines] for name in names}
            if self._form.kind == "table":
                return self._form.of_columns(columns)
            return lines
        texts = [line.get("text") for line in lines]
        columns = {self._text: texts}
        for name in names:
            if name != "text" and name not in SAID_OF_TEXTS:
                columns[name] = [line.get(name) for line in lines]
        return self._form.of_texts(texts, columns)

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[Any]:
        return iter([line.get("text", line) for line in self.lines])

    def __repr__(self) -> str:
        where = f" in {self.output}" if self.output else ""
        epsilon = None if self.receipt is None else self.receipt.get("epsilon")
        promise = f", epsilon {rounded_up(epsilon)}" if isinstance(epsilon, float) else ""
        if self.output and not self.content:
            return f"<cuttle run{where}{promise}>"
        return f"<cuttle run: {len(self)} texts{where}{promise}>"


class Answer:
    """What a verb that answers has printed: ``text``. ``data``: the same, where it is JSON.

    ``answer["rho"]`` is a member of data; ``float(answer)`` the number that was asked for.
    """

    def __init__(self, text: str, messages: List[str], output: Optional[str], asked: str) -> None:
        self.text = text
        self.messages = messages
        self.output = output
        self._asked = asked

    @functools.cached_property
    def data(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    def __getitem__(self, name: Any) -> Any:
        if self.data is None:
            raise KeyError(f"{name}: the answer is text, not JSON")
        return self.data[name]

    def __float__(self) -> float:
        if isinstance(self.data, dict):
            return float(self.data[self._asked])
        return float(self.text.split(None, 1)[0])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.rstrip("\n") or f"<cuttle: {self.output or 'done'}>"

    def _repr_html_(self) -> Optional[str]:
        # Jupyter shows a page in a frame of its own, so that its style stays inside.
        if not self.text.lstrip().lower().startswith("<!doctype html"):
            return None
        return f'<iframe srcdoc="{html.escape(self.text)}" width="100%" height="600"></iframe>'

    def _repr_markdown_(self) -> Optional[str]:
        return self.text if self.text.startswith(("#", "|")) else None


Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function) -> Function:
    """Refuses an option that there is not, and says which was meant."""
    code = function.__code__
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

    @functools.wraps(function)
    def call_checked(*arguments: Any, **options: Any) -> Any:
        if not options.keys() <= known:
            name = next(name for name in options if name not in known)
            meant = _forms.nearest(name, known)
            raise _errors.UnknownOption(f"{function.__name__}() has no option {name}{meant}")
        return function(*arguments, **options)

    return cast(Function, call_checked)


class Call:
    """One call, while it is put together. Closes its files in memory at the end."""

    def __init__(self, verb: Verb, given: Mapping[str, Any]) -> None:
        self.verb = verb
        self.given = {name: value for name, value in given.items() if value is not None}
        self.arguments: List[str] = []
        self.files: List[int] = []  # passed to the command under their own numbers
        self.stdin: Optional[int] = None
        self.folder: Optional[str] = None  # with names alone, and the receipt
        self.form = Form()

    def close(self) -> None:
        for file in [*self.files, *([] if self.stdin is None else [self.stdin])]:
            os.close(file)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def in_folder(self, name: str) -> str:
        if self.folder is None:
            room = _forms.MEMORY if os.access(_forms.MEMORY, os.W_OK) else None
            self.folder = tempfile.mkdtemp(prefix="cuttle-", dir=room)
        return os.path.join(self.folder, name)

    def pass_file(self, file: int) -> str:
        self.files.append(file)
        return f"/proc/self/fd/{file}"

    def text_field(self, name: str) -> str:
        for parameter in (OTHER_FIELDS.get(name, ""), "text_field"):
            for named in self.fields(parameter):
                return named
        return "text"

    def fields(self, parameter: str) -> List[str]:
        """The names of columns that this parameter gives."""
        if parameter not in self.given:
            return []
        value = self.given[parameter]
        values = _forms.listed(value)
        return [str(_forms.unboxed(one)) for one in ([value] if values is None else values)]

    def columns(self, name: str) -> Columns:
        whole = "schema" in self.given or name in ("replies", "members")
        if self.verb.name == "detokenize":
            whole = True
        labels: List[str] = []
        maybe = ["id", "spans", "annotations"]
        for parameter, option in self.verb.options.items():
            named = option.role == "field" and parameter in self.given
            if named and parameter not in ("text_field", *OTHER_FIELDS.values()):
                labels += self.fields(parameter)
        text = self.text_field(name)
        # Lists of spans are no labels, and go as they are.
        plain = [*self.fields("spans_field"), text]
        if self.verb.name == "tag":
            plain += self.fields("against")
        maybe += [label for label in labels if label in plain]
        labels = [label for label in labels if label not in plain]
        if name != "input":
            return Columns(text, (), whole, [*maybe, *labels])
        return Columns(text, labels, whole, maybe)

    def content(self, name: str, role: str, value: Any) -> str:
        """The path that the command reads instead of a value that is no path."""
        content: Optional[bytes] = None
        if isinstance(value, Run):
            if value.output and not value.content:
                value = value.output
            else:
                content = value.content
        elif isinstance(value, Receipt):
            content = value.content or json.dumps(value).encode()
        elif isinstance(value, bytes) and role == "lines":
            content = value
        if isinstance(value, (str, os.PathLike)) and not (role == "texts" and _is_parquet(value)):
            return str(os.fspath(value))
        if content is not None:
            file = _forms.write_bytes(content)
        elif role == "document" and isinstance(value, Mapping):
            file = _forms.write_bytes(json.dumps(value).encode())
        elif role == "lines":
            values = _forms.listed(value)
            if values is None:
                raise TypeError(f"{name}: give a path or a list of str, not {type(value).__name__}")
            lines = "".join(line + "\n" for line in _forms.words(values, name))
            file = _forms.write_bytes(lines.encode())
        elif role == "texts":
            table = _forms.read_parquet(os.fspath(value)) if _forms.is_path(value) else value
            try:
                rows, form = _forms.records(table, self.columns(name))
                file = _forms.write_records(rows)
            except TypeError as error:
                if name == "input":
                    raise
                raise TypeError(f"{name}: {error}") from None
            if name == "input" and not _forms.is_path(value):
                self.form = form
        else:
            raise TypeError(f"{name}: {type(value).__name__} is no path")
        if name == "input" and self.stdin is None:
            # One name for every call, since a journal knows its command by the name, too.
            self.stdin = file
            return "/proc/self/fd/0"
        return self.pass_file(file)

    def value(self, name: str, option: Option, value: Any) -> str:
        value = _forms.unboxed(value)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
            values = _forms.listed(value)
            if values is not None:
                return ",".join(self.value(name, option, one) for one in values)
            raise TypeError(f"{name}: {type(value).__name__} is no {option.kind}")
        return (
            repr(value)
            if isinstance(value, float)
            else str(os.fspath(value) if isinstance(value, os.PathLike) else value)
        )

    def categories(self, value: Any) -> str:
        """A list of names as the command has it, or a file with an ending that it wants."""
        if isinstance(value, (str, os.PathLike)):
            return str(os.fspath(value))
        values = _forms.listed(value)
        if values == [] or (values is None and not _forms.is_table(value)):
            said = "an empty list" if values == [] else type(value).__name__
            raise TypeError(f"categories: give a list of str, not {said}")
        if values is not None and not any(isinstance(one, Mapping) for one in values):
            names = _forms.words(values, "categories")
            said = ",".join(names)
            plain = said.isprintable() and len(said) < LIST_MOST and "," not in "".join(names)
            if plain and not said.endswith((".csv", ".json", ".jsonl")):
                return said
            field = (self.fields("category_field") or ["category"])[0]
            values = [{field: one} for one in names]
        try:
            rows, _ = _forms.records(value if values is None else values, Columns(whole=True))
            file = _forms.write_records(rows)
        except TypeError as error:
            raise TypeError(f"categories: give a list of str: {error}") from None
        name = self.in_folder("categories.jsonl")
        os.symlink(self.pass_file(file), name)
        return name

    def add_option(self, name: str, option: Option, value: Any) -> None:
        flag = f"--{option.name}"
        if option.kind == "flag":
            value = _forms.unboxed(value)
            if not isinstance(value, bool):
                raise TypeError(f"{name}: give True or False")
            if value:
                self.arguments.append(flag)
            return
        values: Optional[List[Any]] = None
        if option.kind == "list" and option.role != "texts":
            values = _forms.listed(value)
        elif option.kind == "list" and isinstance(value, (list, tuple)):
            values = None if _is_one(value) else list(value)
        for one in [value] if values is None else values:
            if option.name == "categories":
                said = self.categories(one)
            elif option.role in ("texts", "document", "lines"):
                said = self.content(name, option.role, one)
            elif option.role == "path":
                if not _forms.is_path(one):
                    raise TypeError(f"{name}: {type(one).__name__} is no path")
                said = os.fspath(one)
            else:
                said = self.value(name, option, one)
            # With "=" a value may begin with a dash.
            self.arguments.append(f"{flag}={said}")

    def add_operands(self) -> List[str]:
        behind: List[str] = []
        for name in self.verb.operands:
            if name.startswith("*"):
                for value in self.given.pop(name[1:], ()):
                    behind.append(self.content(name[1:], "document", _receipt_of(value)))
            elif name in self.given:
                value = self.given.pop(name)
                if self.verb.name == "receipt verify" and isinstance(value, Run) and value.content:
                    self.given.setdefault("output", value)
                behind.append(self.content(name, "document", _receipt_of(value)))
        return behind

    def finish(
        self, done: _command.Done, output: Optional[str], receipt: Optional[str]
    ) -> Union[Run, Answer]:
        verb = self.verb
        messages, error = _command.split_messages(done.messages, verb.words[0])
        printed = done.output.decode("utf-8", "replace")
        kept = _errors.Partial if output is not None else _errors.InternalError
        if done.code is None:
            unknown = f"{END_UNKNOWN} {_command.command_path()}"
            raise kept(f"cuttle {verb.name}: {unknown}", None, printed)
        if done.code < 0:
            raise kept(f"cuttle {verb.name}: ended by signal {-done.code}", None, printed)
        if done.code > 0:
            raise _errors.BY_CODE.get(done.code, _errors.InternalError)(error, done.code, printed)
        if verb.returns == "answer":
            return Answer(printed, messages, output, verb.words[-1])
        if self.given.get("dry_run"):
            plan = json.loads(printed) if verb.json == "dry_run" else printed
            return Run(b"", self.form, messages, None, None, False, "text", plan)
        content = done.output if output is None else b""
        if output is not None and verb.returns == "texts" and os.path.isfile(output):
            with open(output, "rb") as file:
                content = file.read()
        read = Receipt.read(receipt) if receipt and os.path.exists(receipt) else None
        return Run(
            content,
            self.form,
            messages,
            output,
            read,
            "schema" in self.given,
            self.text_field("input"),
        )


def _is_parquet(value: Any) -> bool:
    return str(os.fspath(value)).endswith((".parquet", ".pq"))


def _is_one(value: Sequence[Any]) -> bool:
    """Whether a list is one set of texts and not several of them."""
    return all(one is None or isinstance(one, (str, Mapping)) for one in value)


def _receipt_of(value: Any) -> Any:
    if not isinstance(value, Run):
        return value
    if value.receipt is None:
        raise TypeError("this run has no receipt")
    return value.receipt


def _beside(path: str) -> str:
    """Where the command puts a receipt: out.jsonl -> out.receipt.json."""
    for ending in (".jsonl", ".csv", ".json"):
        if path.endswith(ending):
            return path[: -len(ending)] + ".receipt.json"
    return path + ".receipt.json"


def call_run(verb: Verb, given: Dict[str, Any]) -> Run:
    result = call(verb, given)
    assert isinstance(result, Run)
    return result


def call_answer(verb: Verb, given: Dict[str, Any]) -> Answer:
    result = call(verb, given)
    assert isinstance(result, Answer)
    return result


def call(verb: Verb, given: Dict[str, Any]) -> Union[Run, Answer]:
    """Runs a verb with these options; None and False stand for what was not given."""
    again = dict(given)
    this = Call(verb, given)
    progress = _command.Progress(this.given.pop("progress", None))
    try:
        if verb.name == "expand" and isinstance(this.given.get("input"), Run):
            this.given.setdefault("receipt", _receipt_of(this.given["input"]))
        if isinstance(given.get("output"), str) and given["output"] == "-":
            del this.given["output"]
        behind = this.add_operands()
        options = {name: this.given[name] for name in verb.options if name in this.given}
        for name, value in options.items():
            this.add_option(name, verb.options[name], value)
        output = os.fspath(this.given["output"]) if verb.kept in this.given else None
        receipt: Optional[str] = None
        if verb.receipt and not this.given.get("dry_run"):
            if verb.receipt in this.given:
                receipt = os.fspath(this.given[verb.receipt])
            elif output is not None:
                receipt = _beside(output)
            elif verb.streams:
                receipt = this.in_folder("receipt.json")
                this.arguments.append(f"--{verb.options[verb.receipt].name}={receipt}")
        if verb.streams and output is None and not this.given.get("dry_run"):
            this.arguments.append("--output=-")
        if verb.json == "always" or (verb.json == "dry_run" and this.given.get("dry_run")):
            this.arguments.append("--json")
        if verb.progress:
            this.arguments.append("--progress=" + ("json" if progress.shown else "off"))
        if behind:  # one that begins with a dash is no option
            behind.insert(0, "--")
        line = [*verb.words, *this.arguments, *behind]
        done = _command.run(line, this.stdin, this.files, progress)
        try:
            result = this.finish(done, output, receipt)
        except _errors.Partial as error:
            if output is not None:
                error._again = lambda: call(verb, again)
            if done.interrupted and output is None:
                raise KeyboardInterrupt from error
            raise
        except _errors.CuttleError as error:
            if done.interrupted:
                raise KeyboardInterrupt from error
            raise
        if done.interrupted:
            raise KeyboardInterrupt
        return result
    finally:
        this.close()
