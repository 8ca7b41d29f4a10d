"""Tokens, each model call once, though clients tell them in up to three ways.

Newer ones write a receipt for every call. Older ones tell a message's output with the message, and totals
when the program ends: since the session began, or (1.0.32) since the program was started.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Tokens
from skillopt_harvesters.sources.copilot.records import Usage
from skillopt_harvesters.sources.loose import coerce
from skillopt_harvesters.tokens import Spent, add_tokens

_MESSAGE = "message "
_NOTHING = Tokens()


class Place(Protocol):
    """Where calls are counted: a turn or a session."""

    usage: dict[str, Spent]

    def count(self, call: str, tokens: Tokens) -> None: ...


class Ledger(msgspec.Struct):
    """What was counted.

    `counted` is all usage that the file tells, also of events that are another session's, and `at_start` what
    it was when the program was started last; `copied` is the last call that was another session's.
    """

    counted: Tokens = Tokens()
    at_start: Tokens = Tokens()
    copied: tuple[str, Tokens] = ("", Tokens())
    has_receipts: bool = False

    def start(self) -> None:
        """Note that the program was started, for a new session or to go on with one."""
        self.at_start = self.counted
        self.has_receipts = False

    def take_message(self, place: Place | None, key: str, output: int) -> None:
        """Count what a message of older clients tells. `place` is None for another session's."""
        if not self.has_receipts:
            self._count(place, _MESSAGE + key, Tokens(output=output))

    def take_receipt(self, session: SessionDraft, place: Place | None, key: str, usage: Usage) -> None:
        if not self.has_receipts:
            self.has_receipts = True
            self._forget_messages(session)
        self._count(place, key, tokens_of(usage))

    def take_totals(self, place: Place | None, key: str, total: Tokens) -> None:
        """Count what totals hold beyond the messages."""
        known = self.counted
        if total.output < known.output:
            known = subtract(known, self.at_start)
        missing = subtract(total, known)
        beyond = Tokens(*(max(0, value) for value in msgspec.structs.astuple(missing)))
        if beyond != Tokens():
            self._count(place, key, beyond)

    def add(self, spent: list[Tokens]) -> None:
        """Note receipts of calls that were told for the first time, and are counted."""
        self.counted = self.counted.plus(add_tokens(spent))

    def _count(self, place: Place | None, key: str, tokens: Tokens) -> None:
        """Count a call, or correct what was counted of it."""
        if place is not None:
            earlier: Tokens | None = place.usage.get(key)
            place.count(key, tokens)
            if earlier is None:
                self.counted = self.counted.plus(tokens)
                return
        else:
            earlier = self.copied[1] if self.copied[0] == key else _NOTHING
            self.copied = (key, tokens)
        self.counted = subtract(self.counted, earlier).plus(tokens)

    def _forget_messages(self, session: SessionDraft) -> None:
        """Drop what open turns counted by message: the receipts of the same calls say more."""
        for turn in session.turns:
            for key in [key for key in turn.usage if key.startswith(_MESSAGE)]:
                self.counted = subtract(self.counted, turn.usage.pop(key))


def tokens_of(usage: Usage) -> Tokens:
    """Return the client's numbers with the cache taken out of the input, so that the parts add up.

    The client's input includes what was read from and written to the cache, whichever service answered.
    Less input than cache was not counted like that, and stays as it is told.
    """
    whole, read = usage.input_tokens or 0, usage.cache_read_tokens or 0
    written = usage.cache_write_tokens or usage.cache_creation_input_tokens or 0
    fresh = whole - read - written if read + written <= whole else whole
    return Tokens(fresh, usage.output_tokens or 0, read, written)


def subtract(tokens: Tokens, other: Tokens) -> Tokens:
    """Return the difference, which may be negative."""
    return Tokens(
        tokens.input - other.input,
        tokens.output - other.output,
        tokens.cache_read - other.cache_read,
        tokens.cache_write - other.cache_write,
    )


def add_models(metrics: object) -> Tokens:
    """Return the sum over the models of a session's totals."""
    total = Tokens()
    for model in metrics.values() if isinstance(metrics, dict) else ():
        usage = model.get("usage") if isinstance(model, dict) else None
        if isinstance(usage, dict):
            total = total.plus(tokens_of(coerce(usage, Usage)))
    return total
