"""What only some sources can do, asked of any: see `Source`."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillopt_harvesters.sources.base import Source


def identify(source: Source, path: Path) -> str | None:
    """Return the id of the session in a file; None when the source has no session in each."""
    find: Callable[[Path], str] | None = getattr(source, "identify", None)
    return None if find is None else find(path)


def name_apart(source: Source, path: Path) -> str:
    """Return what a session is called when another one has its name; "" where names are never given twice."""
    name: Callable[[Path], str] | None = getattr(source, "name_apart", None)
    return name(path) if name else ""


def find_fork(source: Source, head: bytes, file: BinaryIO, path: Path) -> str | None:
    """Return when a fork began; None for what is none."""
    find: Callable[[bytes, BinaryIO, Path], str | None] | None = getattr(source, "find_fork", None)
    began = find(head, file, path) if find else None
    file.seek(0)
    return began


def find_damage(source: Source, head: bytes, path: Path) -> str:
    """Return why a file that was not recognised should have been; "" for one of another program."""
    find: Callable[[bytes, Path], str] | None = getattr(source, "find_damage", None)
    return find(head, path) if find else ""


def has_others(source: Source, path: Path) -> bool:
    """Tell whether other files hold the same session, which the source reads in the place of this one."""
    find: Callable[[Path], bool] | None = getattr(source, "has_others", None)
    return find is not None and find(path)
