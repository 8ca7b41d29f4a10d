"""Nights in the database: what was planned, how far it came, what came out."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from skillopt_sleep.clock import now, today
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.splits import save_splits


class NightRow(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is running, stopped (by a ceiling), done or failed; `worked` are the seconds of work on it.

    A night still running when nobody holds the lock was killed; the next run goes on with it.
    """

    id: str
    state: str
    started: str
    ended: str | None
    plan: bytes | None
    report: bytes | None
    worked: float = 0.0


def find_unfinished(connection: sqlite3.Connection) -> NightRow | None:
    """Return the night that was killed in the middle, if there is one. Ask only while holding the lock."""
    row = connection.execute(
        "select * from nights where state = 'running' order by started desc, id desc limit 1"
    ).fetchone()
    return NightRow(**dict(row)) if row else None


def begin_night(connection: sqlite3.Connection, plan: object, splits: Mapping[str, str]) -> NightRow:
    """Begin a night with its frozen plan and the sides of the split, all in one step."""
    with transaction(connection):
        name = _free_name(connection)
        connection.execute(
            "insert into nights (id, state, started, plan) values (?, 'running', ?, ?)",
            (name, now(), msgspec.msgpack.encode(plan)),
        )
        save_splits(connection, splits)
        return read_night(connection, name)


def read_night(connection: sqlite3.Connection, night: str) -> NightRow:
    """Return one night. Raises KeyError when there is none of that id."""
    row = connection.execute("select * from nights where id = ?", (night,)).fetchone()
    if row is None:
        raise KeyError(night)
    return NightRow(**dict(row))


def last_night(connection: sqlite3.Connection) -> NightRow | None:
    """Return the night begun last, or None. Trials, which spend as nights do, are none."""
    row = connection.execute(
        "select * from nights where state not like '%: %' order by started desc, id desc limit 1"
    ).fetchone()
    return NightRow(**dict(row)) if row else None


def read_work(connection: sqlite3.Connection, night: str) -> float:
    """Return the seconds of work on a night, or trial, over all processes that worked on it."""
    row = connection.execute("select worked from nights where id = ?", (night,)).fetchone()
    return float(row[0]) if row else 0.0


def save_work(connection: sqlite3.Connection, night: str, seconds: float) -> None:
    """Write down the seconds of work on a night."""
    connection.execute("update nights set worked = ? where id = ?", (seconds, night))


def find_last_done(connection: sqlite3.Connection) -> str | None:
    """Return when a night last ended with nothing left to do, a ceiling included; None when none did."""
    row = connection.execute("select max(ended) from nights where state in ('done', 'stopped')").fetchone()
    return None if row[0] is None else str(row[0])


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
