"""Which of two readings of a session is kept, and what is told of the other."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.records import Session, Signal, Tokens, Turn
from skillopt_harvesters.richness import replaces

if TYPE_CHECKING:
    from skillopt_harvesters.resuming import Recall
    from skillopt_harvesters.sources.base import Source
    from skillopt_harvesters.stats import HarvestStats


class Keeper:
    """Counts the sessions that are kept in the stats of a harvest."""

    def __init__(self, stats: HarvestStats, recall: Recall) -> None:
        self._stats = stats
        self._recall = recall
        self._counted: dict[tuple[str, str], int] = {}

    def settle(self, source: Source, session: Session, goes_on: Session | None) -> Session | None:
        """Return what is to be stored of a session that was read; None when what is stored stays."""
        if goes_on is None and getattr(source, "takes_back", False):
            session = self._add_undone(session)
        return session if self._keeps(session, goes_on) else None

    def _keeps(self, session: Session, goes_on: Session | None) -> bool:
        """Count a session that was read, and tell whether it takes the place of what is stored of it."""
        stats = self._stats
        stored = goes_on or self._recall(session.client, session.id)
        if stored is None and _is_copy(session):
            return False
        known = stored if stored is not None and stored.path == session.path else None
        stats.skipped += max(session.skipped - (known.skipped if known else 0), 0)
        for warning in session.warnings:
            if known is None or warning not in known.warnings:
                stats.warn(f"{session.path}: {warning}")
        if goes_on is None and stored is not None:
            wins = replaces(session, stored)
            self._tell_lost(*((session, stored) if wins else (stored, session)), wins=wins)
            if not wins:
                return False
        key = (session.client, session.id)
        if key not in self._counted:
            stats.sessions += 1
        stats.turns += len(session.turns) - self._counted.get(key, 0)
        self._counted[key] = len(session.turns)
        return True

    def _add_undone(self, session: Session) -> Session:
        """Return a reading with what is stored of the session and its client has deleted since, as abandoned.

        A client that deletes what the user took back does so when they go on. As long as there is nothing
        new, or when records could not be read, what is missing may be damaged: the reading stays as it is.
        """
        stored = self._recall(session.client, session.id)
        if stored is None or stored.path != session.path or _is_damaged(session):
            return session
        places = {_name_of(turn): place for place, turn in enumerate(stored.turns)}
        there = {_name_of(turn) for turn in session.turns}
        gone = deque(turn for turn in stored.turns if _is_wanted(turn) and _name_of(turn) not in there)
        if there <= places.keys() and not all(turn.abandoned for turn in gone):
            return session
        turns: list[Turn] = []
        tokens = session.tokens
        for turn in (*session.turns, None):
            place = len(places) if turn is None else places.get(_name_of(turn), len(places))
            while gone and places[_name_of(gone[0])] < place:
                tokens = tokens.plus(gone[0].tokens)
                turns.append(msgspec.structs.replace(gone.popleft(), abandoned=True))
            turns += [turn] if turn else []
        return msgspec.structs.replace(session, turns=tuple(turns), tokens=tokens)

    def _tell_lost(self, kept: Session, other: Session, *, wins: bool) -> None:
        """Warn when another file with the same id, or one that was emptied, holds what is not kept."""
        if set(other.prompts) <= set(kept.prompts):
            return
        if kept.path != other.path:
            self._stats.warn(
                f"{other.path}: its session {other.id} is also in {kept.path}, which holds more and is kept;"
                " prompts that are only here are left out"
            )
        elif not wins:
            self._stats.warn(
                f"{other.path}: it was written anew and held more before, which is kept;"
                " prompts that are only here now are left out"
            )
        elif set(other.prompts).isdisjoint(kept.prompts):
            self._stats.warn(f"{other.path}: it was emptied and begun anew; what it held before is left out")


def _is_copy(session: Session) -> bool:
    """Tell whether all there is in a session is another one's: its file was renamed, or forked just now."""
    return session.before is not None and not session.turns and session.tokens == Tokens()


def _is_damaged(session: Session) -> bool:
    return session.skipped > 0 or any(Signal.UNREAD in turn.signals for turn in session.turns)


def _is_wanted(turn: Turn) -> bool:
    return bool(turn.prompt or turn.command) and Signal.UNREAD not in turn.signals


def _name_of(turn: Turn) -> str:
    # Its words may have been read while the client was writing them.
    return turn.started or turn.prompt
