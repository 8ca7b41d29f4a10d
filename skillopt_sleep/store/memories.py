"""What the training of a skill leaves to the next night: notes, and the skill it began with."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.clock import now


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """What a night leaves: `notes` are the meta skill, `skill` is what was in force when it began."""

    notes: str = ""
    skill: Skill | None = None


def save_learned(connection: sqlite3.Connection, place: str, learned: Learned) -> None:
    """Keep what a night leaves for the skill at this place, instead of what another left."""
    connection.execute(
        "insert or replace into memories (place, at, body) values (?, ?, ?)",
        (place, now(), msgspec.msgpack.encode(learned)),
    )


def read_learned(connection: sqlite3.Connection, place: str) -> Learned:
    """Return what the last night left for the skill at this place; nothing when none did."""
    row = connection.execute("select body from memories where place = ?", (place,)).fetchone()
    return msgspec.msgpack.decode(row["body"], type=Learned) if row else Learned()
