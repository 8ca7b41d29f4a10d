"""All candidates ever measured, in the order of their first run: what family control counts."""

from __future__ import annotations

import sqlite3

from skillopt_gate.family import Family
from skillopt_sleep.store.database import transaction


def count_in(connection: sqlite3.Connection, candidate: str, identity: str) -> int:
    """Return the candidate's place in the family, from 1; the first call gives it the next one.

    Evidence that starts anew with another agent or model is a new test, so it has a place of its own.
    """
    with transaction(connection):
        row = connection.execute(
            "select place from family where candidate = ? and identity = ?", (candidate, identity)
        ).fetchone()
        if row:
            return int(row["place"])
        # Inserting what is there already would use up a place.
        added = connection.execute(
            "insert into family (candidate, identity) values (?, ?)", (candidate, identity)
        )
    return int(added.lastrowid or 0)


def note_accepted(connection: sqlite3.Connection, place: int) -> None:
    """Note that the candidate at this place was accepted."""
    connection.execute("update family set accepted = 1 where place = ?", (place,))


def read_family(connection: sqlite3.Connection) -> Family:
    """Return the family as the gate takes it."""
    started = connection.execute("select coalesce(max(place), 0) from family").fetchone()[0]
    rows = connection.execute("select place from family where accepted order by place")
    return Family(started=started, accepted=tuple(row["place"] for row in rows))
