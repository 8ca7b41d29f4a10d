"""Sessions and file cursors in the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

import msgspec

from skillopt_gate.split import SIDES
from skillopt_harvesters.cursor import FileCursor
from skillopt_harvesters.records import Session

_session = msgspec.msgpack.Decoder(Session)
_cursor = msgspec.msgpack.Decoder(FileCursor)


def save_session(connection: sqlite3.Connection, session: Session) -> None:
    """Insert the session, or replace what an earlier harvest read of it."""
    connection.execute(
        "insert or replace into sessions (client, id, kind, project, started, ended, path, body)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session.client,
            session.id,
            session.kind.value,
            session.project,
            session.started,
            session.ended,
            session.path,
            msgspec.msgpack.encode(session),
        ),
    )


def read_session(connection: sqlite3.Connection, client: str, session: str) -> Session | None:
    """Return a session as it was stored last."""
    row = connection.execute(
        "select body from sessions where client = ? and id = ?", (client, session)
    ).fetchone()
    return None if row is None else _session.decode(row["body"])


def read_sessions(connection: sqlite3.Connection, *, kind: str | None = None) -> Iterator[Session]:
    """Yield the sessions by start, oldest first, one at a time."""
    where, values = ("where kind = ?", (kind,)) if kind else ("", ())
    query = f"select body from sessions {where} order by started is null, started, id"  # noqa: S608
    for row in connection.execute(query, values):
        yield _session.decode(row["body"])


def read_folders(connection: sqlite3.Connection, *, kind: str) -> list[str]:
    """Return the folders that sessions of this kind began in."""
    query = "select distinct project from sessions where kind = ? and project is not null order by project"
    return [row["project"] for row in connection.execute(query, (kind,))]


def count_sessions(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many sessions of each kind are known."""
    rows = connection.execute("select kind, count(*) n from sessions group by kind order by kind")
    return {row["kind"]: row["n"] for row in rows}


def read_splits(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the side of every task a night has looked at."""
    return {row["task"]: row["split"] for row in connection.execute("select task, split from splits")}


def save_splits(connection: sqlite3.Connection, splits: Mapping[str, str]) -> None:
    """Record the sides of tasks. A task may move to a side that has seen more of it, never back."""
    for task, side in splits.items():
        more_seen = SIDES[: SIDES.index(side)]
        connection.execute(
            "insert into splits values (?, ?) on conflict (task) do update set split = excluded.split"
            " where split not in (?, ?, ?)",
            (task, side, *more_seen, *("",) * (3 - len(more_seen))),
        )


def read_cursors(connection: sqlite3.Connection) -> dict[str, FileCursor]:
    """Return how far each known file was read, by path."""
    rows = connection.execute("select path, cursor from files")
    return {row["path"]: _cursor.decode(row["cursor"]) for row in rows}


def save_cursor(connection: sqlite3.Connection, cursor: FileCursor) -> None:
    """Record how far a file was read."""
    connection.execute(
        "insert or replace into files (path, cursor) values (?, ?)",
        (cursor.path, msgspec.msgpack.encode(cursor)),
    )
