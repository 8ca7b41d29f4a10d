"""How far a file was read, and whether it changed since: unchanged files are not opened."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from skillopt_harvesters.files import is_gone
from skillopt_harvesters.sources.base import Marks, Reading, stat_file

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = 4096
_TAIL = 1024


class FileCursor(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a file that was read. `offset` is the byte after the last whole record.

    `prefix_hash` covers the first 4 KiB and the last 1 KiB before the offset, so that a file that was
    written anew under the same name is noticed. `session` and `state` are for going on at the offset;
    without a state the file is read in whole when it changes.
    """

    path: str
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int = 0
    offset: int
    prefix_hash: str
    session: str = ""
    state: bytes = b""

    @property
    def marks(self) -> Marks:
        """What tells that the file changed."""
        return Marks(self.inode, self.size, self.mtime_ns, self.ctime_ns)


class Cursors(Mapping[str, FileCursor]):
    """Cursors by path, in a store that can tell a file's marks without loading the rest."""

    @abstractmethod
    def marks_of(self, path: str) -> Marks | None:
        """Return what the file's marks were, None when it was never read."""

    @property
    def is_new(self) -> bool:
        """Whether no file was ever read: then none was given another name since."""
        return False

    def find_moved(self, inode: int, prefix_hash: str) -> list[FileCursor]:
        """Return cursors of files that had the inode, or of which what was read has this hash.

        A store that keeps none looks for none.
        """
        return []


class Change(str, Enum):
    """What happened to a file since its cursor was made."""

    NEW = "new"
    UNCHANGED = "unchanged"
    APPENDED = "appended"
    REWRITTEN = "rewritten"
    GONE = "gone"


def changed(path: Path, cursor: FileCursor | None, marks: Marks | None = None) -> Change:
    """Compare a file with its cursor. Opens it only when its size, times or inode differ.

    `marks` are the file's own unless given. Raises OSError when the file is there but cannot be read.
    """
    try:
        now = marks or stat_file(path)
        if cursor is None or now == cursor.marks:
            return compare(cursor, now, None)
        with path.open("rb", buffering=0) as file:
            return compare(cursor, now, file)
    except FileNotFoundError:
        return Change.GONE


def compare(cursor: FileCursor | None, now: Marks, file: BinaryIO | None) -> Change:
    """Compare the marks of an open file, and if need be its bytes, with its cursor."""
    if cursor is None:
        return Change.NEW
    if now == cursor.marks:
        return Change.UNCHANGED
    if is_touched(cursor, now):
        # Its rights or names changed, or somebody wrote it and set its time back.
        stands = file is not None and cursor.offset == now.size > 0 and is_prefix(file, cursor)
        return Change.UNCHANGED if stands else Change.REWRITTEN
    if file is None or not _may_have_grown(cursor, now):
        return Change.REWRITTEN
    return Change.APPENDED if is_prefix(file, cursor) else Change.REWRITTEN


def is_prefix(file: BinaryIO, cursor: FileCursor) -> bool:
    """Tell whether what was read of a file is what it begins with."""
    return hash_prefix(file, cursor.offset) == cursor.prefix_hash


def is_touched(cursor: FileCursor, now: Marks) -> bool:
    """Tell whether a file has its size and time still, but something about it changed."""
    return now.ctime_ns != cursor.ctime_ns and now == msgspec.structs.replace(
        cursor.marks, ctime_ns=now.ctime_ns
    )


def _may_have_grown(cursor: FileCursor, now: Marks) -> bool:
    return now.inode == cursor.inode and now.size > cursor.size and now.size >= cursor.offset


def find_moved(file: BinaryIO, cursors: Cursors, marks: Marks) -> Iterator[FileCursor]:
    """Yield the cursors of a file that was given its name since: one for each name it had before."""
    if cursors.is_new:
        return
    for cursor in cursors.find_moved(marks.inode, hash_prefix(file, marks.size)):
        is_read = 0 < cursor.offset <= marks.size and is_gone(cursor.path)
        if is_read and is_prefix(file, cursor):
            yield cursor


def make_cursor(path: Path, marks: Marks, file: BinaryIO, reading: Reading | None) -> FileCursor:
    """Return the cursor of an open file. `marks` were taken before reading, so that growth is not missed."""
    offset = reading.offset if reading else 0
    return FileCursor(
        path=str(path),
        inode=marks.inode,
        size=marks.size,
        mtime_ns=marks.mtime_ns,
        ctime_ns=marks.ctime_ns,
        offset=offset,
        prefix_hash=hash_prefix(file, offset),
        session=reading.session.id if reading and reading.session else "",
        state=reading.state if reading else b"",
    )


def hash_prefix(file: BinaryIO, offset: int) -> str:
    """Return the hash of the first 4 KiB and the last 1 KiB of the bytes before `offset`."""
    number = file.fileno()
    digest = hashlib.sha256(os.pread(number, min(_HEAD, offset), 0))
    digest.update(os.pread(number, min(_TAIL, offset), max(0, offset - _TAIL)))
    return digest.hexdigest()[:32]
