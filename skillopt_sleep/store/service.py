"""What the daemon keeps in the database: its schedule, how each window went, and what it is asked to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from skillopt_sleep.clock import now
from skillopt_sleep.store.database import transaction

T = TypeVar("T")

_SCHEDULE = "schedule"
_TELLING = "telling"


class WindowRow(msgspec.Struct, frozen=True, kw_only=True):
    """One window that is over: `window` is the local date it began on."""

    window: str
    state: str
    reason: str
    at: str


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Something the daemon is asked to do."""

    id: int
    name: str
    argument: str
    at: str


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon is doing, in a sentence, and since when; for `status`."""

    doing: str
    since: str
    waiting: str = ""


def read_schedule(connection: sqlite3.Connection, kind: type[T]) -> T | None:
    """Return the schedule as it was kept last, None when none was or it cannot be read any more."""
    return _read(connection, _SCHEDULE, kind)


def save_schedule(
    connection: sqlite3.Connection, schedule: object, outcomes: Iterable[tuple[str, str, str]] = ()
) -> None:
    """Keep the schedule, and (window, state, reason) of windows that ended; what is known of one stays."""
    with transaction(connection):
        _save(connection, _SCHEDULE, schedule)
        connection.executemany(
            "insert or ignore into windows (window, state, reason, at) values (?, ?, ?, ?)",
            [(*outcome, now()) for outcome in outcomes],
        )


def read_telling(connection: sqlite3.Connection) -> Telling | None:
    """Return what the daemon said last."""
    return _read(connection, _TELLING, Telling)


def save_telling(connection: sqlite3.Connection, telling: Telling) -> None:
    _save(connection, _TELLING, telling)


def read_windows(connection: sqlite3.Connection, limit: int, *, until: str) -> list[WindowRow]:
    """Return the latest windows, newest first, none after a day: the clock may have been ahead."""
    rows = connection.execute(
        "select * from windows where window <= ? order by window desc limit ?", (until, limit)
    )
    return [WindowRow(**dict(row)) for row in rows]


def ask(connection: sqlite3.Connection, name: str, argument: str = "") -> int:
    """Ask the daemon to do something; whoever can write the database is the user. Returns the id."""
    cursor = connection.execute(
        "insert into commands (name, argument, at) values (?, ?, ?)", (name, argument, now())
    )
    return int(cursor.lastrowid or 0)


def has_commands(connection: sqlite3.Connection) -> bool:
    """Tell whether anything is asked that was not taken, without writing."""
    row = connection.execute("select exists (select 1 from commands where taken is null)").fetchone()
    return bool(row[0])


def read_commands(connection: sqlite3.Connection) -> list[Command]:
    """Return what was asked and not taken yet, oldest first."""
    rows = connection.execute(
        "select id, name, argument, at from commands where taken is null order by id"
    ).fetchall()
    return [Command(**dict(row)) for row in rows]


def take_commands(connection: sqlite3.Connection, last: int) -> None:
    """Remember that what was asked was done, up to an id."""
    with transaction(connection):
        connection.execute("update commands set taken = ? where taken is null and id <= ?", (now(), last))
        # They are told of no more.
        connection.execute("delete from commands where taken is not null and id <= ?", (last - 100,))


def is_taken(connection: sqlite3.Connection, command: int) -> bool:
    """Tell whether the daemon has taken what it was asked."""
    row = connection.execute("select taken from commands where id = ?", (command,)).fetchone()
    return row is None or row["taken"] is not None


def forget_command(connection: sqlite3.Connection, command: int) -> None:
    """Take back what was asked, as nobody is there to do it."""
    connection.execute("delete from commands where id = ? and taken is null", (command,))


def _read(connection: sqlite3.Connection, name: str, kind: type[T]) -> T | None:
    row = connection.execute("select body from memos where name = ?", (name,)).fetchone()
    try:
        return None if row is None else msgspec.json.decode(row["body"], type=kind)
    except msgspec.DecodeError:
        return None


def _save(connection: sqlite3.Connection, name: str, value: object) -> None:
    connection.execute(
        "insert into memos (name, body) values (?, ?) on conflict (name) do update set body = excluded.body",
        (name, msgspec.json.encode(value)),
    )
