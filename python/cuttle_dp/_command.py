# SPDX-License-Identifier: Apache-2.0
"""Runs the command: finds it, passes files in memory to it, reads what it says, and stops it.

Private texts pass through files in memory and pipes. No process is left behind.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from ._errors import CommandMissing, CuttleWarning
from ._forms import beside_streams

STOP_SECONDS = 60.0  # it stops between two tokens, and a large model's take seconds
KILL_SECONDS = 5.0
END_VARIABLE = "CUTTLE_END_FD"  # tools/common/last_word.h
NOT_RUN = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)

_found: Optional[str] = None


def command_path() -> str:
    """Where the command is: beside this package, where pip has noted it, or on the PATH."""
    global _found
    if _found is None:
        _found = _find_command()
    return _found


def _noted_by_pip(packages: str) -> Iterator[str]:
    """The command as RECORD has it. With --target pip moves it elsewhere and does not say so.

    What stands there then may be another program of that name, which another size gives away.
    """
    for record in glob.glob(os.path.join(glob.escape(packages), "cuttle_dp-*.dist-info", "RECORD")):
        with open(record, encoding="utf-8") as lines:
            noted = [line.rstrip("\n").split(",") for line in lines if "," in line]
        for name, *_, size in noted:
            file = os.path.normpath(os.path.join(packages, name))
            if not name.endswith("/cuttle") or "completion" in name or not os.path.isfile(file):
                continue
            if size in ("", str(os.path.getsize(file))):
                yield file


def _places(packages: str) -> Iterator[str]:
    yield os.path.join(packages, "bin", "cuttle")  # pip install --target
    yield from _noted_by_pip(packages)
    unpacked = os.path.join(glob.escape(packages), "cuttle_dp-*.data", "scripts", "cuttle")
    yield from glob.glob(unpacked)  # a wheel that was unpacked and not installed
    yield shutil.which("cuttle") or ""
    yield os.path.join(sysconfig.get_path("scripts"), "cuttle")


def _find_command() -> str:
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    refused = ""
    for file in _places(packages):
        if os.path.isfile(file):
            if os.access(file, os.X_OK):
                return os.path.abspath(file)  # PATH may have ".", and folders are changed
            refused = refused or file
    if refused:
        raise CommandMissing(
            f"the command {refused} may not be executed: chmod +x {refused}; if its disk is "
            "mounted noexec, put the command elsewhere and its folder into PATH"
        )
    raise CommandMissing(
        f"the command cuttle is missing: it is not at {packages}/bin/cuttle and not on PATH. pip "
        "install of the wheel (with --target, too) brings it; where this package alone was copied, "
        "or stands in a zip file, put the wheel's command cuttle into a folder on PATH"
    )


class Progress:
    """Shows how far a run is: a bar of tqdm, lines, or nothing."""

    def __init__(self, wanted: Optional[bool]) -> None:
        self.bar: Any = None
        self.make: Optional[Callable[..., Any]] = None
        self.lines = False
        if wanted is False or (wanted is None and not _is_watched()):
            return
        try:
            from tqdm.auto import tqdm

            self.make = tqdm
        except ImportError:
            self.lines = wanted is True

    @property
    def shown(self) -> bool:
        return self.lines or self.make is not None

    def update(self, told: Dict[str, Any]) -> None:
        done, texts = told["texts_done"], told["texts"]
        if self.lines:
            print(f"{done} of {texts} texts", file=sys.stderr)
        elif self.make is not None:
            if self.bar is None:
                self.bar = self.make(total=texts, unit="text")
            self.bar.total = texts
            self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


class Done:
    """What a command that has ended said."""

    def __init__(self, code: Optional[int], output: bytes, messages: List[str]) -> None:
        self.code = code  # below 0: a signal; None: not known
        self.output = output
        self.messages = messages
        self.interrupted = False


def _was_interrupted(child: int) -> bool:
    """Whether SIGINT has come to the command already, as a terminal sends it to a whole group."""
    bit = 1 << (signal.SIGINT - 1)
    try:
        with open(f"/proc/{child}/status", encoding="ascii") as lines:
            masks = {name: value for name, _, value in (line.partition(":") for line in lines)}
        # The command catches it once. Then the default stands again, by which the next one ends it.
        return not int(masks["SigCgt"], 16) & bit or bool(int(masks["ShdPnd"], 16) & bit)
    except (OSError, KeyError, ValueError):
        return False


def _tell_end(child: "subprocess.Popen[bytes]", ended: threading.Event) -> None:
    """Waits in a thread of its own, where no Ctrl-C comes.

    One that comes while wait() takes the exit code loses it. See _read_end for what is lost.
    """
    child.wait()
    ended.set()


def _begin_telling(child: "subprocess.Popen[bytes]", ended: threading.Event) -> None:
    threading.Thread(target=_tell_end, args=(child, ended), daemon=True).start()


def _stop(child: "subprocess.Popen[bytes]", ended: threading.Event) -> None:
    """Lets the command stop between two tokens. Then, or at a second Ctrl-C, it is ended."""
    try:
        # Ctrl-C may have come before the thread that waits had begun. A second one does no harm.
        _begin_telling(child, ended)
        time.sleep(0.05)
        if not ended.is_set() and not _was_interrupted(child.pid):
            child.send_signal(signal.SIGINT)
        if ended.wait(STOP_SECONDS):
            return
    except KeyboardInterrupt:
        pass
    try:
        child.terminate()
        if ended.wait(KILL_SECONDS):
            return
    except KeyboardInterrupt:
        pass
    child.kill()
    child.wait()


def _read_messages(child: "subprocess.Popen[bytes]", progress: Progress, said: List[str]) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        text = line.decode("utf-8", "replace").rstrip("\n")
        if text.startswith('{"texts_done"'):
            if progress.shown:
                progress.update(json.loads(text))
        elif text:
            said.append(text)


def _open_end() -> Tuple[int, int]:
    """A pipe on which the command says how it ended, beside its standard streams."""
    reading, writing = os.pipe()
    try:
        return reading, beside_streams(writing)
    except BaseException:
        os.close(reading)
        raise


def _read_end(reading: int, status: int) -> Optional[int]:
    """The exit code of a command that has ended, or None where it is not known.

    Popen says 0 where it does not get the exit code: SIGCHLD is ignored, or another thread or a
    handler waits for all children. So 0 counts only if the command has said it itself.
    """
    os.set_blocking(reading, False)
    try:
        word = re.fullmatch(rb"([0-9]+)\n", os.read(reading, 16))
    except BlockingIOError:  # a process that another thread started meanwhile holds the pipe, too
        word = None
    if word and int(word[1]):
        return int(word[1])
    return status if status or word else None


def _start(
    arguments: Sequence[str], stdin: Optional[int], files: Sequence[int], end: int
) -> "subprocess.Popen[bytes]":
    command = command_path()
    try:
        return subprocess.Popen(
            [command, *arguments],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[*files, end],
            env={**os.environ, END_VARIABLE: str(end)},
        )
    except OSError as error:
        if error.errno not in NOT_RUN:
            raise
        raise CommandMissing(f"the command {command} cannot be run: {error.strerror}") from error


def run(
    arguments: Sequence[str],
    stdin: Optional[int],
    files: Sequence[int],
    progress: Progress,
) -> Done:
    """Runs the command to its end. Interrupted, it returns Done with ``interrupted``."""
    reading, writing = _open_end()
    try:
        try:
            child = _start(arguments, stdin, files, writing)
        finally:
            os.close(writing)
        return _attend(child, reading, progress)
    finally:
        os.close(reading)


def _attend(child: "subprocess.Popen[bytes]", end: int, progress: Progress) -> Done:
    assert child.stdout is not None
    output = child.stdout
    pieces: List[bytes] = []
    said: List[str] = []
    ended = threading.Event()
    readers = [
        threading.Thread(target=lambda: pieces.append(output.read()), daemon=True),
        threading.Thread(target=_read_messages, args=(child, progress, said), daemon=True),
    ]
    interrupted = False
    try:
        for reader in readers:
            reader.start()
        _begin_telling(child, ended)
        ended.wait()
    except KeyboardInterrupt:
        interrupted = True
        _stop(child, ended)
    except BaseException:
        child.kill()
        child.wait()
        raise
    finally:
        for reader in readers:
            if reader.ident is not None:
                reader.join()
        child.stdout.close()
        if child.stderr is not None:
            child.stderr.close()
        progress.close()
    done = Done(_read_end(end, child.returncode), b"".join(pieces), said)
    done.interrupted = interrupted
    return done


def split_messages(lines: List[str], verb: str) -> Tuple[List[str], str]:
    """Warns of what the command warns of. Returns the other lines, and the one of the error."""
    kept = []
    error = ""
    for line in lines:
        if line.startswith("Warning: "):
            warnings.warn(line[len("Warning: ") :], CuttleWarning, stacklevel=7)
        else:
            kept.append(line)
        if line.endswith(" is already complete"):
            told = f"{line}: it was read, and nothing was drawn"
            warnings.warn(told, CuttleWarning, stacklevel=7)
        if line.startswith(("cuttle: ", f"cuttle {verb}: ")):
            error = line
    return kept, error or (kept[-1] if kept else "")
