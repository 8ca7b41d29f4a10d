"""Which session owns a transcript record: kept, so that copies in forks and resumes count once."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable

from skillopt_harvesters.marks import MarkSet

# So many new claims are held in memory at most.
_MANY = 50_000
# So many pieces of a session's marks lie beside each other before they are put together.
_PIECES = 16
# Pieces of so many bytes are not put together any more.
_PIECE = 16 * 1024


class StoreClaims:
    """Claims that last as long as the database; memory does not grow with what was harvested.

    New claims are held until `write`, so that a harvest needs the database's write lock for moments only.
    `make_room` is called when there are too many of them to hold, and must lead to `write`.
    """

    def __init__(
        self, connection: sqlite3.Connection, *, make_room: Callable[[], None] | None = None
    ) -> None:
        self._connection = connection
        self._make_room = make_room or self.write
        self._heads: dict[int, str] = {}
        self._marks: dict[str, array[int]] = {}
        self._held = 0
        # In a first harvest all claims are this one's own: while they fit in memory nothing is looked up.
        self._all: dict[int, str] | None = None if self._has_any() else {}
        self._claimed: set[str] = set()

    def _has_any(self) -> bool:
        query = "select exists (select 1 from heads) or exists (select 1 from marks)"
        return bool(self._connection.execute(query).fetchone()[0])

    def owner_of(self, head: int) -> str | None:
        owner = self._heads.get(head)
        if owner is not None:
            return owner
        if self._all is not None:
            return self._all.get(head)
        row = self._connection.execute("select session from heads where head = ?", (head,)).fetchone()
        return None if row is None else str(row["session"])

    def marks_of(self, session: str) -> Collection[int]:
        known = MarkSet(self._marks.get(session, ()))
        if self._all is not None and session not in self._claimed:
            return known
        for row in self._connection.execute("select marks from marks where session = ?", (session,)):
            known.update(array("q", row["marks"]))
        return known

    def claim(self, session: str, heads: Iterable[int], marks: Iterable[int]) -> None:
        for head in heads:
            self._heads.setdefault(head, session)
            self._held += 1
        new = array("q", marks)
        if new:
            self._marks.setdefault(session, array("q")).extend(new)
            self._held += len(new)
        if self._held >= _MANY:
            self._make_room()

    def write(self) -> None:
        """Write what is held; call it inside a transaction."""
        # In order, so that the pages of the tree are visited once.
        self._connection.executemany("insert or ignore into heads values (?, ?)", sorted(self._heads.items()))
        rows = [(session, self._join(session, marks).tobytes()) for session, marks in self._marks.items()]
        self._connection.executemany("insert into marks values (?, ?)", rows)
        if self._all is not None:
            self._claimed.update(self._marks)
            self._all.update(self._heads)
            if len(self._all) > _MANY:
                self._all = None
        self._heads, self._marks, self._held = {}, {}, 0

    def _join(self, session: str, marks: array[int]) -> array[int]:
        """Return the marks to write: with the earlier ones, taken out, when those are many pieces."""
        if self._all is not None and session not in self._claimed:
            return marks
        query = "select count(*) pieces, sum(length(marks)) size from marks where session = ?"
        held = self._connection.execute(query, (session,)).fetchone()
        if held["pieces"] < _PIECES or held["size"] / held["pieces"] > _PIECE:
            return marks
        rows = self._connection.execute("select marks from marks where session = ?", (session,)).fetchall()
        self._connection.execute("delete from marks where session = ?", (session,))
        return array("q", b"".join(row["marks"] for row in rows)) + marks
