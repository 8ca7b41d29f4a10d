"""Errors of the app, and the shape every wing's errors share.

AppError
+-- UsageError     wrong arguments or configuration (exit 2)
+-- NothingToDo    there was no work (exit 3)
+-- NeedsDecision  the user has to choose (exit 4)
+-- Busy           another run works, or the machine should not be disturbed (exit 75)
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Explained(Protocol):
    """What the command line needs of an error: a message, a hint, and an exit code."""

    message: str
    hint: str
    exit_code: int


class AppError(Exception):
    """An error shown to the user: what happened, what to do, and the exit code it ends with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(AppError):
    exit_code = 2


class NothingToDo(AppError):
    exit_code = 3


class NeedsDecision(AppError):
    exit_code = 4


class Busy(AppError):
    exit_code = 75
