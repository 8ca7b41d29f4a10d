"""Errors of the replay wing.

ReplayError
+-- Unavailable      something needed is not installed, reachable or allowed (exit 1)
|   +-- KeyMissing   the variable with a service's key is not set (exit 1)
+-- CeilingReached   a limit on money, tokens or time stopped the work (exit 5)
+-- ServiceRefused   the sign-in, the model or the account is refused, the client replaced, or a local server
                     not started, and stays so (exit 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt_replay.rollouts import Fault


class ReplayError(Exception):
    """An error shown to the user: what happened, what to do, and the exit code it ends with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Unavailable(ReplayError):
    """An agent, model or sandbox cannot be had; the hint says how to get it."""


class KeyMissing(Unavailable):
    """The variable that holds a service's key is not set."""


class CeilingReached(ReplayError):
    """The next call would pass a ceiling, so it was not started."""

    exit_code = 5


class ServiceRefused(ReplayError):
    """A call met a fault that waiting does not mend, so no other is started.

    `kind` is the kind of call in the ledger's words, `fault` what was refused.
    """

    def __init__(self, message: str, *, kind: str, fault: Fault, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.fault = fault
