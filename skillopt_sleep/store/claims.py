"""Which session owns a transcript record: kept, so that copies in forks and resumes count once."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Collection, Iterable


class StoreClaims:
    """Claims that last as long as the database; memory does not grow with what was harvested."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def owner_of(self, head: int) -> str | None:
        row = self._connection.execute("select session from heads where head = ?", (head,)).fetchone()
        return None if row is None else str(row["session"])

    def marks_of(self, session: str) -> Collection[int]:
        known: set[int] = set()
        for row in self._connection.execute("select marks from marks where session = ?", (session,)):
            known.update(array("q", row["marks"]))
        return known

    def claim(self, session: str, heads: Iterable[int], marks: Iterable[int]) -> None:
        self._connection.executemany(
            "insert or ignore into heads values (?, ?)", ((head, session) for head in heads)
        )
        new = array("q", marks)
        if new:
            self._connection.execute("insert into marks values (?, ?)", (session, new.tobytes()))
