"""Errors of the staging wing.

StagingError
+-- NoRepository    a folder lies in no git repository
+-- NeedsDecision   a conflict or a changed file that only the user can settle (exit 4)
|   +-- Conflict    both sides changed the same lines; carries the text with markers
+-- Busy            a lock or another git process holds the repository (exit 75)
"""

from __future__ import annotations


class StagingError(Exception):
    """An error shown to the user: what happened, what to do, and the exit code it ends with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NoRepository(StagingError):
    """The folder lies in no git repository."""


class NeedsDecision(StagingError):
    """The user has to choose; nothing was changed."""

    exit_code = 4


class Conflict(NeedsDecision):
    """The live file and the proposal changed the same lines. `marked` shows both, with diff3 markers."""

    def __init__(self, message: str, *, hint: str = "", marked: str = "") -> None:
        super().__init__(message, hint=hint)
        self.marked = marked


class Busy(StagingError):
    """Try again later; nothing was changed."""

    exit_code = 75
