"""What a service is, whoever runs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

NAME = "skillopt-sleep"
DESCRIPTION = "SkillOpt-Sleep: learns overnight from what you asked your coding agents"
# In every file of ours, so that a file of somebody else's is never taken for one.
MARK = "Written by skillopt-sleep install"
DAEMON, TIMER = "daemon", "timer"
MODES = (DAEMON, TIMER)
# How often a timer asks whether a night is due, in minutes.
EVERY_MINUTES = 30


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and how: `command` begins with an absolute path, `folder` and `log` are absolute too.

    In the mode `daemon` the command runs all the time; in `timer` it is started now and then, and ends.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    mode: str = DAEMON


class Manager(Protocol):
    """A system's manager of services. What it does raises AppError with what to do.

    `enable` is called when the files lie in place; `changed` tells whether they did not before. `disable`
    forgets the service, running or not, before its files go.
    """

    name: str

    def write(self, service: Service) -> dict[Path, bytes]: ...

    def enable(self, mode: str, *, changed: bool) -> None: ...

    def disable(self, mode: str) -> None: ...

    def forget(self) -> None: ...

    def start(self, mode: str) -> None: ...

    def stop(self, mode: str) -> None: ...

    def describe(self, mode: str) -> str: ...

    def advise(self, mode: str) -> tuple[str, ...]: ...

    def log_command(self, lines: int, *, follow: bool) -> tuple[str, ...] | None: ...


def find_program(
    arguments: Sequence[str], *, exists: Callable[[Path], bool] = Path.is_file, python: str | None = None
) -> tuple[str, ...]:
    """Return the command line that runs this very installation: its script, else its Python."""
    python = os.path.abspath(python or sys.executable)  # noqa: PTH100 - a link into an environment stays one
    script = Path(python).with_name(NAME)
    if exists(script):
        return (str(script), *arguments)
    return (python, "-m", "skillopt_sleep", *arguments)
