"""A database over the transcripts in a home, and all that it says."""

from __future__ import annotations

import sqlite3
from array import array
from pathlib import Path

import msgspec

from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Session
from skillopt_harvesters.sources.claude.context import Memory
from skillopt_sleep.night.harvesting import HarvestReport, update_index
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.index import read_sessions


class Index:
    """A database of its own over the transcripts in the private home."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path = path
        self.home = home
        self.connection = connect(path)

    def harvest(self) -> HarvestReport:
        return update_index(self.connection, {"HOME": str(self.home)})

    @property
    def sessions(self) -> dict[str, Session]:
        return {session.id: session for session in read_sessions(self.connection)}

    def dump(self) -> dict[str, object]:
        return dump(self.connection)


def dump(connection: sqlite3.Connection) -> dict[str, object]:
    """Return what all tables say; rows and pieces may lie in any order."""
    tables = {
        row["name"] for row in connection.execute("select name from sqlite_master where type = 'table'")
    }
    rows = {table: connection.execute(f"select * from {table}").fetchall() for table in tables}
    marks: dict[str, list[int]] = {}
    for row in rows.pop("marks"):
        marks.setdefault(row["session"], []).extend(array("q", row["marks"]))
    rows.pop("migrations")
    content: dict[str, object] = {"marks": {name: sorted(held) for name, held in marks.items()}}
    for table, found in rows.items():
        content[table] = sorted(
            (tuple(readable(key, row[key]) for key in row.keys()) for row in found),  # noqa: SIM118
            key=repr,
        )
    return content


def readable(key: str, value: object) -> object:
    if key == "state" and value:
        frozen, memory = msgspec.msgpack.decode(value, type=tuple[bytes, Memory])
        return msgspec.msgpack.decode(frozen, type=SessionDraft), memory
    return msgspec.msgpack.decode(value, type=Session) if key == "body" else value
