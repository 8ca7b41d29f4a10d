"""Errors of the replay wing.

ReplayError
+-- Unavailable      something needed is not installed, reachable or allowed (exit 1)
+-- CeilingReached   a limit on money, tokens or time stopped the work (exit 5)
"""

from __future__ import annotations


class ReplayError(Exception):
    """An error shown to the user: what happened, what to do, and the exit code it ends with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Unavailable(ReplayError):
    """An agent, model or sandbox cannot be had; the hint says how to get it."""


class CeilingReached(ReplayError):
    """The next call would pass a ceiling, so it was not started."""

    exit_code = 5
