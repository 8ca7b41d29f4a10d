"""Which turns stand: a session is a tree, and what the user left by going back was abandoned."""

from __future__ import annotations

import msgspec

from skillopt_harvesters.claims import mark_of
from skillopt_harvesters.drafts import SessionDraft

_ROOT = -1
_MAX_ENTRIES = 20_000


class Tree(msgspec.Struct):
    """Turns by number, and where each began.

    `ups` is the turn each turn goes on from, `places` its place among the session's own turns (-1 for
    another session's), `leaf` the turn the last entry belongs to. `turns` knows the turn of the latest
    entries, by the mark of their id.
    """

    ups: list[int] = []
    places: list[int] = []
    own: int = 0
    leaf: int = _ROOT
    turns: dict[int, int] = {}

    @property
    def latest(self) -> int:
        """The number of the turn that was opened last."""
        return len(self.ups) - 1

    def find(self, parent: str | None, *, has_id: bool) -> int:
        """Return the turn an entry goes on from, by the id of the entry before it.

        Entries without ids go on from one another; so does one whose parent is not known.
        """
        if not has_id:
            return self.leaf
        return _ROOT if parent is None else self.turns.get(mark_of(parent), self.leaf)

    def knows(self, entry: str) -> bool:
        """Whether an entry with an id came before, as far as the latest ones tell."""
        return mark_of(entry) in self.turns

    def open(self, up: int, *, copied: bool) -> None:
        """Add a turn that goes on from another one."""
        self.ups.append(up)
        self.places.append(_ROOT if copied else self.own)
        self.own += not copied
        self.leaf = self.latest

    def pass_entry(self, entry: str | None, turn: int) -> None:
        """Note the turn an entry belongs to; the session stands there until the next one."""
        self.leaf = turn
        if entry is not None:
            self.turns[mark_of(entry)] = turn
            if len(self.turns) > _MAX_ENTRIES:
                del self.turns[next(iter(self.turns))]

    def mark_abandoned(self, session: SessionDraft) -> None:
        """Mark the turns that do not lead to the leaf, and only them."""
        standing = set()
        turn = self.leaf
        while turn not in standing and 0 <= turn < len(self.ups):
            standing.add(turn)
            turn = self.ups[turn]
        first_open = len(self.ups) - len(session.turns)
        for number, place in enumerate(self.places):
            abandoned = number not in standing
            if number >= first_open:
                session.turns[number - first_open].abandoned = abandoned
            elif 0 <= place < len(session.closed) and session.closed[place].abandoned != abandoned:
                session.closed[place] = msgspec.structs.replace(session.closed[place], abandoned=abandoned)
