"""How often the held-out tasks of a skill were looked at, and which sealed ones are spent."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_gate.sealed import Looks


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The looks at a skill's held-out tasks.

    `opened` are the sealed tasks that were ever replayed, and `last` those of the last look.
    """

    looks: Looks
    opened: tuple[str, ...] = ()
    last: tuple[str, ...] = ()


def read_looks(connection: sqlite3.Connection, place: str) -> Seen:
    """Return the looks at the held-out tasks of the skill that lives at `place`."""
    row = connection.execute("select body from looks where place = ?", (place,)).fetchone()
    return msgspec.msgpack.decode(row["body"], type=Seen) if row else Seen(looks=Looks(split=""))


def save_looks(connection: sqlite3.Connection, place: str, seen: Seen) -> None:
    """Keep the looks."""
    connection.execute(
        "insert or replace into looks (place, body) values (?, ?)", (place, msgspec.msgpack.encode(seen))
    )


def count_look(connection: sqlite3.Connection, place: str) -> None:
    """Count a night's look at the gate tasks."""
    seen = read_looks(connection, place)
    save_looks(connection, place, msgspec.structs.replace(seen, looks=seen.looks.look()))
