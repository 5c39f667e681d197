# SPDX-License-Identifier: Apache-2.0
"""Texts in every form, and that none of them touches a disk on the way."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, Dict, List, cast

import pytest

import cuttle_dp as cuttle
from cuttle_dp import _forms

Small = Dict[str, Any]
Rows = List[Dict[str, Any]]
FORM = {
    "type": "object",
    "properties": {
        "ward": {"enum": ["heart", "mind"]},
        "days": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["ward", "days"],
    "additionalProperties": False,
}


def written(value: Any, columns: _forms.Columns) -> Rows:
    rows, _ = _forms.records(value, columns)
    file = _forms.write_records(rows)
    with open(file, "rb") as lines:
        lines.seek(0)
        return [json.loads(line) for line in lines]


def test_lists(texts: List[str], rows: Rows, small: Small) -> None:
    assert isinstance(cuttle.generate(texts, **small).texts, list)
    assert len(cuttle.generate(tuple(texts), **small).texts) == 3
    run = cuttle.generate(
        rows, **small, category_field="ward", categories=["heart", "mind"], category_public=True
    )
    assert {line["ward"] for line in run.lines} == {"heart", "mind"}
    assert len(cuttle.generate([*texts, None, float("nan")], **small).texts) == 3


def test_null_keeps_its_place() -> None:
    lines = written(["a", None, float("nan"), "d"], _forms.Columns())
    assert lines == [{"text": "a"}, {"text": None}, {"text": None}, {"text": "d"}]
    lines = written([{"other": 1}, {"text": "b"}], _forms.Columns())
    assert lines == [{}, {"text": "b"}]


def test_hard_texts() -> None:
    hard = ["", "line\nbreak", "\u2028", "\ud800", "é\0", '"' * 10]
    lines = written(hard, _forms.Columns())
    assert [line["text"] for line in lines] == ["", "line\nbreak", "\u2028", "?", "é\0", '"' * 10]


def test_private_categories_and_lots(samples: Path, small: Small) -> None:
    notes = [json.loads(line) for line in open(samples / "notes.jsonl")]
    small = {**small, "lots": "on", "ctx_size": 256}
    run = cuttle.generate(notes, **small, category_field="ward", categories=["heart", "surgery"])
    assert run.receipt is not None and run.receipt["categories"] and run.receipt["lots"]
    run = cuttle.generate(notes, **small)
    assert run.receipt is not None and run.receipt["lots"]


def test_public_files_by_memory(texts: List[str], rows: Rows, small: Small) -> None:
    run = cuttle.generate(texts, **small, public_examples=["An invented record.", "Another one."])
    assert len(run.texts) == 3
    shares = [{"ward": "heart", "share": 2}, {"ward": "mind", "share": 1}]
    run = cuttle.generate(
        rows, **small, category_field="ward", categories=shares, category_public=True
    )
    assert len(run.texts) == 3
    run = cuttle.generate(texts, **small, grammar=b'root ::= "a" [a-z]{1,3} "."\n')
    assert all(text.startswith("a") for text in run.texts)


def chosen(columns: _forms.Columns, value: Any) -> Any:
    return [list(line.values()) for line in written(value, columns)]


def test_lists_in_any_form(rows: Rows, small: Small) -> None:
    """A set has no order, so that of its values is taken; the rest keeps its own."""
    named = {**small, "category_field": "ward", "category_public": True}
    for names in (
        {"mind", "heart"},
        dict.fromkeys(["heart", "mind"]).keys(),
        iter(["heart", "mind"]),
    ):
        run = cuttle.generate(rows, **named, categories=names)  # type: ignore[arg-type]
        assert [line["ward"] for line in run.lines] == ["heart", "heart", "mind"]
    assert _forms.words([True, 9, 2.0, "a"], "x") == ["true", "9", "2", "a"]
    assert _forms.listed({10, 9, 1}) == [1, 9, 10]
    assert _forms.listed({"b", 1}) == [1, "b"] and _forms.listed(range(2)) == [0, 1]
    assert _forms.listed("ab") is None and _forms.listed({"a": 1}) is None
    for wrong in ([None], ["heart", float("nan")], [("a", "b")], {"heart": 1}, 7, [b"heart"], []):
        with pytest.raises(TypeError, match="^categories: give a list of str"):
            cuttle.generate(rows, **named, categories=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="^names: give a list of str"):
        cuttle.tag(rows, names=[["Ada"]])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="^public_examples: record 0: int"):
        cuttle.generate(rows, **small, public_examples=[1])
    # The place of a record decides in which batch it is, and a set would give it by what others say.
    with pytest.raises(TypeError, match="a set has no order"):
        cuttle.generate({"one", "two"}, **small)


def test_labels_as_in_json(texts: List[str], small: Small) -> None:
    rows = [{"text": text, "floor": i % 2 + 1} for i, text in enumerate(texts)]
    named = {**small, "category_field": "floor", "category_public": True}
    for names in ([1, 2], range(1, 3), [1.0, 2.0], ["1", "2"]):
        run = cuttle.generate(rows, **named, categories=names)
        assert [line["floor"] for line in run.lines] == ["1", "1", "2"]
    labels = _forms.Columns("text", ["x"])
    cells = [1, True, 2.0, float("nan"), None, 2**64]
    lines = written([{"x": cell} for cell in cells], labels)
    assert [line["x"] for line in lines] == ["1", "true", "2", None, None, str(2**64)]
    for wrong in (0.5, 1e15, [1]):
        with pytest.raises(TypeError, match="names no category or person"):
            written([{"x": wrong}], labels)


def test_categories_that_no_command_line_holds(texts: List[str]) -> None:
    """Such a list goes as a file, in which it is what Python has."""
    names = ["notes.csv"]
    rows = [{"text": text, "ward": names[0]} for text in texts]
    same: Any = {"category_field": "ward"}
    assert cuttle.inspect(rows, **same, categories=names)["records"] == len(texts)
    for wrong in (["a\0b"], ["a\nb"]):
        with pytest.raises(cuttle.InputInvalid, match="must be 1 to 128 bytes of text in one line"):
            cuttle.inspect(rows, **same, categories=wrong)
    with pytest.raises(cuttle.InputInvalid, match="more than [0-9]+ categories"):
        cuttle.inspect(rows, **same, categories=range(100_000))


def test_names_that_are_no_str(texts: List[str], small: Small) -> None:
    rows = [{0: text, 1: "ab"[i % 2]} for i, text in enumerate(texts)]
    same = {**small, "category_field": 1, "categories": ["a", "b"], "category_public": True}
    for field in (0, "0"):
        assert len(cuttle.generate(rows, **same, text_field=field).texts) == 3
    with pytest.raises(TypeError, match="two members of record 0 are called 0"):
        cuttle.generate([{0: "a", "0": "b"}], **small)


def test_field_of_another_file(texts: List[str], small: Small) -> None:
    pandas = pytest.importorskip("pandas")
    examples = pandas.DataFrame({"example": ["An invented record.", "Another one."]})
    notes = pandas.DataFrame({"note": texts})
    run = cuttle.generate(
        notes, **small, text_field="note", public_examples=examples, examples_field="example"
    )
    assert list(run.texts.columns) == ["note"]


def test_schema_of_dicts(small: Small) -> None:
    records = [{"ward": "heart", "days": i % 9, "other": {"nested": [1]}} for i in range(40)]
    run = cuttle.generate(records, **small, schema=FORM)
    assert all(set(record) == {"ward", "days"} for record in run.texts)
    assert "this is its schema" in str(cuttle.receipt.verify(run, schema=FORM))
    with pytest.raises(TypeError):
        cuttle.generate(["no dict"] * 40, **small, schema=FORM)


def test_units(rows: Rows, small: Small) -> None:
    run = cuttle.generate(rows, **small, unit_key="who", one_per_unit=True)
    assert run.receipt is not None and run.receipt["unit_key"] == "who"


def test_path_forms(texts: List[str], small: Small, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert isinstance(cuttle.generate(file, **small).texts, list)
    assert isinstance(cuttle.generate(str(file), **small).texts, list)
    out = tmp_path / "out.csv"
    run = cuttle.generate(file, **small, output=out)
    assert len(run.texts) == 3 and out.exists() and run.receipt is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error", cuttle.CuttleWarning)
        with pytest.raises(cuttle.CuttleWarning, match="nothing was drawn"):
            warnings.filterwarnings("ignore", "no public|a model")
            cuttle.generate(file, **small, output=out)


def test_pandas(rows: Rows, small: Small) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, index=range(100, 160))
    run = cuttle.generate(frame["text"], **small)
    assert isinstance(run.texts, pandas.Series) and run.texts.name == "text"
    assert list(run.texts.index) == [0, 1, 2]
    frame = frame.rename(columns={"text": "note"})
    frame.loc[105, "note"] = None
    frame["nested"] = [[1]] * 60
    frame["when"] = pandas.Timestamp("2026-01-01")
    run = cuttle.generate(
        frame,
        **small,
        text_field="note",
        category_field="ward",
        categories=["heart", "mind"],
        category_public=True,
    )
    assert list(run.texts.columns) == ["note", "ward"] and len(run.texts) == 3
    with pytest.raises(TypeError, match="did you mean note"):
        cuttle.generate(frame, **small, text_field="notes")
    with pytest.raises(TypeError, match="int"):
        cuttle.generate(frame["who"], **small)
    with pytest.raises(TypeError, match="Timestamp"):
        cuttle.generate(frame, **small, text_field="note", schema=FORM)
    lines = written(
        pandas.Series(["a", None, float("nan"), pandas.NA, pandas.NaT, "f"]), _forms.Columns()
    )
    assert [line["text"] for line in lines] == ["a", None, None, None, None, "f"]
    table = pandas.DataFrame({"ward": ["heart"] * 40, "days": range(40)}).astype({"days": "int8"})
    run = cuttle.generate(table, **small, schema=FORM)
    assert list(run.texts.columns) == ["ward", "days"]
    typed = pandas.Series(["a", None], dtype="string")
    assert written(typed, _forms.Columns()) == [{"text": "a"}, {"text": None}]
    import numpy

    small = {**small, "epsilon": numpy.float64(10), "num": numpy.int64(3)}
    assert len(cuttle.generate(numpy.array(frame["ward"], dtype=object), **small).texts) == 3


def test_pandas_names(texts: List[str], small: Small) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({0: texts, 1: [1, 2] * 30})  # as read_csv(header=None) makes it
    same = {**small, "category_public": True}
    several: List[Any] = [frame.columns, frame.columns.astype(str), ["0", 1]]
    for names in several:
        run = cuttle.generate(
            frame, **same, text_field=names[0], category_field=names[1], categories=[1, 2]
        )
        assert list(run.texts.columns) == [0, 1] and len(run.texts) == 3
    with pytest.raises(TypeError, match="there is no column text. The columns are: 0, 1"):
        cuttle.generate(frame, **small)
    with pytest.raises(TypeError, match="two columns of the table are called 0"):
        cuttle.generate(frame.set_axis([0, "0"], axis=1), **small, text_field=0)
    with pytest.raises(TypeError, match="two columns of the table are called text"):
        cuttle.generate(frame.set_axis(["text", "text"], axis=1), **small)
    levels = pandas.MultiIndex.from_tuples([("a", "text"), ("b", "ward")])
    with pytest.raises(TypeError, match="2 levels; make each one str: df.columns = "):
        cuttle.generate(frame.set_axis(levels, axis=1), **small)


def test_pandas_lists(rows: Rows, small: Small) -> None:
    pandas = pytest.importorskip("pandas")
    import numpy

    named = {**small, "category_field": "ward", "category_public": True}
    wards = ["heart", "mind"]
    for names in (
        numpy.array(wards),
        numpy.array(wards, dtype=object),
        pandas.Index(wards),
        pandas.Series(wards),
        pandas.Categorical(wards),
    ):
        assert _forms.listed(names) == wards
        run = cuttle.generate(rows, **named, categories=names)
        assert [line["ward"] for line in run.lines] == ["heart", "heart", "mind"]
    floats = pandas.DataFrame({"text": ["a"] * 3, "who": [1, None, 3]})  # NaN makes them float
    assert chosen(_forms.Columns("text", ["who"]), floats) == [["a", "1"], ["a", None], ["a", "3"]]
    with pytest.raises(TypeError, match="^categories: give a list of str"):
        cuttle.generate(rows, **named, categories=numpy.array([wards]))
    assert cuttle.tag(rows, names=pandas.Index(["Ada"]), tagger="none").lines
    with pytest.raises(TypeError, match="an array without a dimension"):
        cuttle.inspect(numpy.array("one text"))
    with pytest.raises(TypeError, match="the table has no column"):
        cuttle.inspect(pandas.DataFrame())
    assert len(cuttle.generate(rows, **small, complete=cast(Any, numpy.bool_(False))).texts) == 3


def test_polars(rows: Rows, small: Small) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(rows)
    run = cuttle.generate(frame["text"], **small)
    assert isinstance(run.texts, polars.Series) and run.texts.name == "text" and len(run.texts) == 3
    run = cuttle.generate(
        frame, **small, category_field="ward", categories=["heart", "mind"], category_public=True
    )
    assert run.texts.columns == ["text", "ward"]
    run = cuttle.generate(
        polars.DataFrame({"ward": ["heart"] * 40, "days": [1] * 40}), **small, schema=FORM
    )
    assert run.texts.columns == ["ward", "days"]
    assert written(polars.Series(["a", None]), _forms.Columns()) == [{"text": "a"}, {"text": None}]
    run = cuttle.generate(
        frame.lazy(),
        **small,
        category_field="ward",
        categories=polars.Series(["heart", "mind"]),
        category_public=True,
    )
    assert isinstance(run.texts, polars.DataFrame) and run.texts.columns == ["text", "ward"]


def test_pyarrow(rows: Rows, small: Small, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pylist(rows)
    run = cuttle.generate(table["text"], **small)
    assert isinstance(run.texts, pyarrow.Array) and len(run.texts) == 3
    assert isinstance(cuttle.generate(table["text"].combine_chunks(), **small).texts, pyarrow.Array)
    run = cuttle.generate(
        table, **small, category_field="ward", categories=["heart", "mind"], category_public=True
    )
    assert run.texts.column_names == ["text", "ward"]
    assert len(cuttle.generate(table.to_batches()[0], **small).texts) == 3
    run = cuttle.generate(
        pyarrow.table({"ward": ["heart"] * 40, "days": [1] * 40}), **small, schema=FORM
    )
    assert run.texts.column_names == ["ward", "days"]
    assert len(cuttle.generate(table.to_reader(), **small).texts) == 3
    assert _forms.listed(pyarrow.chunked_array([["a"], ["b"]])) == ["a", "b"]
    from pyarrow import parquet

    file = tmp_path / "in.parquet"
    parquet.write_table(table, file)
    assert isinstance(cuttle.generate(file, **small).texts, list)


def test_parquet_without_a_reader(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in ("pyarrow", "polars", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match="pip install pyarrow"):
        cuttle.generate(tmp_path / "in.parquet", **small)


def test_files_are_closed(texts: List[str], small: Small) -> None:
    before = len(os.listdir("/proc/self/fd"))
    cuttle.generate(texts, **small, public_examples=["One.", "Two."])
    with pytest.raises(TypeError):
        cuttle.generate(texts, **small, public_examples=[1])
    with pytest.raises(cuttle.InputInvalid):
        cuttle.generate(texts[:1], **small)
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_without_memfd(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that was built with an older C library asks the kernel itself."""
    monkeypatch.delattr(os, "memfd_create")
    file = _forms.memory_file()
    assert "memfd" in os.readlink(f"/proc/self/fd/{file}")
    os.close(file)
    monkeypatch.setattr(_forms, "MEMFD_NUMBERS", {})
    os.close(_forms.memory_file())
