"""Runs git so that nothing of the user's settings, hooks or environment takes part."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from skillopt_replay import process
from skillopt_replay.bounds import Bounds
from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.folders import find_path

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 600.0
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_BOUNDS = Bounds(memory_bytes=4 << 30)
# A partial clone fetches by itself what it lacks, by a program that its own settings name.
_NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
SERVE = " ".join((*(f"{name}={value}" for name, value in _NO_TRANSPORT.items()), "git"))


class GitFailed(ReplayError):
    """git ended with an error; the message holds the end of what it wrote."""


async def run_git(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    seconds: float = SECONDS,
    keep_bytes: int = process.KEEP_BYTES,
    is_text: bool = True,
) -> str:
    """Run git in `folder` and return what it printed, without the white space around it if `is_text`.

    A list made with `-z` is returned as it is, with each byte of a name that is no UTF-8 as a lone surrogate,
    by which Python finds the file; `say_name` makes a name fit to be stored. Only `fetch` reaches other
    repositories, those on this machine; what it starts to serve them has to begin with SERVE. Raises
    GitFailed, also when a list is longer than `keep_bytes`, and Unavailable without git.
    """
    finished = await _run(folder, arguments, stdin, seconds, keep_bytes)
    if finished.returncode != 0:
        said = finished.stderr.strip()[-500:] or f"ended with {finished.returncode}"
        said = "out of time" if finished.timed_out else finished.excess or said
        raise GitFailed(f"git {_command(arguments)}: {said}")
    if finished.truncated and "-z" in arguments:
        raise GitFailed(f"git {_command(arguments)}: more than {keep_bytes} bytes of names")
    return finished.stdout.strip() if is_text and "-z" not in arguments else finished.stdout


async def ask_git(folder: Path, *arguments: str) -> str | None:
    """Return what git printed, or None when it said no."""
    finished = await _run(folder, arguments, b"", SECONDS, process.KEEP_BYTES)
    return finished.stdout.strip() if finished.returncode == 0 else None


async def _run(
    folder: Path, arguments: tuple[str, ...], stdin: bytes, seconds: float, keep_bytes: int
) -> process.Finished:
    # None of the caller's GIT_* variables, no user or system configuration, no hooks, no large files.
    env = {
        "PATH": find_path(),
        "LC_ALL": "C.UTF-8",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        **_NO_TRANSPORT,
    }
    if arguments[0] == "fetch":
        env["GIT_ALLOW_PROTOCOL"] = "file"
    options = ("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
    try:
        return await process.run(
            ["git", *options, *arguments],
            cwd=folder,
            env=env,
            seconds=seconds,
            stdin=stdin,
            keep_bytes=keep_bytes,
            # A name in a list has to lead to its file, whatever bytes it is made of.
            errors="surrogateescape" if "-z" in arguments else "replace",
            bounds=_BOUNDS,
        )
    except FileNotFoundError as error:
        if shutil.which("git") is None:
            raise Unavailable("git is not installed", hint="install git") from error
        raise GitFailed(f"git {_command(arguments)}: {folder} is gone") from error


def say_name(name: str) -> str:
    """Return the name of a file as text that can be stored and shown."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _command(arguments: tuple[str, ...]) -> str:
    words = iter(arguments)
    for word in words:
        if word == "-c":
            next(words)
        elif not word.startswith("-"):
            return word
    return ""
