# SPDX-License-Identifier: Apache-2.0
"""Exit codes are exceptions, with the command's own line; wrong calls are told before anything runs."""

from __future__ import annotations

import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any, Dict, List

import pytest

import cuttle_dp as cuttle
from cuttle_dp import _command

KINDS = [
    cuttle.InternalError,
    cuttle.UsageError,
    cuttle.BudgetRefused,
    cuttle.InputInvalid,
    cuttle.ModelInvalid,
    cuttle.Partial,
    cuttle.EvidenceInvalid,
    cuttle.OutOfMemory,
    cuttle.RemoteRefused,
]
Small = Dict[str, Any]


@pytest.mark.parametrize("code", range(1, 10))
def test_each_code(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "cuttle"
    fake.write_text(f"#!/bin/sh\necho some\necho 'cuttle inspect: it is {code}' >&2\nexit {code}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(_command, "_found", str(fake))
    with pytest.raises(cuttle.CuttleError) as caught:
        cuttle.inspect(["text"])
    assert type(caught.value) is KINDS[code - 1]
    assert caught.value.code == code
    assert caught.value.message == str(caught.value) == f"cuttle inspect: it is {code}"
    assert caught.value.output == "some\n"
    if code == 6:
        with pytest.raises(cuttle.UsageError):
            caught.value.resume()  # type: ignore[attr-defined]


def test_real_codes(texts: List[str], small: Small, tmp_path: Path) -> None:
    with pytest.raises(cuttle.UsageError):
        cuttle.generate(texts, **small, clip=1.0)
    book: Dict[str, Any] = {"ledger": tmp_path / "spent.db", "dataset": "notes"}
    cuttle.ledger.init(**book, epsilon_limit=0.1)
    with pytest.raises(cuttle.BudgetRefused):
        cuttle.generate(texts, **small, **book, output=tmp_path / "out.jsonl")
    with pytest.raises(cuttle.InputInvalid):
        cuttle.generate(texts[:3], **small)
    with pytest.raises(cuttle.InputInvalid):
        cuttle.generate(tmp_path / "none.jsonl", **small)
    with pytest.raises(cuttle.ModelInvalid):
        cuttle.generate(texts, **{**small, "model": tmp_path / "none.gguf"})
    with pytest.raises(cuttle.EvidenceInvalid):
        cuttle.generate(texts, **small, ledger=tmp_path / "none.db", dataset="notes")


def find_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the command is for a package in this folder."""
    monkeypatch.setattr(_command, "__file__", str(folder / "cuttle_dp" / "_command.py"))
    monkeypatch.setattr(_command, "_found", None)
    monkeypatch.setenv("PATH", str(folder / "path"))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(folder / "scripts"))
    return _command.command_path()


def put(file: Path, content: str = "#!/bin/sh\n", mode: int = 0o700) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    file.chmod(mode)
    return str(file)


def test_where_the_command_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lib" / "site[1]"
    with pytest.raises(cuttle.CommandMissing, match="missing.*pip install") as caught:
        find_in(folder, monkeypatch)
    assert isinstance(caught.value, cuttle.CuttleError) and caught.value.code == 127
    with pytest.raises(cuttle.CommandMissing):
        cuttle.inspect(["text"])
    # From the last place to the first one that counts.
    scripts = put(folder / "scripts" / "cuttle")
    assert find_in(folder, monkeypatch) == scripts
    path = put(folder / "path" / "cuttle")
    assert find_in(folder, monkeypatch) == path
    unpacked = put(folder / "cuttle_dp-1.data" / "scripts" / "cuttle")
    assert find_in(folder, monkeypatch) == unpacked
    # pip --target writes this path, and puts the command elsewhere.
    noted = folder / "cuttle_dp-1.dist-info" / "RECORD"
    put(noted, "cuttle_dp/x.py,,\n../../bin/cuttle,sha256=x,10\n\n../share/completions/cuttle,,\n")
    assert find_in(folder, monkeypatch) == unpacked
    other = put(tmp_path / "bin" / "cuttle", "another size")
    assert find_in(folder, monkeypatch) == unpacked
    put(Path(other))
    assert find_in(folder, monkeypatch) == other
    beside = put(folder / "bin" / "cuttle")
    assert find_in(folder, monkeypatch) == beside


def test_command_that_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path / "bin" / "cuttle", "no program", 0o600)
    with pytest.raises(cuttle.CommandMissing, match=f"chmod [+]x {file}"):
        find_in(tmp_path, monkeypatch)
    Path(file).chmod(0o700)
    assert find_in(tmp_path, monkeypatch) == file
    with pytest.raises(cuttle.CommandMissing, match="cannot be run: Exec format"):
        cuttle.inspect(["text"])
    Path(file).unlink()
    with pytest.raises(cuttle.CommandMissing, match="cannot be run: No such file"):
        cuttle.inspect(["text"])


def test_unknown_option(texts: List[str]) -> None:
    with pytest.raises(cuttle.UnknownOption, match="did you mean epsilon") as caught:
        cuttle.generate(texts, epsilom=3)  # type: ignore[call-arg]
    assert isinstance(caught.value, TypeError) and caught.value.code == 2
    with pytest.raises(TypeError, match="did you mean dataset"):
        cuttle.ledger.show(ledger="x", datasets="notes")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "wrong",
    [[1, 2], ["text", 3.5], [b"text"], {"text": "one"}, b"text", 7, [{"text": 7}], [["text"]]],
)
def test_wrong_texts(wrong: Any, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_command, "run", lambda *_: pytest.fail("the command was run"))
    with pytest.raises(TypeError):
        cuttle.generate(wrong, **small)


def test_wrong_values(texts: List[str], small: Small) -> None:
    with pytest.raises(TypeError, match="kind"):
        cuttle.generate(texts, **small, kind=object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="output"):
        cuttle.generate(texts, **small, output=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="complete"):
        cuttle.generate(texts, **small, complete="yes")  # type: ignore[arg-type]
    with pytest.raises(cuttle.UsageError, match="epsilon"):
        cuttle.generate(texts, **{**small, "epsilon": -1})


def test_warnings(texts: List[str], small: Small) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cuttle.generate(texts, **small)
    told = [one for one in caught if one.category is cuttle.CuttleWarning]
    assert told and told[0].filename == __file__, told
    assert "text" not in sys.argv
