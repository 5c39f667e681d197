# SPDX-License-Identifier: Apache-2.0
"""What a call raises: a class for each exit code of the command. Messages are the command's own."""

from __future__ import annotations

from typing import Any, Callable, ClassVar, Dict, Optional, Type


class CuttleError(Exception):
    """The command ended with another exit code than 0.

    ``code`` is the exit code, ``message`` the command's line, ``output`` what it printed before.
    """

    exit_code: ClassVar[int] = 0

    def __init__(self, message: str, code: Optional[int] = None, output: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = self.exit_code if code is None else code
        self.output = output


class InternalError(CuttleError):
    """1: the machine failed: no entropy, a self check, a signal, or an end that is not known."""

    exit_code = 1


class UsageError(CuttleError):
    """2: a wrong option, or an output of another command in the way."""

    exit_code = 2


class UnknownOption(UsageError, TypeError):
    """An option that the verb does not have. Nothing was run."""


class CommandMissing(CuttleError):
    """The command itself was not found, or this machine does not run it. Nothing was run."""

    exit_code = 127  # as a shell says it


class BudgetRefused(CuttleError):
    """3: the ledger refuses the charge. Nothing was drawn."""

    exit_code = 3


class InputInvalid(CuttleError):
    """4: the input as a whole cannot be used, or holds too few records."""

    exit_code = 4


class ModelInvalid(CuttleError):
    """5: the model cannot be read."""

    exit_code = 5


class Partial(CuttleError):
    """6: stopped before the end. What was drawn is kept where ``output=`` was given."""

    exit_code = 6
    _again: Optional[Callable[[], Any]] = None

    def resume(self) -> Any:
        """Makes the same call again, on the same texts. It goes on and is not charged again.

        Raises UsageError where the call had no ``output=``: a pipe keeps nothing.
        """
        if self._again is None:
            raise UsageError("give output=FILE: what goes through a pipe cannot be resumed")
        return self._again()


class EvidenceInvalid(CuttleError):
    """7: a ledger is missing, busy or damaged; a receipt, an audit or a shard contradicts."""

    exit_code = 7


class OutOfMemory(CuttleError):
    """8: more memory is needed than there is."""

    exit_code = 8


class RemoteRefused(CuttleError):
    """9: the remote model will not answer: TLS, a refusal, its quota, or a malformed reply."""

    exit_code = 9


class CuttleWarning(UserWarning):
    """A warning of the command. It comes from options and public files, never from texts."""


BY_CODE: Dict[int, Type[CuttleError]] = {
    kind.exit_code: kind
    for kind in (
        InternalError,
        UsageError,
        BudgetRefused,
        InputInvalid,
        ModelInvalid,
        Partial,
        EvidenceInvalid,
        OutOfMemory,
        RemoteRefused,
    )
}
