"""Errors of the staging wing.

StagingError
+-- NeedsDecision   a conflict or a changed file that only the user can settle (exit 4)
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


class NeedsDecision(StagingError):
    """The user has to choose; nothing was changed."""

    exit_code = 4


class Busy(StagingError):
    """Try again later; nothing was changed."""

    exit_code = 75
