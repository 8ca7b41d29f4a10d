"""A session while it is being read; common to all clients.

A source opens turns in file order and closes the session at the end. Only the last two turns are open, and
those before them that wait for the result of a call: what came before is closed and redacted, so that memory
holds a session's digest. `freeze` and `thaw` carry a draft over to the harvest that reads what was appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import clip, keep_id, redact_folder, redact_name
from skillopt_harvesters.losses import describe_losses
from skillopt_harvesters.marks import mark_of
from skillopt_harvesters.records import Kind, Session, Signal, Tokens, Turn
from skillopt_harvesters.redact import redact, redact_ends
from skillopt_harvesters.tokens import (
    MAX_OPEN_CALLS,
    Counts,
    Spent,
    add_tokens,
    bound,
    bound_all,
    exchange,
    fold,
)
from skillopt_harvesters.turns import MAX_PROMPT, TurnDraft
from skillopt_harvesters.workdirs import name_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TURNS = 20_000
# Characters that the turns of a session hold; what comes after is left out and told.
MAX_SIZE = 8 * 1024 * 1024
MAX_WARNINGS = 20
_MAX_NAME = 200
_MAX_NAMES = 100
_MAX_TYPE = 80
# Ids are made so; that alone is no secret.
_BY_CHANCE = "[redacted:random]"
_MAX_SKILLS = 1_000
_MAX_SETTLED = 256
_MAX_PATH = 4_096
_TURN_SIZE = 400
_CALL_SIZE = 200
_OPEN = 2
_NOTHING = Tokens()
# Prompts may be queued while a tool runs: a turn that waits for a result stays open behind so many others,
# and so many characters of calls.
_MAX_OPEN = 32
_MAX_WAITING = 1024 * 1024


class SessionDraft(msgspec.Struct):
    """A session being read. Its fields are what is carried over; `closed` is taken from the stored session.

    `closed` are the session's own turns that have ended, `kept` their number, `size` their characters.
    `parents` says by the mark of a record which turn answered it and where among the own ones that stands.
    `settled` are the latest model calls of turns that have ended, by id, with the place of the turn (-1: left
    out), for a client that sets `tells_again`: it may correct them later.
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
    rewound: str | None = None
    started: str | None = None
    ended: str | None = None
    turns: list[TurnDraft] = []
    usage: dict[str, Spent] = {}
    counted: Tokens = Tokens()
    settled: dict[str, tuple[int, Spent]] = {}
    tells_again: bool = False
    skills_offered: dict[str, None] = {}
    warnings: list[str] = []
    bad: int = 0
    overlong: int = 0
    unknown: dict[str, int] = {}
    left_out: int = 0
    calls_left_out: int = 0
    closed_turns: int = 0
    parents: dict[int, tuple[int, int]] = {}
    before: Turn | None = None
    closed: list[Turn] = []
    kept: int = 0
    size: int = 0

    @property
    def turn(self) -> TurnDraft | None:
        """The turn that is going on."""
        return self.turns[-1] if self.turns else None

    def see(self, time: str | None) -> None:
        """Stretch the session's times; records come in file order, their clocks may run backwards."""
        if time:
            self.started = time if self.started is None else min(self.started, time)
            self.ended = time if self.ended is None else max(self.ended, time)

    def open_turn(self, turn: TurnDraft, *, is_first: bool = False) -> TurnDraft:
        """Add a turn, unless it repeats the last prompt before the agent did anything with it.

        A prompt under the same parent as an earlier one means the user went back: what came between was
        abandoned. So does one that the client calls the first.
        """
        last = self.turn
        if last and last.is_untouched and not last.signals:
            if _is_repeated(last, turn):
                return last
            if turn.command and _is_repeated(last, _as_typed(turn)):
                # Claude Code 2.1.240 to 2.1.300 tells `/compact` as it was typed, then as a command.
                last.command, last.prompt = turn.command, turn.prompt
                return last
        turn.number = self._next
        if is_first:
            self._abandon(0, 0)
        if turn.parent is not None:
            place = len(self.closed)
            for other in self.turns:
                place += not other.copied
            self.go_back_to(turn.parent)
            if place < MAX_TURNS:
                self.parents[mark_of(turn.parent)] = (turn.number, place)
        return self._add_turn(turn)

    def open_aside(self, turn: TurnDraft) -> TurnDraft:
        """Add a turn for what the user did while the agent worked: the last turn goes on behind it."""
        last = self.turns.pop()
        turn.number, last.number = last.number, last.number + 1
        self._add_turn(turn)
        self._add_turn(last)
        return turn

    def go_back_to(self, record: str) -> None:
        """Abandon what came behind a record, if a prompt has answered it."""
        earlier = self.parents.get(mark_of(record))
        if earlier is not None:
            self._abandon(*earlier)

    def go_on_by_itself(self, started: str | None) -> TurnDraft:
        """Add a turn without a prompt for what the session did in a turn that is another session's.

        A fork that was harvested first owns the prompt, but not what its original went on to do.
        """
        return self._add_turn(TurnDraft(typed=False, started=started, number=self._next))

    def miss_prompt(self, started: str | None, *, copied: bool = False) -> TurnDraft:
        """Add a turn whose prompt was lost: its answer is not that of the turn before."""
        turn = TurnDraft(typed=False, started=started, copied=copied, number=self._next)
        turn.signals.add(Signal.UNREAD)
        return self._add_turn(turn)

    @property
    def _next(self) -> int:
        return self.closed_turns + len(self.turns)

    def _add_turn(self, turn: TurnDraft) -> TurnDraft:
        self.turns.append(turn)
        while len(self.turns) > _OPEN and not self._must_wait():
            self._close_turn(self.turns.pop(0))
        return turn

    def _must_wait(self) -> bool:
        """Tell whether the oldest open turn may yet get the result of a call."""
        if len(self.turns) > _MAX_OPEN or not self.turns[0].is_waiting:
            return False
        return sum([turn.size for turn in self.turns]) <= _MAX_WAITING

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

    def _abandon(self, number: int, place: int) -> None:
        for at in range(place, len(self.closed)):
            self.closed[at] = msgspec.structs.replace(self.closed[at], abandoned=True)
        for turn in self.turns:
            turn.abandoned = turn.abandoned or turn.number >= number

    def _close_turn(self, draft: TurnDraft) -> None:
        self.closed_turns += 1
        self.calls_left_out += draft.calls_left_out
        if not draft.copied and (len(self.closed) >= MAX_TURNS or self.size > MAX_SIZE):
            self.left_out += 1
            if draft.usage or draft.counted != _NOTHING:
                self.counted = self.counted.plus(draft.tokens)
                self._settle(bound_all(draft.usage), -1)
            return
        turn = draft.close()
        if draft.copied:
            self.before = turn
            return
        self.size += _measure(turn)
        self.closed.append(turn)
        self._settle(draft.usage, len(self.closed) - 1)

    def _settle(self, usage: dict[str, Spent], place: int) -> None:
        """Remember the latest model calls of a turn that has ended, if they may be told once more."""
        if usage and self.tells_again:
            self.settled.update((call, (place, tokens)) for call, tokens in usage.items())
            for call in list(self.settled)[:-_MAX_SETTLED]:
                del self.settled[call]

    def count(self, call: str, counts: Counts) -> None:
        """Count a model call that belongs to no turn, or correct what was counted of it."""
        self.usage[keep_id(call)] = counts  # type: ignore[assignment]  # `redact` makes them so
        if len(self.usage) >= 2 * MAX_OPEN_CALLS:
            self.counted = fold(self.usage, self.counted)

    def correct(self, call: str, counts: Counts) -> bool:
        """Correct a model call of a turn that has ended; False when it is not known (any more)."""
        found = self.settled.get(call)
        if found is None:
            return False
        (place, before), now = found, bound(counts)
        if place < 0:
            self.counted = exchange(self.counted, before, now)
        else:
            turn = self.closed[place]
            tokens = exchange(turn.tokens, before, now)
            self.closed[place] = msgspec.structs.replace(turn, tokens=tokens)
        self.settled[call] = (place, now)
        return True

    def meet_unknown(self, name: str) -> None:
        """Count a record of a type that is not known."""
        key = redact_name(name)[:_MAX_TYPE]
        if key not in self.unknown and len(self.unknown) >= _MAX_NAMES:
            key = "(others)"
        self.unknown[key] = self.unknown.get(key, 0) + 1

    def warn(self, text: str) -> None:
        text = redact(text)
        if len(self.warnings) < MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def offer_skills(self, names: Iterable[str]) -> None:
        """Note skills that were on offer."""
        for name in names:
            if len(self.skills_offered) < _MAX_SKILLS:
                self.skills_offered[clip(name, _MAX_NAME)] = None

    def finish(self) -> tuple[Session, bytes]:
        """Return the session as it is so far and what the next reading needs beside it, all redacted."""
        self.redact()
        return self._build(), self._freeze()

    def close(self) -> Session:
        """Return the session as it is so far."""
        self.redact()
        return self._build()

    def freeze(self) -> bytes:
        """Return what the next reading needs beside the closed session; all of its text is redacted."""
        self.redact()
        return self._freeze()

    def redact(self) -> None:
        """Redact and bound everything in place; doing it again changes nothing."""
        for turn in self.turns:
            turn.redact()
        self.client_version = redact_name(self.client_version)
        # Grouped by and gone to, so that all of a harmless one must stay.
        self.project = self.project and redact_folder(name_folder(self.project))[:_MAX_PATH]
        self.commit = self.commit and redact_folder(self.commit)[:_MAX_PATH]
        self.parent = self.parent and _redact_id(self.parent)
        self.rewound = self.rewound and _redact_id(self.rewound)
        self.branch = self.branch and redact_name(self.branch)
        self.model = self.model and redact_name(self.model)
        self.skills_offered = {redact_name(name): None for name in self.skills_offered}
        self.usage = bound_all(self.usage)

    def _freeze(self) -> bytes:
        turns = [turn if turn.copied else turn.without_calls() for turn in self.turns]
        carried = msgspec.structs.replace(self, closed=[], kept=len(self.closed), turns=turns)
        return msgspec.msgpack.encode(carried)

    @classmethod
    def thaw(cls, state: bytes, session: Session) -> SessionDraft | None:
        """Return the draft of a stored session to go on with; None when the two do not fit together."""
        try:
            draft = msgspec.msgpack.decode(state, type=cls)
        except (msgspec.DecodeError, RecursionError):
            return None
        still_open = [turn for turn in draft.turns if not turn.copied]
        if (draft.client, draft.id) != (session.client, session.id):
            return None
        if len(session.turns) != draft.kept + len(still_open):
            return None
        if not all(map(TurnDraft.restore_calls, still_open, session.turns[draft.kept :])):
            return None
        draft.closed = list(session.turns[: draft.kept])
        return draft

    def _build(self) -> Session:
        closed, before = list(self.closed), self.before
        for draft in self.turns:
            turn = draft.build()
            if draft.copied:
                before = turn
            else:
                closed.append(turn)
        tokens = add_tokens([self.counted, *self.usage.values(), *[turn.tokens for turn in closed]])
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
            rewound=self.rewound,
            started=self.started,
            ended=self.ended,
            turns=tuple(closed),
            before=before,
            tokens=tokens,
            skills_offered=tuple(self.skills_offered),
            skipped=self.bad + self.overlong + sum(self.unknown.values()) + self.left_out,
            warnings=(*self.warnings, *self._describe_losses()),
        )

    def _describe_losses(self) -> list[str]:
        return describe_losses(
            overlong=self.overlong,
            bad=self.bad,
            unknown=self.unknown,
            turns=self.left_out,
            first=len(self.closed),
            calls=self.calls_left_out + sum(turn.calls_left_out for turn in self.turns),
        )


def _redact_id(session: str) -> str:
    redacted = redact_folder(session)
    return session if redacted == _BY_CHANCE else redacted[:_MAX_PATH]


def _is_repeated(last: TurnDraft, turn: TurnDraft) -> bool:
    """Tell whether a turn has the prompt of the last one, which may have been redacted since."""
    # A fork may begin with the prompt that the session it copies ends with.
    if last.command != turn.command or last.copied != turn.copied:
        return False
    if last.prompt == turn.prompt:
        return True
    is_other = "[redacted:" in last.prompt or len(turn.prompt) > MAX_PROMPT
    return is_other and last.prompt == redact_ends(turn.prompt, MAX_PROMPT)


def _as_typed(turn: TurnDraft) -> TurnDraft:
    return TurnDraft(prompt=f"{turn.command} {turn.prompt}".strip(), copied=turn.copied)


def _measure(turn: Turn) -> int:
    """Return about how many characters a turn holds."""
    size = _TURN_SIZE + len(turn.prompt) + len(turn.answer) + sum(map(len, turn.refusals))
    size += _CALL_SIZE * len(turn.tool_calls)
    for call in turn.tool_calls:
        if call.command is not None:
            size += len(call.command)
        if call.error is not None:
            size += len(call.error)
        if call.files:
            size += sum(map(len, call.files))
    return size
