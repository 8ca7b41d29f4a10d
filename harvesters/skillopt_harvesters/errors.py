"""Errors of the harvesters wing."""

from __future__ import annotations


class HarvestError(Exception):
    """An error shown to the user: what happened, what to do, and the exit code it ends with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
