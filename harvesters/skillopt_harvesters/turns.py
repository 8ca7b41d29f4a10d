"""Turns while they are being read; common to all clients.

Redaction and size limits happen here, so that no client can forget them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import (
    MAX_NAME,
    MAX_NAMES,
    CallDraft,
    CallHandle,
    clip,
    keep_id,
    redact_known,
    redact_name,
)
from skillopt_harvesters.records import Signal, Tokens, Turn
from skillopt_harvesters.redact import redact_ends, redact_within
from skillopt_harvesters.tokens import MAX_OPEN_CALLS, Counts, Spent, add_counts, add_tokens, bound_all, fold
from skillopt_harvesters.verify import is_verification

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_PROMPT = 65_536
MAX_ANSWER = 65_536
MAX_CALLS = 5_000
# Characters of all commands, errors and paths of a turn.
MAX_TURN = 4 * 1024 * 1024
_LATE = 64
_MAX_AT_ONCE = 16
_REPEATED = 512


@lru_cache(maxsize=4096)
def _verifies_repeated(command: str) -> bool:
    return is_verification(command)


def _verifies(command: str) -> bool:
    return _verifies_repeated(command) if len(command) <= _REPEATED else is_verification(command)


class TextDraft(msgspec.Struct, gc=False, array_like=True):
    """A piece of the agent's visible text; pieces of one message are joined."""

    message: str
    text: str
    source: str = ""


class TurnDraft(msgspec.Struct):
    """A turn being read.

    `head` is the mark of the record that opened it, `parent` the record the prompt answers to. A `copied`
    turn belongs to the session it was copied from. `number` counts the turns of the file from 0. `usage` is
    by model call, so that a call told in several records counts once. `handles` stand for the calls while the
    turn is carried over, since the calls themselves are stored with the session.
    """

    prompt: str = ""
    command: str | None = None
    typed: bool = True
    started: str | None = None
    head: int | None = None
    parent: str | None = None
    number: int = 0
    copied: bool = False
    abandoned: bool = False
    texts: list[TextDraft] = []
    calls: list[CallDraft] = []
    handles: list[CallHandle] = []
    refusals: list[str] = []
    signals: set[Signal] = set()
    skills: dict[str, None] = {}
    usage: dict[str, Spent] = {}
    counted: Tokens = Tokens()
    calls_left_out: int = 0
    size: int = 0

    @property
    def is_untouched(self) -> bool:
        """Whether the agent has done nothing in it yet."""
        return not (self.texts or self.calls or self.usage)

    @property
    def is_waiting(self) -> bool:
        """Whether the result of a call is still to come."""
        return any(not call.closed for call in self.calls)

    def say(self, message: str, text: str, source: str = "") -> None:
        """Add visible text. Only the last two messages are kept: the last one may be withdrawn."""
        texts = self.texts
        message, source = keep_id(message), keep_id(source)
        if len(texts) == 2 and message != texts[0].message != texts[1].message != message:
            # A third message, as nearly always.
            texts[0] = texts[1]
            texts[1] = TextDraft(message, clip(text, MAX_ANSWER), source)
            return
        if sum([len(piece.text) for piece in texts if piece.message == message]) > MAX_ANSWER:
            return
        texts.append(TextDraft(message, clip(text, MAX_ANSWER), source))
        if len(texts) > 2:
            before = next((piece.message for piece in reversed(texts) if piece.message != message), message)
            if texts[0].message != message and texts[0].message != before:
                self.texts = [piece for piece in texts if piece.message in {message, before}]

    def say_once(self, message: str, text: str, source: str) -> None:
        """Add text unless it was told before: some writers tell a growing message anew."""
        for piece in self.texts:
            if piece.text == text and piece.message == keep_id(message):
                return
        self.say(message, text, source)

    def say_all(self, pieces: list[tuple[str, str, str]]) -> None:
        """Add several pieces of text, each as `say_once` does."""
        if len(pieces) > 1:
            *before, one, other = [message for message, _, _ in pieces]
            if one != other and not (one in before or other in before):
                latest = [
                    TextDraft(keep_id(message), clip(text, MAX_ANSWER), keep_id(source))
                    for message, text, source in pieces[-2:]
                ]
                known = [piece.message for piece in self.texts]
                if not (latest[0].message in known or latest[1].message in known):
                    # Of two messages by themselves no other one stays.
                    self.texts = latest
                    return
        for message, text, source in pieces:
            self.say_once(message, text, source)

    def add_call(self, call: CallDraft) -> None:
        """Add a tool call; beyond `MAX_CALLS`, or `MAX_TURN` characters, only their number is kept."""
        if len(self.calls) < MAX_CALLS and self.size < MAX_TURN:
            self.calls.append(call)
            self.size += call.clip()
        else:
            self.calls_left_out += 1

    def add_calls(self, calls: list[CallDraft]) -> None:
        """Add several tool calls, whose ids are kept as they are."""
        size = 0
        for call in calls:
            if call.command is None and not call.files and len(call.name) <= MAX_NAME:
                size += len(call.name) + len(call.id)
            else:
                size += call.clip_texts()
        if len(self.calls) + len(calls) <= MAX_CALLS and self.size + size < MAX_TURN:
            self.calls += calls
            self.size += size
        else:
            for call in calls:
                self.add_call(call)

    def latest_calls(self, more: Sequence[CallDraft] = ()) -> list[CallDraft]:
        """Return the latest calls, as many as one message makes; `more` come behind the others."""
        latest = [*self.calls[-_MAX_AT_ONCE:], *more[-_MAX_AT_ONCE:]]
        return latest[-_MAX_AT_ONCE:]

    def has_told(self, call_id: str, more: Sequence[CallDraft] = ()) -> bool:
        """Tell whether a call is one of the latest.

        Some servers number their calls anew with every answer: what comes when the call with its id has ended
        is another one.
        """
        call_id = keep_id(call_id)
        for call in reversed(self.latest_calls(more)):
            if keep_id(call.id) == call_id:
                return not call.closed
        return False

    def find_call(self, call_id: str) -> CallDraft | None:
        """Return the latest call with the client's id."""
        call_id = keep_id(call_id)
        if self.calls_left_out > _LATE:
            # Most calls are not here to be found, and the last that are have their results by now.
            return None
        for call in reversed(self.calls):
            if call.id == call_id:
                return call
        return None

    def count(self, call: str, counts: Counts) -> None:
        """Count a model call, or correct what was counted of it; only the latest calls can be corrected."""
        usage = self.usage
        usage[keep_id(call)] = counts  # type: ignore[assignment]  # `redact` makes them so
        if len(usage) >= 2 * MAX_OPEN_CALLS:
            self.counted = fold(usage, self.counted)

    def count_all(self, counts: Mapping[str, Counts]) -> None:
        """Count several model calls, in order, by ids as `keep_id` returns them."""
        usage = self.usage
        usage.update(counts)  # type: ignore[arg-type]  # `redact` makes them so
        while len(usage) >= 2 * MAX_OPEN_CALLS:
            self.counted = fold(usage, self.counted)

    def withdraw(self, sources: Iterable[str]) -> None:
        """Forget what the named records said and did."""
        gone = set(map(keep_id, sources))
        self.texts = [piece for piece in self.texts if piece.source not in gone]
        self.calls = [call for call in self.calls if call.source not in gone]

    @property
    def tokens(self) -> Tokens:
        """What was counted so far."""
        return self.counted.plus(add_counts([*self.usage.values()]))

    @property
    def answer(self) -> str:
        return _join(self._last_said())

    def _last_said(self) -> list[TextDraft]:
        """Return the pieces of the last message."""
        return [piece for piece in self.texts if piece.message == self.texts[-1].message]

    def redact(self) -> None:
        """Redact and bound everything in place; doing it again changes nothing."""
        self.prompt = redact_ends(self.prompt, MAX_PROMPT)
        self.command = self.command and redact_name(self.command)
        self.refusals = [redact_within(words, MAX_PROMPT) for words in self.refusals[:MAX_NAMES] if words]
        for piece in self.texts:
            piece.text = redact_known(piece.text, MAX_ANSWER)
        # Of most calls there is only the name.
        names: dict[str, str] = {}
        for call in self.calls:
            if call.command or call.error or call.files or call.exit_code:
                call.redact()
            else:
                name = names.get(call.name)
                if name is None:
                    name = names[call.name] = redact_name(call.name)
                call.name = name
        self.skills = {redact_name(name): None for name in list(self.skills)[:MAX_NAMES]}
        self.usage = bound_all(self.usage)

    def without_calls(self) -> TurnDraft:
        """Return the turn as it is carried over beside the stored one; it has been redacted."""
        return msgspec.structs.replace(self, calls=[], handles=[call.handle for call in self.calls])

    def restore_calls(self, turn: Turn) -> bool:
        """Take the calls from the stored turn; False when it has others."""
        if len(self.handles) != len(turn.tool_calls):
            return False
        self.calls = list(map(CallDraft.restore, turn.tool_calls, self.handles))
        self.handles = []
        return True

    def close(self) -> Turn:
        """Return the finished turn."""
        # Nothing is withdrawn any more, so that the message before the last is not needed.
        self.texts = self._last_said()
        self.redact()
        return self.build()

    def build(self) -> Turn:
        """Return the turn as it is so far; it has been redacted."""
        calls = tuple([call.build() for call in self.calls])
        signals = set(self.signals)
        said = self._last_said()
        if [call for call in calls if call.error is not None]:
            signals.add(Signal.ERROR)
        if any(map(_verifies, {call.command for call in calls if call.exit_code == 0 and call.command})):
            signals.add(Signal.VERIFIED)
        if self.refusals:
            signals.add(Signal.REFUSAL)
        answer = _join(said)
        if len(said) > 1:
            # What is no secret in either piece may be one where they meet.
            answer = redact_within(answer, MAX_ANSWER)
        return Turn(
            prompt=self.prompt,
            answer=answer,
            command=self.command,
            tool_calls=calls,
            refusals=tuple(self.refusals),
            signals=tuple(sorted(signals, key=lambda signal: signal.value)) if signals else (),
            skills=tuple(self.skills),
            tokens=self.counted.plus(add_tokens(self.usage.values())) if self.usage else self.counted,
            started=self.started,
            typed=self.typed,
            abandoned=self.abandoned,
        )


def _join(said: list[TextDraft]) -> str:
    """Return the pieces of a message as one text."""
    return "\n\n".join([piece.text for piece in said]).strip()
