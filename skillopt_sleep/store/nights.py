"""Nights in the database: what was planned, how far it came, what came out."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from skillopt_sleep.clock import now, today
from skillopt_sleep.store.database import transaction


class NightRow(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is running, stopped (a ceiling; goes on), done or failed."""

    id: str
    state: str
    started: str
    ended: str | None
    plan: bytes | None
    report: bytes | None


def open_night(connection: sqlite3.Connection) -> tuple[NightRow, bool]:
    """Return the night to work on, and whether it goes on with an unfinished one."""
    with transaction(connection):
        row = connection.execute(
            "select * from nights where state in ('running', 'stopped') order by started desc, id desc limit 1"
        ).fetchone()
        if row:
            connection.execute("update nights set state = 'running' where id = ?", (row["id"],))
            return read_night(connection, row["id"]), True
        name = _free_name(connection)
        connection.execute("insert into nights (id, state, started) values (?, 'running', ?)", (name, now()))
        return read_night(connection, name), False


def read_night(connection: sqlite3.Connection, night: str) -> NightRow:
    """Return one night. Raises KeyError when there is none of that id."""
    row = connection.execute("select * from nights where id = ?", (night,)).fetchone()
    if row is None:
        raise KeyError(night)
    return NightRow(**dict(row))


def last_night(connection: sqlite3.Connection) -> NightRow | None:
    """Return the night begun last, or None."""
    row = connection.execute("select * from nights order by started desc, id desc limit 1").fetchone()
    return NightRow(**dict(row)) if row else None


def save_plan(connection: sqlite3.Connection, night: str, plan: object) -> None:
    """Freeze the plan: a resumed night works on exactly these tasks."""
    connection.execute("update nights set plan = ? where id = ?", (msgspec.msgpack.encode(plan), night))


def close_night(connection: sqlite3.Connection, night: str, state: str, report: Any) -> None:
    """Record how the night ended and its report."""
    connection.execute(
        "update nights set state = ?, ended = ?, report = ? where id = ?",
        (state, now(), msgspec.json.encode(report), night),
    )


def _free_name(connection: sqlite3.Connection) -> str:
    date = today()
    taken = {row["id"] for row in connection.execute("select id from nights where id like ? || '%'", (date,))}
    if date not in taken:
        return date
    return next(f"{date}-{n}" for n in range(2, len(taken) + 3) if f"{date}-{n}" not in taken)
