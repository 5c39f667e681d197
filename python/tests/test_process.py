# SPDX-License-Identifier: Apache-2.0
"""A call's process: what a stop leaves, and what a call costs in time.

What a call writes where is looked at by tests/cli/python.sh, without pytest.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest

import cuttle_dp as cuttle
from cuttle_dp import _command

Small = Dict[str, Any]

# Long enough to be stopped: a second or more.
LONG = """
import sys, warnings
import cuttle_dp as cuttle
warnings.simplefilter("ignore")
texts = [f"Record {i} has a cough." for i in range(400)]
try:
    run = cuttle.generate(texts, model=sys.argv[1], output=sys.argv[2] or None, epsilon=10, batch_size=2, num=200,
                          max_tokens=300, lots="off", accountant="zcdp", threads=1)
    print("done", len(run.texts))
except cuttle.Partial as error:
    print("partial", error.code, flush=True)
    if sys.argv[3:] == ["resume"]:
        print("resumed", len(error.resume().texts))
except KeyboardInterrupt:
    print("interrupted")
"""


def begin(tiny: str, output: str, *more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", LONG, tiny, output, *more],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def children(parent: int) -> List[int]:
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as stat:
                if int(stat.read().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(name))
        except (OSError, ValueError):
            pass
    return found


def wait_for(condition: Any, what: str) -> Any:
    for _ in range(2000):
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    return pytest.fail(f"no {what}")


def wait_for_tokens(file: Path) -> None:
    journal = Path(f"{file}.journal")
    wait_for(lambda: journal.exists() and journal.stat().st_size > 1000, "journal")


def is_gone(child: int) -> bool:
    try:
        with open(f"/proc/{child}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("whole_group", [False, True])
def test_interrupt_then_resume(whole_group: bool, tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    process = begin(tiny, str(file), "resume")
    wait_for_tokens(file)
    (child,) = children(process.pid)
    # A terminal sends it to the whole group, a notebook to Python alone.
    if whole_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert said.split("\n")[:2] == ["partial 6", "resumed 200"], said
    assert is_gone(child)


def stand_in(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script takes the command's place."""
    command = folder / "command"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o700)
    monkeypatch.setattr(_command, "command_path", lambda: str(command))


def test_interrupt_as_the_command_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in("sleep 0.05\nkill -INT $PPID\nexit 6", tmp_path, monkeypatch)
    for _ in range(30):
        done = _command.run([], None, [], _command.Progress(False))
        assert done.code == 6 and done.interrupted


def test_interrupt_before_anybody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in("trap 'exit 6' INT TERM\nwhile :; do sleep 0.01; done", tmp_path, monkeypatch)
    begin, begun = threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        begun.append(thread)
        if len(begun) == 3:
            raise KeyboardInterrupt
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    done = _command.run([], None, [], _command.Progress(False))
    assert done.code == 6 and done.interrupted


def test_interrupt_of_a_pipe(tiny: str) -> None:
    process = begin(tiny, "")
    (child,) = wait_for(lambda: children(process.pid), "child")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said == "interrupted\n" and is_gone(child)


def test_second_interrupt_ends_it(tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    process = begin(tiny, str(file))
    wait_for_tokens(file)
    (child,) = children(process.pid)
    os.kill(child, signal.SIGSTOP)  # a command that does not answer
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said.startswith("partial"), said
    assert is_gone(child)


def test_kill_then_resume(tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    process = begin(tiny, str(file))
    wait_for_tokens(file)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = Path(f"{file}.journal").stat().st_size
    assert kept > 1000 and not file.exists()
    again = begin(tiny, str(file))
    said, _ = again.communicate(timeout=120)
    assert said == "done 200\n"
    assert "these are its bytes" in str(
        cuttle.receipt.verify(tmp_path / "new.receipt.json", output=file)
    )


def test_killed_command_is_partial(tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    process = begin(tiny, str(file), "resume")
    wait_for_tokens(file)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    said, _ = process.communicate(timeout=120)
    assert said.split("\n")[:2] == ["partial 6", "resumed 200"], said


def test_other_texts_are_refused(tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    process = begin(tiny, str(file))
    wait_for_tokens(file)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(cuttle.UsageError):
        cuttle.generate(
            ["Something else."] * 400,
            model=tiny,
            output=file,
            epsilon=10,
            batch_size=2,
            num=200,
            max_tokens=300,
            lots="off",
            accountant="zcdp",
            threads=1,
        )


def test_a_call_adds_little_time(texts: List[str], small: Small, tmp_path: Path) -> None:
    """Reported, and at most 50 ms more than the command alone."""
    file = tmp_path / "in.jsonl"
    file.write_text("".join(f'{{"text":"{text}"}}\n' for text in texts))
    line = [
        _command.command_path(),
        "generate",
        "-m",
        small["model"],
        "-i",
        str(file),
        "-o",
        "-",
        "-e",
        "10",
        "-B",
        "2",
        "-N",
        "3",
        "-n",
        "8",
        "--lots",
        "off",
        "--progress",
        "off",
        "--receipt",
        str(tmp_path / "receipt.json"),
    ]
    alone, module = [], []
    for _ in range(15):
        begun = time.perf_counter()
        subprocess.run(line, check=True, capture_output=True)
        alone.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        _ = cuttle.generate(texts, **small).texts
        module.append(time.perf_counter() - begun)
    added = statistics.median(module) - statistics.median(alone)
    print(f"a call adds {added * 1000:.1f} ms to {statistics.median(alone) * 1000:.1f} ms")
    assert added <= 0.05


def test_progress(
    texts: List[str], small: Small, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuttle.generate(texts, **small)
    assert capfd.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    cuttle.generate(texts, **small, progress=True)
    assert "3 of 3 texts" in capfd.readouterr().err
    monkeypatch.undo()
    pytest.importorskip("tqdm")
    cuttle.generate(texts, **small, progress=True)
    assert "3/3" in capfd.readouterr().err
