"""Which session owns a record: clients copy records when a session is forked or resumed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class Claims(Protocol):
    """Remembers owners, in memory for one harvest or in a database. Sessions are named `client/id`.

    A *head* is the record that opens a turn: the prompt, or the first of an agent that goes on by itself. A
    *mark* is a record's id in eight bytes (`mark_of`). Heads say whose copy a turn is, marks which of its
    records are copies.
    """

    def owner_of(self, head: int) -> str | None:
        """Return the session that claimed the head first, None when it is new."""
        ...

    def marks_of(self, session: str) -> Collection[int]:
        """Return the marks of all records a session claimed."""
        ...

    def claim(self, session: str, heads: Iterable[int], marks: Iterable[int]) -> None:
        """Add to what the session owns. A head that has an owner keeps it."""
        ...


class MemoryClaims:
    """Claims that last as long as the object."""

    def __init__(self) -> None:
        self._owners: dict[int, str] = {}
        self._marks: dict[str, set[int]] = {}

    def owner_of(self, head: int) -> str | None:
        return self._owners.get(head)

    def marks_of(self, session: str) -> Collection[int]:
        return self._marks.get(session, set())

    def claim(self, session: str, heads: Iterable[int], marks: Iterable[int]) -> None:
        for head in heads:
            self._owners.setdefault(head, session)
        self._marks.setdefault(session, set()).update(marks)


def mark_of(record: str) -> int:
    """Return a record's id as a number below 2^63, the same in every process.

    Of a UUID of any version the first eight and the last seven digits are taken, of anything else a hash.
    """
    if len(record) == 36 and record[23] == "-":
        try:
            return int(record[:8] + record[29:], 16)
        except ValueError:
            pass
    digest = hashlib.blake2b(record.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


class Copies:
    """Asks claims about the heads of turns, and knows all records of the sessions that were copied from.

    `sessions` are those; hand them in again when a reading goes on. A record that comes twice in one file
    is seen once.
    """

    def __init__(
        self, session: str, claims: Claims, *, copied_from: Iterable[str] = (), resumed: bool = False
    ) -> None:
        self.session = session
        self.sessions: dict[str, None] = {}
        self._claims = claims
        self._seen: set[int] = set(claims.marks_of(session)) if resumed else set()
        self._heads: list[int] = []
        self._marks: list[int] = []
        self._foreign: list[Collection[int]] = []
        for other in copied_from:
            self._add(other)

    def see(self, mark: int) -> bool:
        """Tell whether the record is new in this file."""
        seen = self._seen
        before = len(seen)
        seen.add(mark)
        return len(seen) != before

    def is_copy(self, mark: int) -> bool:
        """Tell whether the record is one of a session that was copied from; else it is the session's own."""
        for marks in self._foreign:
            if mark in marks:
                return True
        self._marks.append(mark)
        return False

    def opens_copy(self, head: int) -> bool:
        """Tell whether the record that opens a turn is a copy, looking its owner up."""
        owner = self._claims.owner_of(head)
        if owner is not None and owner != self.session:
            self._add(owner)
            return True
        if self.is_copy(head):
            return True
        self._heads.append(head)
        return False

    def settle(self) -> None:
        """Claim what turned out to be the session's own."""
        self._claims.claim(self.session, self._heads, self._marks)
        self._heads, self._marks = [], []

    def _add(self, session: str) -> None:
        if session not in self.sessions:
            self.sessions[session] = None
            self._foreign.append(frozenset(self._claims.marks_of(session)))
