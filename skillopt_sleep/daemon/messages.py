"""What the daemon's one thread of decisions is told by all the others."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from skillopt_sleep.watching import Update


class Tick(msgspec.Struct, frozen=True):
    """It is time to ask whether a night is due."""


class Look(msgspec.Struct, frozen=True):
    """It is time to see whether the user asked for something."""


class Indexed(msgspec.Struct, frozen=True):
    """The transcripts were looked at."""

    update: Update


class Trouble(msgspec.Struct, frozen=True):
    """The transcripts cannot be looked at, and why; it is tried again."""

    message: str


class Notice(msgspec.Struct, frozen=True):
    """Something worth a line in the log."""

    message: str


class NightEnded(msgspec.Struct, frozen=True):
    """The night's process ended: `code` is as of a subprocess, `said` its error."""

    code: int
    said: str


class Reload(msgspec.Struct, frozen=True):
    """The settings are to be read anew."""


class Stop(msgspec.Struct, frozen=True):
    """The daemon is to end."""

    why: str


Message: TypeAlias = "Tick | Look | Indexed | Trouble | Notice | NightEnded | Reload | Stop"
