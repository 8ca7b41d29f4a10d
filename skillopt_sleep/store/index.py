"""Sessions and file cursors in the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

import msgspec

from skillopt_harvesters import files
from skillopt_harvesters.records import Session

# Goes up when sessions are read otherwise than before: then files are read once more, and a new reading
# always replaces an old one's. What the clients have deleted since stays as it was read.
READER = 9

_session = msgspec.msgpack.Decoder(Session)
_SAVE_SESSION = (
    "insert into sessions (client, id, kind, project, started, ended, path, body, reader)"
    " values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " on conflict (client, id) do update set kind = excluded.kind, project = excluded.project,"
    " started = excluded.started, ended = excluded.ended, path = excluded.path, body = excluded.body,"
    " reader = excluded.reader"
)


def save_session(connection: sqlite3.Connection, session: Session, *, reader: int = READER) -> None:
    """Insert the session, or replace what an earlier harvest read of it."""
    save_sessions(connection, [pack_session(session, reader=reader)])


def pack_session(session: Session, *, reader: int = READER) -> tuple[str | int | bytes | None, ...]:
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
        reader,
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
    return None if row is None else unpack_session(row["body"])


def unpack_session(body: bytes) -> Session | None:
    """Return None for what another version of this program stored in a way that cannot be read."""
    try:
        return _session.decode(body)
    except msgspec.DecodeError:
        return None


def is_gone(session: Session) -> bool:
    """Tell whether the client deleted the transcript the session was read from."""
    return files.is_gone(session.path)


def read_sessions(connection: sqlite3.Connection, *, kind: str | None = None) -> Iterator[Session]:
    """Yield the sessions by start, oldest first, one at a time."""
    where, values = ("where kind = ?", (kind,)) if kind else ("", ())
    query = f"select body from sessions {where} order by started is null, started, id"  # noqa: S608
    for row in connection.execute(query, values):
        session = unpack_session(row["body"])
        if session is not None:
            yield session


def read_folders(connection: sqlite3.Connection, *, kind: str) -> list[str]:
    """Return the folders that sessions of this kind began in."""
    query = "select distinct project from sessions where kind = ? and project is not null order by project"
    return [row["project"] for row in connection.execute(query, (kind,))]
