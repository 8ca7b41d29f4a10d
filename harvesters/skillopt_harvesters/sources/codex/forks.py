"""Where a forked session begins: before that, its file repeats another one's history.

The copies carry the time of the fork, so a clock does not tell them from what follows. But the ids of newer
versions' turns hold the time they were made at (UUIDv7), and a turn that is older than the session is another
one's. Where no such id stands, the pause after the copying tells: a history is written in one go, and then
somebody has to type.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from skillopt_harvesters.sources.forks import UNDATED, find_time
from skillopt_harvesters.times import to_utc

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_PAUSE_MS = 500
_TURN = re.compile(rb'"turn_id":\s?"([0-9a-f-]{36})"')
_ORDINAL = re.compile(rb'\{"timestamp":"[^"]{0,40}","ordinal":(\d{1,18}),')
_TOLD = re.compile(rb'"forked_from_id":\s?"')


class Gate(msgspec.Struct):
    """Tells copied records from the session's own.

    `copying` is true while another session's history is repeated. In milliseconds since 1970, `born` is the
    session's beginning, `named` the same if its id says so, and `last` the time of the latest record. `dated`
    says that a turn's id with a time was seen. `first` is the ordinal of the session's first own record where
    the client says so: then nothing else ends the copies, whatever the clock did.
    """

    copying: bool = False
    born: int | None = None
    named: int | None = None
    last: int | None = None
    dated: bool = False
    first: int | None = None

    def begin(self, session: str, time: str | int | float | None) -> None:
        """Note when the session began: its id says, else the time that was written."""
        self.named = made_at(session)
        self.born = self.named or to_ms(time)

    def pass_line(self, line: bytes) -> bool:
        """Look at a line before it is taken; true when the copies end before it."""
        if not self.copying or self.first is None:
            return False
        ordinal = _ORDINAL.match(line)
        if ordinal is None:
            self.first = None
            return False
        self.copying = int(ordinal[1]) < self.first
        return not self.copying

    def pass_time(self, time: str | int | float | None) -> bool:
        """Look at the time of a record that is about to be taken; true when the copies end before it."""
        now = to_ms(time) if self.copying and self.first is None else None
        # Copies carry the time of the fork or a later one; what is older came in from elsewhere.
        if now is None or (self.named is not None and now < self.named - _PAUSE_MS):
            return False
        if not self.dated and self.last is not None and now - self.last >= _PAUSE_MS:
            self.copying = False
        self.last = now
        return not self.copying

    def pass_turn(self, turn: str | None, started: float | None = None) -> bool:
        """Look at the id of a turn, and when it started in seconds; true when the copies end with it."""
        if not self.copying or self.born is None or self.first is not None:
            return False
        made = made_at(turn or "")
        if made is not None:
            self.dated = True
            self.copying = made < self.born
        elif started is not None:
            # In whole seconds: the very second of the fork may be either's.
            self.copying = started <= self.born // 1000
        return not self.copying


def made_at(name: str) -> int | None:
    """Return the time in a UUIDv7, in milliseconds since 1970; None for any other id."""
    return int(name[:8] + name[9:13], 16) if _UUID7.fullmatch(name) else None


def to_ms(time: str | int | float | None) -> int | None:
    """Return a written time in milliseconds since 1970."""
    text = to_utc(time)
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000) if text else None


def find_fork(head: bytes, session: str) -> str | None:
    """Return when a session began whose file says that it is a fork, or begins with an older turn."""
    own = made_at(session)
    # A pattern takes many times as long to come to where it may begin.
    turn = _TURN.search(head, max(head.find(b'"turn_id"'), 0))
    made = made_at(turn[1].decode()) if turn else None
    if not (b'"forked_from_id"' in head and _TOLD.search(head)) and (
        own is None or made is None or made >= own
    ):
        return None
    return to_utc(own) or find_time(head) or UNDATED
