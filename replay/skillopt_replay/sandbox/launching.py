"""The command line of the launcher, which starts a run and watches over it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import skillopt_replay.launcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.sandbox.reach import Endpoint

_PROGRAM = Path(skillopt_replay.launcher.__file__).with_name("__main__.py")
# Its own program, kept from everything the user has set for Python.
LAUNCHER = (sys.executable, "-I", "-S", str(_PROGRAM))
_FAILURES = ("bwrap: ", "sandbox: ", "sandbox-exec: ")


def find_failure(stderr: str) -> str | None:
    """Return what the sandbox said when it could not be made, from a run that ended badly."""
    return next((line for line in stderr.splitlines()[:3] if line.startswith(_FAILURES)), None)


def launch(
    argv: Sequence[str], *, mode: str = "", reach: Sequence[Endpoint] = (), show: Sequence[str] = ()
) -> list[str]:
    """Return the command line that starts `argv` by the launcher; `mode` as its module `command` tells."""
    command = [*LAUNCHER, "--parent", str(os.getpid())]
    if mode:
        command.append(mode)
    for endpoint in dict.fromkeys(reach):
        command += ["--reach", str(endpoint)]
    for file in show:
        command += ["--show", file]
    return [*command, "--", *argv]


def add_gate(argv: Sequence[str], place: str, *, is_alone: bool = False) -> list[str]:
    """Return the command line of a launcher that asks at `place` before it passes on a request.

    With `is_alone` it passes on what the program itself says, where it can see that, and nothing that the
    program's own commands do.

    Where no connection goes through the launcher, it is the same as before.
    """
    arguments = find_arguments(argv)
    own = arguments[: arguments.index("--")] if arguments else ()
    if not {"--inside", "--proxy"} & set(own):
        return list(argv)
    alone = ["--alone"] if is_alone and "--inside" in own else []
    return [*LAUNCHER, *own, "--gate", place, *alone, *argv[len(LAUNCHER) + len(own) :]]


def find_arguments(argv: Sequence[str]) -> Sequence[str] | None:
    """Return the launcher's arguments when `argv` starts one, else None."""
    head = len(LAUNCHER)
    return argv[head:] if tuple(argv[:head]) == LAUNCHER else None
