"""Folders in the environment and in a client's settings, as people write them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def split_folders(value: str | None, home: Path) -> tuple[Path, ...]:
    """Return the folders in a value: one, or several between commas or the system's path separator.

    `~` is the home folder. A relative folder means another one wherever the client is started, so nobody can
    tell which: it is left out, as is what can be no path.
    """
    if value is None or not value.strip():
        return ()
    whole = expand(value, home)
    if whole is not None and _is_there(whole):
        return (whole,)
    parts = [part for piece in value.split(",") for part in piece.split(os.pathsep)]
    return unique(folder for part in parts if (folder := expand(part, home)) is not None)


def expand(value: str, home: Path) -> Path | None:
    """Return the absolute path a value stands for; None when it stands for none."""
    text = value.strip()
    if not can_be_path(text):
        return None
    if text == "~" or text.startswith(("~/", "~" + os.sep)):
        return home / text[2:].lstrip("/" + os.sep)
    path = Path(text)
    return path if path.is_absolute() else None


def find_base(env: Mapping[str, str], variable: str, default: Path) -> Path:
    """Return a base folder of the XDG specification, which ignores values that are not absolute."""
    value = env.get(variable, "").strip()
    return Path(value) if can_be_path(value) and Path(value).is_absolute() else default


def can_be_path(value: str) -> bool:
    """Tell whether a value can be the name of a file at all."""
    try:
        return bool(value) and "\0" not in value and bool(os.fsencode(value))
    except UnicodeEncodeError:
        return False


def unique(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders without those that come twice."""
    return tuple(dict.fromkeys(folders))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
