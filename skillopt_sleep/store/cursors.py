"""How far each transcript file was read, in the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from skillopt_harvesters.cursor import Cursors, FileCursor
from skillopt_harvesters.sources.base import Marks
from skillopt_sleep.store.index import READER

_SAVE = (
    "insert or replace into files (path, marks, offset, prefix_hash, session, gone, state, reader)"
    " values (?, ?, ?, ?, ?, 0, ?, ?)"
)
_FIND = "select * from files where reader = ? and"
# So many files with one inode, or one beginning, are looked at.
_MANY = 16


class StoreCursors(Cursors):
    """How far each known file was read, looked up one at a time. Files that are gone are not listed.

    What an older reader of this program's read is as if it had never been.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._is_new = not connection.execute("select exists (select 1 from files)").fetchone()[0]

    @property
    def is_new(self) -> bool:
        return self._is_new

    def marks_of(self, path: str) -> Marks | None:
        if self._is_new:
            return None
        query = "select marks from files where path = ? and reader = ?"
        row = self._connection.execute(query, (path, READER)).fetchone()
        return None if row is None else _unpack_marks(row["marks"])

    def __getitem__(self, path: str) -> FileCursor:
        row = self._connection.execute(f"{_FIND} path = ?", (READER, path)).fetchone()
        if row is None:
            raise KeyError(path)
        return _unpack(row)

    def find_moved(self, inode: int, prefix_hash: str) -> list[FileCursor]:
        like = (READER, f"{inode}:", f"{inode};", _MANY)
        rows = self._connection.execute(f"{_FIND} marks > ? and marks < ? limit ?", like).fetchall()
        begun = (READER, prefix_hash, _MANY)
        rows += self._connection.execute(f"{_FIND} prefix_hash = ? limit ?", begun).fetchall()
        return list(map(_unpack, rows))

    def __iter__(self) -> Iterator[str]:
        for row in self._connection.execute("select path from files where not gone"):
            yield row["path"]

    def __len__(self) -> int:
        count: int = self._connection.execute("select count(*) from files where not gone").fetchone()[0]
        return count


def save_cursors(connection: sqlite3.Connection, cursors: Iterable[FileCursor]) -> None:
    """Record how far files were read."""
    connection.executemany(
        _SAVE,
        (
            (
                cursor.path,
                # As text, since inodes and the times of clocks that jump may have more than 63 bits.
                f"{cursor.inode}:{cursor.size}:{cursor.mtime_ns}:{cursor.ctime_ns}",
                cursor.offset,
                cursor.prefix_hash,
                cursor.session,
                cursor.state,
                READER,
            )
            for cursor in cursors
        ),
    )


def forget_files(connection: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Record that files are gone. What was read of them stays; what was kept for going on does not."""
    connection.executemany(
        "update files set gone = 1, state = x'' where path = ?", ((path,) for path in paths)
    )


def _unpack(row: sqlite3.Row) -> FileCursor:
    marks = _unpack_marks(row["marks"])
    return FileCursor(
        path=row["path"],
        inode=marks.inode,
        size=marks.size,
        mtime_ns=marks.mtime_ns,
        ctime_ns=marks.ctime_ns,
        offset=row["offset"],
        prefix_hash=row["prefix_hash"],
        session=row["session"],
        state=row["state"],
    )


def _unpack_marks(text: str) -> Marks:
    return Marks(*map(int, text.split(":")))
