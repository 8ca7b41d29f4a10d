"""Tokens, each model call once, though clients tell them in up to three ways.

Newer ones write a receipt for every call. Older ones tell a message's output with the message, and totals
when the program ends: since the session began, or (1.0.32) since the program was started.
"""

from __future__ import annotations

import msgspec

from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Tokens
from skillopt_harvesters.sources.copilot.records import Usage
from skillopt_harvesters.sources.loose import coerce
from skillopt_harvesters.turns import TurnDraft

_MESSAGE = "message "


class Ledger(msgspec.Struct):
    """What was counted.

    `counted` is all that is the session's own, `at_start` what it was when the program was started last;
    `before` are the last totals of a session this one was copied from.
    """

    counted: Tokens = Tokens()
    at_start: Tokens = Tokens()
    before: Tokens = Tokens()
    has_receipts: bool = False

    def start(self) -> None:
        """Note that the program was started, for a new session or to go on with one."""
        self.at_start = self.counted
        self.has_receipts = False

    def count(self, session: SessionDraft, turn: TurnDraft | None, key: str, tokens: Tokens) -> None:
        """Count a call, or correct what was counted of it."""
        place = session if turn is None or turn.copied else turn
        earlier = place.usage.get(key, Tokens())
        self.counted = subtract(self.counted, earlier).plus(tokens)
        place.count(key, tokens)

    def take_message(self, session: SessionDraft, turn: TurnDraft, key: str, output: int) -> None:
        if not self.has_receipts:
            self.count(session, turn, _MESSAGE + key, Tokens(output=output))

    def take_receipt(self, session: SessionDraft, key: str, usage: Usage) -> None:
        if not self.has_receipts:
            self.has_receipts = True
            self._forget_messages(session)
        self.count(session, session.turn, key, tokens_of(usage))

    def take_totals(self, session: SessionDraft, key: str, total: Tokens) -> None:
        """Count for the session what the totals hold beyond the messages."""
        everything = self.counted.plus(self.before)
        known = everything if total.output >= everything.output else subtract(self.counted, self.at_start)
        missing = subtract(total, known)
        beyond = Tokens(*(max(0, value) for value in msgspec.structs.astuple(missing)))
        if beyond != Tokens():
            self.count(session, None, key, beyond)

    def _forget_messages(self, session: SessionDraft) -> None:
        """Drop what open turns counted by message: the receipts of the same calls say more."""
        for turn in session.turns:
            for key in [key for key in turn.usage if key.startswith(_MESSAGE)]:
                self.counted = subtract(self.counted, turn.usage.pop(key))


def tokens_of(usage: Usage) -> Tokens:
    return Tokens(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_read_tokens or 0,
        usage.cache_write_tokens or usage.cache_creation_input_tokens or 0,
    )


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
