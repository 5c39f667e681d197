# SPDX-License-Identifier: Apache-2.0
"""A call's process: what a stop leaves, and what a call costs in time.

What a call writes where is looked at by tests/cli/python.sh, without pytest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

import cuttle_dp as cuttle
from cuttle_dp import _command

Small = Dict[str, Any]

# A run that is held: the command says of each text that it is done, and more lines than a pipe holds are read
# only after it was interrupted, or has ended. So it cannot end by itself before that.
LONG = """
import glob, os, signal, sys, time, warnings
import cuttle_dp as cuttle
from cuttle_dp import _command
warnings.simplefilter("ignore")
options = sys.argv[3:]
if "ignored" in options:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if "hasty" in options:
    _command.KILL_SECONDS = 0.1
child = None
def hold(self, told):
    global child, limit
    if child is None:
        limit = time.monotonic() + 60  # of a broken run
        child = next(int(pid) for path in glob.glob("/proc/self/task/*/children") for pid in open(path).read().split())
        print("draws", child, flush=True)
    while os.path.exists(f"/proc/{child}") and not _command._was_interrupted(child) and time.monotonic() < limit:
        time.sleep(0.01)
if "held" in options:
    _command.Progress.shown = True
    _command.Progress.update = hold
texts = [f"Record {i} has a cough." for i in range(3200)]
try:
    run = cuttle.generate(texts, model=sys.argv[1], output=sys.argv[2] or None, epsilon=10, batch_size=2, num=1600,
                          max_tokens=2, lots="off", accountant="zcdp", threads=1)
    print("done", len(run.texts))
except cuttle.Partial as error:
    print("partial", error.code, flush=True)
    if "resume" in options:
        print("resumed", len(error.resume().texts))
except KeyboardInterrupt:
    print("interrupted")
"""
Running = Tuple["subprocess.Popen[str]", int]


def begin(tiny: str, output: Any, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", LONG, tiny, str(output), *options],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def begin_held(tiny: str, output: Any, *options: str) -> Running:
    """Waits until it draws; returns it, and the command's process."""
    process = begin(tiny, output, "held", *options)
    assert process.stdout is not None
    draws, child = process.stdout.readline().split()
    assert draws == "draws"
    return process, int(child)


def wait_for(condition: Any, what: str) -> Any:
    for _ in range(6000):
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


@pytest.mark.parametrize("more", [[], ["ignored"]])
@pytest.mark.parametrize("whole_group", [False, True])
def test_interrupt_then_resume(
    whole_group: bool, more: List[str], tiny: str, tmp_path: Path
) -> None:
    process, child = begin_held(tiny, tmp_path / "new.jsonl", "resume", *more)
    # A terminal sends it to the whole group, a notebook to Python alone.
    if whole_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert said.split("\n")[:2] == ["partial 6", "resumed 1600"], said
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
    process, child = begin_held(tiny, "")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said == "interrupted\n" and is_gone(child)


def test_second_interrupt_ends_it(tiny: str, tmp_path: Path) -> None:
    process, child = begin_held(tiny, tmp_path / "new.jsonl", "hasty")
    os.kill(child, signal.SIGSTOP)  # a command that does not answer
    process.send_signal(signal.SIGINT)
    wait_for(lambda: _command._was_interrupted(child), "signal for the command")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said.startswith("partial"), said
    assert is_gone(child)


def test_kill_then_resume(tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    process, _ = begin_held(tiny, file)
    wait_for_tokens(file)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = Path(f"{file}.journal").stat().st_size
    assert kept > 1000 and not file.exists()
    again = begin(tiny, file)
    said, _ = again.communicate(timeout=120)
    assert said == "done 1600\n"
    assert "these are its bytes" in str(
        cuttle.receipt.verify(tmp_path / "new.receipt.json", output=file)
    )


@pytest.mark.parametrize("more", [[], ["ignored"]])
def test_killed_command_is_partial(more: List[str], tiny: str, tmp_path: Path) -> None:
    process, child = begin_held(tiny, tmp_path / "new.jsonl", "resume", *more)
    os.kill(child, signal.SIGKILL)
    said, _ = process.communicate(timeout=120)
    assert said.split("\n")[:2] == ["partial 6", "resumed 1600"], said


@pytest.fixture
def lost(request: pytest.FixtureRequest) -> Iterator[str]:
    """Three ways in which a program never sees how the command ended."""
    way = str(request.param)
    before = signal.getsignal(signal.SIGCHLD)
    over = threading.Event()

    def reap(*_: object) -> None:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass

    def reap_all() -> None:
        while not over.is_set():
            reap()

    reaper = threading.Thread(target=reap_all)
    if way == "ignored":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    elif way == "handled":
        signal.signal(signal.SIGCHLD, reap)
    else:
        reaper.start()
    yield way
    over.set()
    if reaper.ident is not None:
        reaper.join()
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize("lost", ["ignored", "handled", "reaped"], indirect=True)
def test_no_failure_is_lost(lost: str, texts: List[str], small: Small, tmp_path: Path) -> None:
    book: Dict[str, Any] = {"ledger": tmp_path / "spent.db", "dataset": "notes"}
    (tmp_path / "none.json").write_text("no receipt")
    cuttle.ledger.init(**book, epsilon_limit=1)
    with pytest.raises(cuttle.BudgetRefused):
        cuttle.ledger.check(**book, rho=99)
    with pytest.raises(cuttle.InputInvalid):
        cuttle.receipt.verify(tmp_path / "none.json")
    with pytest.raises(cuttle.InputInvalid):
        cuttle.generate(texts, **{**small, "num": 100})
    with pytest.raises(cuttle.ModelInvalid):
        cuttle.generate(texts, **{**small, "model": tmp_path / "none.gguf"})
    assert len(cuttle.generate(texts, **small).texts) == 3


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 0", None),
        ('printf 0 >&"$CUTTLE_END_FD"', None),
        ('echo 00x >&"$CUTTLE_END_FD"', None),
        ('echo 3 >&"$CUTTLE_END_FD"', 3),
        ('echo 0 >&"$CUTTLE_END_FD"', 0),
        ('echo 0 >&"$CUTTLE_END_FD"; exit 5', 5),
        ("exit 5", 5),
        ("kill -KILL $$", -9),
    ],
)
def test_an_end_is_said(
    script: str, code: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # dash takes no descriptor from a variable, so it is opened anew.
    stand_in(script.replace('&"$CUTTLE_END_FD"', "/dev/fd/$CUTTLE_END_FD"), tmp_path, monkeypatch)
    assert _command.run([], None, [], _command.Progress(False)).code == code
    if code is None:
        with pytest.raises(cuttle.InternalError, match="is not known"):
            cuttle.ledger.check(ledger="spent.db", dataset="notes", rho=1)
        with pytest.raises(cuttle.Partial, match="is not known"):
            cuttle.generate(["text"], output=tmp_path / "new.jsonl")


def test_end_beside_the_standard_streams(texts: List[str], small: Small) -> None:
    """A service may have none of them open."""
    script = """
import os, sys
import cuttle_dp
said = os.dup(1)
for stream in range(3):
    os.close(stream)
run = cuttle_dp.ledger.show
try:
    run(ledger="/nofile", dataset="notes")
except cuttle_dp.EvidenceInvalid:
    os.write(said, b"7")
"""
    assert subprocess.check_output([sys.executable, "-c", script]) == b"7"


def test_other_texts_are_refused(tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    process, _ = begin_held(tiny, file)
    wait_for_tokens(file)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(cuttle.UsageError):
        cuttle.generate(
            ["Something else."] * 3200,
            model=tiny,
            output=file,
            epsilon=10,
            batch_size=2,
            num=1600,
            max_tokens=2,
            lots="off",
            accountant="zcdp",
            threads=1,
        )


def test_a_call_adds_little_time(texts: List[str], small: Small, tmp_path: Path) -> None:
    """Reported, and at most 50 ms more than the command alone, each at its fastest.

    A busy machine slows either down, so it is tried until they are near; the limit is of a broken one.
    """
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
    for _ in range(300):
        begun = time.perf_counter()
        subprocess.run(line, check=True, capture_output=True)
        alone.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        _ = cuttle.generate(texts, **small).texts
        module.append(time.perf_counter() - begun)
        added = min(module) - min(alone)
        if len(module) >= 5 and added <= 0.05:
            break
    print(f"a call adds {added * 1000:.1f} ms to {min(alone) * 1000:.1f} ms")
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
