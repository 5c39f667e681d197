# SPDX-License-Identifier: Apache-2.0
"""Texts of Python to lines of JSON, and lines back to the form that came in.

Private texts pass through. They are written into a file in memory that has no name, and no message
has any of them. pandas, polars and pyarrow are used where the caller's texts come from them.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import math
import os
import platform
from difflib import get_close_matches
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Sized,
    Tuple,
    Union,
)

Path = Union[str, "os.PathLike[str]"]
# A path, or texts: list of str or dict, Series, DataFrame, Array, Table. All have a length.
Texts = Union[str, "os.PathLike[str]", Sized]
# A path, or what a JSON file holds.
Document = Union[str, "os.PathLike[str]", Mapping[str, Any]]
# A number, a name, or several of them.
Value = Union[str, float, Iterable[Union[str, float]]]
# The name of a column. pandas has numbers for those of a file without a header.
Field = Union[str, int]
# A path, or a list that becomes a file of lines, or bytes that become the file as they are.
Lines = Union[str, "os.PathLike[str]", Iterable[str], bytes]

WHOLE = 1e15  # a float below this that is whole is the integer it stands for
AT_ONCE = 10_000  # rows that are taken from a table at once
MEMFD_NUMBERS = {"x86_64": 319, "aarch64": 279}  # of the call memfd_create
MEMORY = "/dev/shm"  # noqa: S108 # a folder in memory
Row = Dict[str, Any]


def beside_streams(file: int) -> int:
    """The same open file under a number from 3 on.

    A program without standard streams gets their numbers, and the command has its own there.
    """
    if file > 2:
        return file
    try:
        return int(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3))
    finally:
        os.close(file)


def memory_file() -> int:
    """Opens a file in memory, which has no name and ends with the processes that hold it."""
    if hasattr(os, "memfd_create"):
        return beside_streams(os.memfd_create("cuttle", os.MFD_CLOEXEC))
    number = MEMFD_NUMBERS.get(platform.machine())
    if number is not None:  # a Python that was built with an older C library lacks the function
        file = int(ctypes.CDLL(None, use_errno=True).syscall(number, b"cuttle", 1))
        if file >= 0:
            return beside_streams(file)
    return beside_streams(os.open(MEMORY, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600))


def is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def nearest(word: str, words: Iterable[str]) -> str:
    """The part of a message that says which of the words was meant; empty where none is near."""
    close = get_close_matches(word, list(words), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _library(value: object) -> str:
    """The name of the library that a value's class, or one that it is made from, comes from."""
    for kind in type(value).__mro__:
        room = kind.__module__.partition(".")[0]
        if room in ("pandas", "polars", "pyarrow"):
            return room
    return ""


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def unboxed(value: Any) -> Any:
    """A number of numpy as one of Python, and an array as a list."""
    if type(value).__module__.partition(".")[0] == "numpy" and not isinstance(value, str):
        return value.tolist()
    return value


def is_table(value: object) -> bool:
    return bool(_library(value)) and (hasattr(value, "columns") or hasattr(value, "column_names"))


def listed(value: Any) -> Optional[List[Any]]:
    """The values of a list, tuple, range, array, Series, Index and the like; None for one value.

    A set has no order and Python's differs from run to run, so that of the values is taken.
    """
    value = unboxed(value)
    if isinstance(value, (str, bytes, os.PathLike, Mapping)) or is_table(value):
        return None
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return sorted(value, key=str)
    if not isinstance(value, Iterable):
        return None
    return [unboxed(one) for one in _singles(value, _library(value))]


def _text(value: Any, place: str) -> Optional[str]:
    if isinstance(value, str):
        return value
    if _is_missing(value):
        return None
    raise TypeError(
        f"{place}: {type(value).__name__} is no text: give str, or None for a record that is null"
    )


def _label(value: Any, place: str) -> Optional[str]:
    value = unboxed(value)
    if isinstance(value, str):
        return value
    if _is_missing(value):
        return None
    # As the command reads them from JSON. pandas makes floats of integers beside a missing value.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (
        isinstance(value, float) and value.is_integer() and abs(value) < WHOLE
    ):
        return str(int(value))
    raise TypeError(
        f"{place}: {type(value).__name__} names no category or person: make it a str first"
    )


def words(values: Iterable[Any], name: str) -> List[str]:
    """Each value of a list as the text that it is in JSON."""
    found = []
    for one in values:
        if _is_missing(one):
            raise TypeError(f"{name}: give a list of str; a value is missing, None or NaN")
        if not isinstance(one, (str, int, float)):
            raise TypeError(f"{name}: give a list of str, not of {type(one).__name__}")
        found.append(_label(one, f"{name}: give a list of str") or "")
    return found


def _member(value: Any, place: str) -> Any:
    """A value of a JSON object."""
    value = unboxed(value)
    if isinstance(value, (str, bool, int)):
        return value
    if _is_missing(value):
        return None
    if isinstance(value, float) and not math.isinf(value):
        return value
    if isinstance(value, Mapping):
        return {str(name): _member(one, place) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_member(one, place) for one in value]
    raise TypeError(f"{place}: {type(value).__name__} has no form in JSON: make it a str first")


class Columns:
    """Which columns of a table go to the command, and as what."""

    def __init__(
        self,
        text: str = "text",
        labels: Sequence[str] = (),
        whole: bool = False,
        maybe: Sequence[str] = (),
    ) -> None:
        self.text = text
        self.labels = list(labels)
        self.whole = whole  # all columns, as they are: records of a schema
        self.maybe = list(maybe)  # sent where they are there
        self.all = {text, *labels, *maybe}

    def chosen(self, present: Sequence[str]) -> List[str]:
        """Those that are sent, of those there are. TypeError: one that is needed is missing."""
        if self.whole:
            return list(present)
        if not present:
            raise TypeError("the table has no column")
        for name in [self.text, *self.labels]:
            if name not in present:
                few = ", ".join(present[:8])
                raise TypeError(
                    f"there is no column {name}{nearest(name, present) or '.'} "
                    f"The columns are: {few}. text_field= names the one with the texts"
                )
        wanted = dict.fromkeys([self.text, *self.labels])
        wanted.update(dict.fromkeys(name for name in self.maybe if name in present))
        return list(wanted)

    def encoder(self, name: str) -> Callable[[Any, str], Any]:
        if self.whole:
            return _member
        if name == self.text:
            return _text
        return _label if name in self.labels else _member


class Form:
    """The form in which texts came in, and in which new ones go out."""

    def __init__(
        self,
        library: str = "",
        kind: str = "list",
        name: Any = None,
        names: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.library = library
        self.kind = kind
        self.name = name
        self.names = names or {}  # of columns, as they came in: {"0": 0}

    def of_texts(self, texts: List[Optional[str]], columns: Dict[str, List[Any]]) -> Any:
        """``texts`` alone, or beside other columns where a table came in."""
        if self.kind == "table":
            return self.of_columns(columns)
        if self.library == "pandas":
            import pandas

            return pandas.Series(texts, name=self.name, dtype=object)
        if self.library == "polars":
            import polars

            return polars.Series(self.name or "", texts, dtype=polars.String)
        if self.library == "pyarrow":
            import pyarrow

            return pyarrow.array(texts, type=pyarrow.string())
        return texts

    def of_columns(self, columns: Dict[str, List[Any]]) -> Any:
        if self.library == "pandas":
            import pandas

            return pandas.DataFrame(
                {self.names.get(name, name): cells for name, cells in columns.items()}
            )
        if self.library == "polars":
            import polars

            return polars.DataFrame(columns, strict=False)
        if self.library == "pyarrow":
            import pyarrow

            return pyarrow.table(columns)
        return [dict(zip(columns, row)) for row in zip(*columns.values())]


def read_parquet(path: str) -> Any:
    """A table of the first library that reads Parquet here."""
    try:
        from pyarrow import parquet

        return parquet.read_table(path)
    except ImportError:
        pass
    try:
        import polars

        return polars.read_parquet(path)
    except ImportError:
        pass
    try:
        import pandas

        return pandas.read_parquet(path)
    except ImportError:
        raise ModuleNotFoundError(
            f"{path} is Parquet, which takes pyarrow to read: pip install pyarrow"
        ) from None


def _pandas_rows(value: Any, names: Sequence[str]) -> Iterator[Tuple[Any, ...]]:
    yield from zip(*[value[name] for name in names])


def _polars_rows(value: Any, names: Sequence[str]) -> Iterator[Tuple[Any, ...]]:
    for some in value.select(names).iter_slices(AT_ONCE):
        yield from some.iter_rows()


def _arrow_rows(value: Any, names: Sequence[str]) -> Iterator[Tuple[Any, ...]]:
    for some in value.select(names).to_batches(AT_ONCE):
        yield from zip(*[column.to_pylist() for column in some.columns])


def _singles(value: Any, library: str) -> Iterator[Any]:
    """The values of one column, some at a time."""
    if library in ("polars", "pyarrow"):
        for start in range(0, len(value), AT_ONCE):
            part = value[start : start + AT_ONCE]
            yield from part.to_list() if library == "polars" else part.to_pylist()
    else:
        yield from value


def _by_text(names: Iterable[Any], what: str) -> Dict[str, Any]:
    """Names by what they are in JSON, so that text_field=0 and "0" are one column."""
    found: Dict[str, Any] = {}
    for name in names:
        if str(name) in found:
            raise TypeError(f"two {what} are called {name}: rename one")
        found[str(name)] = name
    return found


def _of_table(value: Any, library: str, columns: Columns) -> Tuple[Iterator[Row], Form]:
    if library == "pyarrow":
        if not hasattr(value, "to_batches"):  # a RecordBatch
            import pyarrow

            value = pyarrow.Table.from_batches([value])
        present = list(value.column_names)
    else:
        present = list(value.columns)
        levels = getattr(value.columns, "nlevels", 1)
        if levels > 1:
            raise TypeError(
                f"the table's columns have names of {levels} levels; make each one str: "
                'df.columns = ["_".join(map(str, name)) for name in df.columns]'
            )
    by_text = _by_text(present, "columns of the table")
    names = columns.chosen(list(by_text))
    rows = {"pandas": _pandas_rows, "polars": _polars_rows, "pyarrow": _arrow_rows}[library]
    encoders = [columns.encoder(name) for name in names]

    def encoded() -> Iterator[Row]:
        for number, row in enumerate(rows(value, [by_text[name] for name in names])):
            yield {
                name: encode(cell, f"column {name}, row {number}")
                for name, encode, cell in zip(names, encoders, row)
            }

    return encoded(), Form(library, "table", None, by_text)


def _of_values(values: Iterable[Any], columns: Columns, form: Form) -> Tuple[Iterator[Row], Form]:
    def encoded() -> Iterator[Row]:
        for number, value in enumerate(values):
            if isinstance(value, Mapping):
                if not all(isinstance(name, str) for name in value):
                    by_text = _by_text(value, f"members of record {number}")
                    value = {name: value[key] for name, key in by_text.items()}
                # A member that is missing makes the record null, as in a file.
                yield {
                    name: columns.encoder(name)(cell, f"{name} of record {number}")
                    for name, cell in value.items()
                    if columns.whole or name in columns.all
                }
            elif columns.whole and not _is_missing(value):
                raise TypeError(f"record {number}: {type(value).__name__} is no dict")
            else:
                yield {columns.text: _text(value, f"record {number}")}

    return encoded(), form


def records(value: Any, columns: Columns) -> Tuple[Iterator[Row], Form]:
    """The records of texts in any form but a path, and that form."""
    library = _library(value)
    if library and not hasattr(value, "__len__"):
        # A LazyFrame, a RecordBatchReader, a Dataset: nothing is read before somebody asks for it.
        for load in ("collect", "read_all", "to_table"):
            if hasattr(value, load):
                value = getattr(value, load)()
                break
    if is_table(value):
        return _of_table(value, library, columns)
    if isinstance(value, (set, frozenset)):
        raise TypeError(
            "a set has no order, and which records are used together follows from their order: "
            "give a list"
        )
    if library and hasattr(value, "__len__"):
        name = getattr(value, "name", None)
        return _of_values(_singles(value, library), columns, Form(library, "column", name))
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, (Sequence, Iterable)):
        raise TypeError(
            f"{type(value).__name__} holds no texts: give a path, a list of str or dict, "
            "or a Series, DataFrame, Array or Table of pandas, polars or pyarrow"
        )
    values = unboxed(value)
    if isinstance(values, str):  # an array that is one text and no list of it
        raise TypeError("an array without a dimension holds no list of texts: give a list")
    return _of_values(values, columns, Form())


def write_records(rows: Iterator[Row]) -> int:
    """Writes a line of JSON for each record into a file in memory, and returns its number."""
    file = memory_file()
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    try:
        with open(file, "wb", buffering=1 << 20, closefd=False) as lines:
            for row in rows:
                # Half of a surrogate pair has no UTF-8.
                lines.write(encode(row).encode("utf-8", "replace") + b"\n")
    except BaseException:
        os.close(file)
        raise
    return file


def write_bytes(content: bytes) -> int:
    file = memory_file()
    with open(file, "wb", closefd=False) as out:
        out.write(content)
    return file
