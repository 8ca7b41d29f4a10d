"""Running the manager's own commands."""

from __future__ import annotations

import subprocess

from skillopt_sleep.errors import AppError

_TIMEOUT_S = 90.0


class Told(AppError):
    """A command of the manager failed, and what it said."""


def call(*command: str, hint: str = "") -> str:
    """Run a command and return what it printed. Raises Told."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Told(f"cannot run {command[0]}: {error}", hint=hint) from error
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split()) or f"exit status {done.returncode}"
        raise Told(f"{' '.join(command)}: {said}", hint=hint)
    return done.stdout
