"""Asks that only ever follow another one: "sort the findings by severity" after each review.

Words that are never the first of a session, and always said after the same kind of ask, are no task of their
own: they say what was missing from the answer. Words that follow asks of any kind ("commit and push") are,
and so is every slash command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillopt_harvesters.asks import Occurrence


class Second(NamedTuple):
    """An ask, and the one before it in its session that may stand alone."""

    ask: Occurrence
    before: Occurrence


def find_seconds(occurrences: Sequence[Occurrence]) -> list[Second]:
    """Return the asks whose words begin no session and follow others in two or more."""
    sessions: dict[str, list[Occurrence]] = {}
    for one in occurrences:
        sessions.setdefault(one.session, []).append(one)
    begins: set[str] = set()
    follows: dict[str, set[str]] = {}
    for session, asks in sessions.items():
        asks.sort(key=lambda one: one.turn)
        begins.update(one.folded for one in asks if one is asks[0] or one.prompt.startswith("/"))
        for one in asks[1:]:
            follows.setdefault(one.folded, set()).add(session)
    second = {folded for folded, where in follows.items() if len(where) > 1} - begins
    found = []
    for asks in sessions.values():
        before = asks[0]
        for one in asks[1:]:
            if one.folded in second:
                found.append(Second(one, before))
            else:
                before = one
    return found


def find_refinements(seconds: Iterable[Second], kinds: Mapping[str, int]) -> set[str]:
    """Return the words of the seconds that always follow one kind of ask, given each wording's kind."""
    after: dict[str, set[int]] = {}
    for second in seconds:
        after.setdefault(second.ask.folded, set()).add(kinds[second.before.folded])
    return {folded for folded, kind in after.items() if len(kind) == 1}
