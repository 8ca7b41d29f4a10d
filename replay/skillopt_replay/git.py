"""Runs git so that nothing of the user's settings, hooks or environment takes part."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from skillopt_replay import process
from skillopt_replay.errors import ReplayError, Unavailable

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 600.0


class GitFailed(ReplayError):
    """git ended with an error; the message holds the end of what it wrote."""


async def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git in `folder` and return what it printed. Raises GitFailed, or Unavailable without git."""
    finished = await _run(folder, arguments, stdin)
    if finished.returncode != 0:
        said = finished.stderr.strip()[-500:] or f"ended with {finished.returncode}"
        raise GitFailed(f"git {arguments[0]}: {'out of time' if finished.timed_out else said}")
    return finished.stdout.strip()


async def ask_git(folder: Path, *arguments: str) -> str | None:
    """Return what git printed, or None when it said no."""
    finished = await _run(folder, arguments, b"")
    return finished.stdout.strip() if finished.returncode == 0 else None


async def _run(folder: Path, arguments: tuple[str, ...], stdin: bytes) -> process.Finished:
    # None of the caller's GIT_* variables, no user or system configuration, no hooks, no large files.
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    options = ("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
    try:
        return await process.run(
            ["git", *options, *arguments], cwd=folder, env=env, seconds=SECONDS, stdin=stdin
        )
    except FileNotFoundError as error:
        if shutil.which("git") is None:
            raise Unavailable("git is not installed", hint="install git") from error
        raise GitFailed(f"git {arguments[0]}: {folder} is gone") from error
