"""How far a file was read, and whether it changed since: unchanged files are not opened."""

from __future__ import annotations

import hashlib
import os
from enum import Enum
from typing import TYPE_CHECKING, BinaryIO

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = 4096
_TAIL = 1024


class FileCursor(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a file that was read. `offset` is the byte after the last whole record.

    `prefix_hash` covers the first 4 KiB and the last 1 KiB before the offset, so that a file that was
    written anew under the same name is noticed.
    """

    path: str
    inode: int
    size: int
    mtime_ns: int
    offset: int
    prefix_hash: str


class Change(str, Enum):
    """What happened to a file since its cursor was made."""

    NEW = "new"
    UNCHANGED = "unchanged"
    APPENDED = "appended"
    REWRITTEN = "rewritten"
    GONE = "gone"


def changed(path: Path, cursor: FileCursor | None) -> Change:
    """Compare a file with its cursor. Opens it only when its size, time or inode differ.

    Raises OSError when the file is there but cannot be read.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return Change.GONE
    if cursor is None:
        return Change.NEW
    if _marks(status) == (cursor.inode, cursor.size, cursor.mtime_ns):
        return Change.UNCHANGED
    if status.st_ino != cursor.inode or status.st_size <= cursor.size or status.st_size < cursor.offset:
        return Change.REWRITTEN
    try:
        with path.open("rb", buffering=0) as file:
            same = hash_prefix(file, cursor.offset) == cursor.prefix_hash
    except FileNotFoundError:
        return Change.GONE
    return Change.APPENDED if same else Change.REWRITTEN


def make_cursor(path: Path, status: os.stat_result, file: BinaryIO, offset: int) -> FileCursor:
    """Return the cursor of an open file. `status` was taken before reading, so that growth is not missed."""
    inode, size, mtime_ns = _marks(status)
    return FileCursor(
        path=str(path),
        inode=inode,
        size=size,
        mtime_ns=mtime_ns,
        offset=offset,
        prefix_hash=hash_prefix(file, offset),
    )


def hash_prefix(file: BinaryIO, offset: int) -> str:
    """Return the hash of the first 4 KiB and the last 1 KiB of the bytes before `offset`."""
    file.seek(0)
    digest = hashlib.sha256(file.read(min(_HEAD, offset)))
    file.seek(max(0, offset - _TAIL))
    digest.update(file.read(min(_TAIL, offset)))
    return digest.hexdigest()[:32]


def _marks(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns
