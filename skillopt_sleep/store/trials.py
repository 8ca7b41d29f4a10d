"""Trials: runs outside a night that spend through the same ledger, such as a calibration.

They are rows among the nights, since every call belongs to one; their state names the kind of trial.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from skillopt_sleep.clock import now, today
from skillopt_sleep.store.database import transaction


def begin_trial(connection: sqlite3.Connection, kind: str, plan: object) -> str:
    """Return the id of a trial with this plan: of the one that was cut off, if there is one, else a new one.

    Ask only while holding the lock.
    """
    blob = msgspec.msgpack.encode(plan)
    with transaction(connection):
        row = connection.execute(
            "select id from nights where state = ? and plan = ?", (f"{kind}: running", blob)
        ).fetchone()
        if row:
            return str(row["id"])
        stem = f"{kind}-{today()}"
        known = connection.execute(
            "select count(*) from nights where id = ? or id like ? || '.%'", (stem, stem)
        ).fetchone()[0]
        name = f"{stem}.{known + 1}" if known else stem
        connection.execute(
            "insert into nights (id, state, started, plan) values (?, ?, ?, ?)",
            (name, f"{kind}: running", now(), blob),
        )
    return name


def end_trial(connection: sqlite3.Connection, trial: str, kind: str, report: Any) -> None:
    """Record how it ended."""
    connection.execute(
        "update nights set state = ?, ended = ?, report = ? where id = ?",
        (f"{kind}: done", now(), msgspec.json.encode(report), trial),
    )


def is_running(connection: sqlite3.Connection, kind: str, plan: object) -> bool:
    """Say whether a trial with this plan was begun and not ended."""
    row = connection.execute(
        "select 1 from nights where state = ? and plan = ?",
        (f"{kind}: running", msgspec.msgpack.encode(plan)),
    ).fetchone()
    return row is not None
