"""How far a file was read, and whether it changed since: unchanged files are not opened."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from skillopt_harvesters.sources.base import Marks, Reading, hash_prefix, stat_file

if TYPE_CHECKING:
    from pathlib import Path


class FileCursor(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a file that was read. `offset` is the byte after the last whole record.

    `prefix_hash` covers the first 4 KiB and the last 1 KiB before the offset, so that a file that was
    written anew under the same name is noticed. `session` and `state` are for going on at the offset.
    """

    path: str
    inode: int
    size: int
    mtime_ns: int
    offset: int
    prefix_hash: str
    session: str = ""
    state: bytes = b""


class Change(str, Enum):
    """What happened to a file since its cursor was made."""

    NEW = "new"
    UNCHANGED = "unchanged"
    APPENDED = "appended"
    REWRITTEN = "rewritten"
    GONE = "gone"


def changed(path: Path, cursor: FileCursor | None, marks: Marks | None = None) -> Change:
    """Compare a file with its cursor. Opens it only when its size, time or inode differ.

    `marks` are the file's own unless given. Raises OSError when the file is there but cannot be read.
    """
    try:
        now = marks or stat_file(path)
    except FileNotFoundError:
        return Change.GONE
    if cursor is None:
        return Change.NEW
    if now == Marks(cursor.inode, cursor.size, cursor.mtime_ns):
        return Change.UNCHANGED
    if now.inode != cursor.inode or now.size <= cursor.size or now.size < cursor.offset:
        return Change.REWRITTEN
    try:
        with path.open("rb", buffering=0) as file:
            same = hash_prefix(file, cursor.offset) == cursor.prefix_hash
    except FileNotFoundError:
        return Change.GONE
    return Change.APPENDED if same else Change.REWRITTEN


def make_cursor(path: Path, marks: Marks, file: BinaryIO, reading: Reading | None) -> FileCursor:
    """Return the cursor of an open file. `marks` were taken before reading, so that growth is not missed."""
    offset = reading.offset if reading else 0
    return FileCursor(
        path=str(path),
        inode=marks.inode,
        size=marks.size,
        mtime_ns=marks.mtime_ns,
        offset=offset,
        prefix_hash=hash_prefix(file, offset),
        session=reading.session.id if reading and reading.session else "",
        state=reading.state if reading else b"",
    )
