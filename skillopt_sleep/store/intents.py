"""The journal of decisions: what is about to be done, written down first, so that a killed one is settled."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_sleep.clock import now
from skillopt_staging.proposals import Applied


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on `proposal` that was begun: `action` is apply, revert or reject.

    `applied` is what was about to be written; `hunks` and `text` are what apply was asked for.
    """

    proposal: str
    action: str
    who: str
    applied: Applied | None = None
    hunks: tuple[int, ...] | None = None
    text: str | None = None
    reason: str = ""


def save_intent(connection: sqlite3.Connection, intent: Intent) -> None:
    """Write the intent down, in place of any earlier one for the same proposal."""
    connection.execute(
        "insert or replace into intents (proposal, at, body) values (?, ?, ?)",
        (intent.proposal, now(), msgspec.msgpack.encode(intent)),
    )


def read_intents(connection: sqlite3.Connection) -> list[Intent]:
    """Return the decisions that were begun and neither recorded nor given up."""
    rows = connection.execute("select body from intents order by at, proposal")
    return [msgspec.msgpack.decode(row["body"], type=Intent) for row in rows]


def forget_intent(connection: sqlite3.Connection, proposal: str) -> None:
    """Take the intent out of the journal: the decision is recorded, or was given up."""
    connection.execute("delete from intents where proposal = ?", (proposal,))
