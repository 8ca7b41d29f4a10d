"""A session while it is being read; common to all clients.

A source opens turns in file order and closes the session at the end. Only the last two turns are open: what
came before is closed and redacted, so that memory holds a session's digest. `freeze` and `thaw` carry a
draft over to the harvest that reads what was appended.
"""

from __future__ import annotations

import msgspec

from skillopt_harvesters.records import Kind, Session, Tokens, Turn
from skillopt_harvesters.turns import TurnDraft, add_tokens

MAX_TURNS = 20_000
MAX_WARNINGS = 20
_MAX_NAMES = 100
_OPEN = 2


class SessionDraft(msgspec.Struct):
    """A session being read. Its fields are what is carried over; `closed` is taken from the stored session.

    `parents` says at which turn each parent record was answered, `copied` which closed turns are another
    session's, `previous` is the last closed turn.
    """

    id: str
    client: str
    path: str
    client_version: str = ""
    kind: Kind = Kind.HUMAN
    project: str | None = None
    branch: str | None = None
    commit: str | None = None
    model: str | None = None
    parent: str | None = None
    started: str | None = None
    ended: str | None = None
    turns: list[TurnDraft] = []
    usage: dict[str, Tokens] = {}
    counted: Tokens = Tokens()
    skills_offered: dict[str, None] = {}
    warnings: list[str] = []
    bad: int = 0
    overlong: int = 0
    unknown: dict[str, int] = {}
    left_out: int = 0
    closed_turns: int = 0
    copied: list[int] = []
    parents: dict[str, int] = {}
    previous: Turn | None = None
    before: Turn | None = None
    closed: list[Turn] = []

    @property
    def turn(self) -> TurnDraft | None:
        """The turn that is going on."""
        return self.turns[-1] if self.turns else None

    def see(self, time: str | None) -> None:
        """Stretch the session's times; records come in file order, their clocks may run backwards."""
        if time:
            self.started = time if self.started is None else min(self.started, time)
            self.ended = time if self.ended is None else max(self.ended, time)

    def open_turn(self, turn: TurnDraft) -> TurnDraft:
        """Add a turn, unless it repeats the last prompt before the agent did anything with it.

        A prompt under the same parent as an earlier one means the user went back: what came between was
        abandoned.
        """
        last = self.turn
        if (
            last
            and last.is_untouched
            and not last.signals
            and (last.prompt, last.command) == (turn.prompt, turn.command)
        ):
            return last
        if turn.parent is not None:
            number = self.closed_turns + len(self.turns)
            earlier = self.parents.get(turn.parent)
            if earlier is not None:
                self._abandon(earlier)
            self.parents[turn.parent] = number
        self.turns.append(turn)
        if len(self.turns) > _OPEN:
            self._close_turn(self.turns.pop(0))
        return turn

    def abandon_last(self, count: int) -> None:
        """Mark the last turns that still stand as abandoned: the user went back behind them."""
        for turn in reversed(self.turns):
            if count and not (turn.abandoned or turn.copied):
                turn.abandoned = True
                count -= 1
        for place in range(len(self.closed) - 1, -1, -1):
            if not count or self.left_out:
                return
            if not self.closed[place].abandoned:
                self.closed[place] = msgspec.structs.replace(self.closed[place], abandoned=True)
                count -= 1

    def _abandon(self, first: int) -> None:
        copied = set(self.copied)
        place = first - sum(number < first for number in copied)
        for number in range(first, self.closed_turns):
            if number not in copied and place < len(self.closed):
                self.closed[place] = msgspec.structs.replace(self.closed[place], abandoned=True)
                place += 1
        for turn in self.turns[max(0, first - self.closed_turns) :]:
            turn.abandoned = True

    def _close_turn(self, draft: TurnDraft) -> None:
        turn = draft.close(self.previous)
        self.previous = turn
        if draft.calls_left_out:
            self.warn(f"{draft.calls_left_out} tool calls of a turn with very many were left out")
        if draft.copied:
            self.copied.append(self.closed_turns)
            self.before = turn
        elif len(self.closed) < MAX_TURNS:
            self.closed.append(turn)
        else:
            self.left_out += 1
            self.counted = self.counted.plus(turn.tokens)
        self.closed_turns += 1

    def count(self, call: str, tokens: Tokens) -> None:
        """Count a model call that belongs to no turn, or correct what was counted of it."""
        self.usage[call] = tokens
        if len(self.usage) > _MAX_NAMES:
            self.counted = self.counted.plus(self.usage.pop(next(iter(self.usage))))

    def meet_unknown(self, name: str) -> None:
        """Count a record of a type that is not known."""
        key = name[:80] if name[:80] in self.unknown or len(self.unknown) < _MAX_NAMES else "(others)"
        self.unknown[key] = self.unknown.get(key, 0) + 1

    def warn(self, text: str) -> None:
        if len(self.warnings) < MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def freeze(self) -> bytes:
        """Return what the next reading needs beside the closed session; all of its text is redacted."""
        for turn in self.turns:
            turn.redact()
        return msgspec.msgpack.encode(msgspec.structs.replace(self, closed=[]))

    @classmethod
    def thaw(cls, state: bytes, session: Session) -> SessionDraft | None:
        """Return the draft of a stored session to go on with; None when the two do not fit together."""
        try:
            draft = msgspec.msgpack.decode(state, type=cls)
        except (msgspec.DecodeError, RecursionError):
            return None
        kept = min(draft.closed_turns - len(draft.copied), MAX_TURNS)
        still_open = sum(not turn.copied for turn in draft.turns)
        if (draft.client, draft.id) != (session.client, session.id):
            return None
        if len(session.turns) != kept + still_open:
            return None
        draft.closed = list(session.turns[:kept])
        return draft

    def close(self) -> Session:
        """Return the session as it is so far; the draft stays as it was."""
        closed, before, previous = list(self.closed), self.before, self.previous
        warnings = list(self.warnings)
        for draft in self.turns:
            turn = draft.close(previous)
            previous = turn
            if draft.copied:
                before = turn
            else:
                closed.append(turn)
        tokens = add_tokens([self.counted, *self.usage.values(), *(turn.tokens for turn in closed)])
        return Session(
            id=self.id,
            client=self.client,
            client_version=self.client_version,
            kind=self.kind,
            path=self.path,
            project=self.project,
            branch=self.branch,
            commit=self.commit,
            model=self.model,
            parent=self.parent,
            started=self.started,
            ended=self.ended,
            turns=tuple(closed),
            before=before,
            tokens=tokens,
            skills_offered=tuple(self.skills_offered),
            skipped=self.bad + self.overlong + sum(self.unknown.values()) + self.left_out,
            warnings=tuple(warnings + self._describe_losses()),
        )

    def _describe_losses(self) -> list[str]:
        told = []
        if self.overlong:
            told.append(f"{self.overlong} lines too long to be records were skipped")
        if self.bad:
            told.append(f"{self.bad} lines are not readable records")
        if self.unknown:
            names = ", ".join(sorted(self.unknown)[:5])
            told.append(f"{sum(self.unknown.values())} records of unknown types were skipped: {names}")
        if self.left_out:
            told.append(f"{self.left_out} turns beyond the first {MAX_TURNS} were left out")
        return told
