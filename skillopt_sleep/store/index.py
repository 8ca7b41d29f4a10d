"""Sessions and file cursors in the database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from skillopt_harvesters.cursor import Cursors, FileCursor
from skillopt_harvesters.records import Session
from skillopt_harvesters.sources.base import Marks

# Goes up when sessions are read otherwise than before, so that nothing an older reader found is kept for long.
READER = 1

_session = msgspec.msgpack.Decoder(Session)
_SAVE_SESSION = (
    "insert into sessions (client, id, kind, project, started, ended, path, body, reader)"
    " values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " on conflict (client, id) do update set kind = excluded.kind, project = excluded.project,"
    " started = excluded.started, ended = excluded.ended, path = excluded.path, body = excluded.body,"
    " reader = excluded.reader"
)
_SAVE_CURSOR = (
    "insert or replace into files (path, marks, offset, prefix_hash, session, gone, state)"
    " values (?, ?, ?, ?, ?, 0, ?)"
)


def save_session(connection: sqlite3.Connection, session: Session) -> None:
    """Insert the session, or replace what an earlier harvest read of it."""
    save_sessions(connection, [pack_session(session)])


def pack_session(session: Session) -> tuple[str | int | bytes | None, ...]:
    """Return the session's row."""
    return (
        session.client,
        session.id,
        session.kind.value,
        session.project,
        session.started,
        session.ended,
        session.path,
        msgspec.msgpack.encode(session),
        READER,
    )


def save_sessions(
    connection: sqlite3.Connection, rows: Iterable[tuple[str | int | bytes | None, ...]]
) -> None:
    """Insert or replace packed sessions."""
    connection.executemany(_SAVE_SESSION, rows)


def read_session(connection: sqlite3.Connection, client: str, session: str) -> Session | None:
    """Return a session as it was stored last; None when it is not known, or an older reader's."""
    row = connection.execute(
        "select body from sessions where client = ? and id = ? and reader = ?", (client, session, READER)
    ).fetchone()
    return None if row is None else _decode(row["body"])


def _decode(body: bytes) -> Session | None:
    """Return None for what another version of this program stored in a way that cannot be read."""
    try:
        return _session.decode(body)
    except msgspec.DecodeError:
        return None


def is_gone(session: Session) -> bool:
    """Tell whether the client deleted the transcript the session was read from."""
    return not os.path.lexists(session.path)


def read_sessions(connection: sqlite3.Connection, *, kind: str | None = None) -> Iterator[Session]:
    """Yield the sessions by start, oldest first, one at a time."""
    where, values = ("where kind = ?", (kind,)) if kind else ("", ())
    query = f"select body from sessions {where} order by started is null, started, id"  # noqa: S608
    for row in connection.execute(query, values):
        session = _decode(row["body"])
        if session is not None:
            yield session


def count_sessions(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many sessions of each kind are known."""
    rows = connection.execute("select kind, count(*) n from sessions group by kind order by kind")
    return {row["kind"]: row["n"] for row in rows}


def read_splits(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the side of every task a night has looked at."""
    return {row["task"]: row["split"] for row in connection.execute("select task, split from splits")}


def save_splits(connection: sqlite3.Connection, splits: Mapping[str, str]) -> None:
    """Record the sides of tasks. A train task stays one; a held-out task may become one, never back."""
    connection.executemany(
        "insert into splits values (?, ?) on conflict (task) do update set split = excluded.split"
        " where split = 'gate'",
        splits.items(),
    )


class StoreCursors(Cursors):
    """How far each known file was read, looked up one at a time. Files that are gone are not listed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def marks_of(self, path: str) -> Marks | None:
        row = self._connection.execute("select marks from files where path = ?", (path,)).fetchone()
        return None if row is None else _unpack_marks(row["marks"])

    def __getitem__(self, path: str) -> FileCursor:
        row = self._connection.execute("select * from files where path = ?", (path,)).fetchone()
        if row is None:
            raise KeyError(path)
        marks = _unpack_marks(row["marks"])
        return FileCursor(
            path=path,
            inode=marks.inode,
            size=marks.size,
            mtime_ns=marks.mtime_ns,
            offset=row["offset"],
            prefix_hash=row["prefix_hash"],
            session=row["session"],
            state=row["state"],
        )

    def __iter__(self) -> Iterator[str]:
        for row in self._connection.execute("select path from files where not gone"):
            yield row["path"]

    def __len__(self) -> int:
        count: int = self._connection.execute("select count(*) from files where not gone").fetchone()[0]
        return count


def save_cursors(connection: sqlite3.Connection, cursors: Iterable[FileCursor]) -> None:
    """Record how far files were read."""
    connection.executemany(
        _SAVE_CURSOR,
        (
            (
                cursor.path,
                # As text, since inodes and the times of clocks that jump may have more than 63 bits.
                f"{cursor.inode}:{cursor.size}:{cursor.mtime_ns}",
                cursor.offset,
                cursor.prefix_hash,
                cursor.session,
                cursor.state,
            )
            for cursor in cursors
        ),
    )


def forget_files(connection: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Record that files are gone. What was read of them stays; what was kept for going on does not."""
    connection.executemany(
        "update files set gone = 1, state = x'' where path = ?", ((path,) for path in paths)
    )


def _unpack_marks(text: str) -> Marks:
    inode, size, mtime = text.split(":")
    return Marks(int(inode), int(size), int(mtime))
