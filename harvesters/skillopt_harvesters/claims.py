"""Which session owns a record: clients copy records when a session is forked or resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from skillopt_harvesters.marks import MarkSet, mark_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["Claims", "Copies", "MemoryClaims", "mark_of"]

# So many records are claimed at a time; bounds the memory of a file with very many.
_MANY = 1 << 15
# In a file with more records no more owners are looked up: what was copied stands at the beginning.
_LOOKED_UP = 100_000


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
        """Return the marks of all records a session claimed. Later claims do not change what was returned."""
        ...

    def claim(self, session: str, heads: Iterable[int], marks: Iterable[int]) -> None:
        """Add to what the session owns. A head that has an owner keeps it."""
        ...


class MemoryClaims:
    """Claims that last as long as the object."""

    def __init__(self) -> None:
        self._owners: dict[int, str] = {}
        self._marks: dict[str, MarkSet] = {}

    def owner_of(self, head: int) -> str | None:
        return self._owners.get(head)

    def marks_of(self, session: str) -> Collection[int]:
        return MarkSet(self._marks.get(session, ()))

    def claim(self, session: str, heads: Iterable[int], marks: Iterable[int]) -> None:
        for head in heads:
            self._owners.setdefault(head, session)
        self._marks.setdefault(session, MarkSet()).update(marks)


class Copies:
    """Asks claims about the heads of turns, and knows all records of the sessions that were copied from.

    `sessions` are those; hand them in again when a reading goes on. A record that comes twice in one file
    is seen once. `see` takes a mark and tells whether it is new in this file; `see_all` takes several, if
    all of them are.
    """

    def __init__(
        self, session: str, claims: Claims, *, copied_from: Iterable[str] = (), resumed: bool = False
    ) -> None:
        self.session = session
        self.sessions: dict[str, None] = {}
        self._claims = claims
        known = claims.marks_of(session)
        # A file that is read anew claims nothing twice.
        self._claimed: Collection[int] = () if resumed else known
        self._seen = MarkSet(known if resumed else ())
        self.see: Callable[[int], bool] = self._seen.add
        self.see_all: Callable[[list[int]], bool] = self._seen.add_new
        self._heads: list[int] = []
        self._marks: list[int] = []
        self._foreign: list[Collection[int]] = []
        # Whether the record before was a copy; a reading that goes on may do so among copies.
        self._copying = False
        # Behind what was read of a file before, a fork may have been harvested with more of it.
        self._going_on = resumed or bool(known)
        for other in copied_from:
            self._add(other)
        self._copying = bool(self._foreign)

    def has_seen(self, mark: int) -> bool:
        """Tell whether the record came before in this file, as far as is remembered."""
        return mark in self._seen

    def is_copy(self, mark: int) -> bool:
        """Tell whether the record is one of a session that was copied from; else it is the session's own.

        Where the copies end, inside a turn, another session's may begin: the first record behind them is a
        head as well.
        """
        if self._foreign:
            for marks in self._foreign:
                if mark in marks:
                    self._copying = True
                    return True
            if self._copying:
                self._copying = False
                return self.opens_copy(mark)
        if self._going_on and self._is_brought(mark):
            return self.opens_copy(mark)
        self.own([mark])
        return False

    def opens_copy(self, head: int) -> bool:
        """Tell whether the record that opens a turn is a copy, looking its owner up."""
        if len(self._seen) > _LOOKED_UP:
            return self.is_copy(head)
        owner = self._claims.owner_of(head)
        if owner is not None and owner != self.session:
            self._add(owner)
            self._copying = True
            return True
        self._copying = False
        if self.is_copy(head):
            return True
        if owner is None:
            self._heads.append(head)
        return False

    def are_own(self, marks: list[int], heads: Iterable[int]) -> bool:
        """Tell whether no record is a copy, and then take them all; `heads` are those that open turns."""
        if self._foreign or (self._going_on and any(map(self._is_brought, marks))):
            return False
        if len(self._seen) > _LOOKED_UP:
            heads = ()
        owners = [(head, self._claims.owner_of(head)) for head in heads]
        if any(owner is not None and owner != self.session for _, owner in owners):
            return False
        self._heads += [head for head, owner in owners if owner is None]
        self.own(marks)
        return True

    @property
    def owns_all(self) -> bool:
        """Whether every record that comes now is the session's own."""
        return not (self._foreign or self._going_on)

    def _is_brought(self, mark: int) -> bool:
        """Tell whether the first record that was not read before is one a fork came with in the meantime."""
        if not self._going_on or mark in self._claimed or len(self._seen) > _LOOKED_UP:
            return False
        owner = self._claims.owner_of(mark)
        self._going_on = owner is not None and owner != self.session
        return self._going_on

    def own(self, marks: list[int]) -> None:
        """Take records for the session's own."""
        claimed = self._claimed
        self._marks += [mark for mark in marks if mark not in claimed] if claimed else marks
        if len(self._marks) >= _MANY:
            self.settle()

    def settle(self) -> None:
        """Claim what turned out to be the session's own."""
        if self._heads or self._marks:
            self._claims.claim(self.session, self._heads, self._marks)
            self._heads, self._marks = [], []

    def _add(self, session: str) -> None:
        if session not in self.sessions:
            self.sessions[session] = None
            self._foreign.append(self._claims.marks_of(session))
