"""Turns and sessions while they are being read; common to all clients.

A source fills drafts in file order and closes the session at the end. Redaction, size limits and the
signals that follow from the turns themselves happen here, so that no client can forget them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from skillopt_harvesters.corrections import is_correction
from skillopt_harvesters.records import Kind, Session, Signal, Tokens, ToolCall, Turn
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.verify import is_verification

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PROMPT = 65_536
MAX_ANSWER = 65_536
MAX_COMMAND = 8_192
MAX_ERROR = 2_048
MAX_WARNINGS = 20


@dataclass
class CallDraft:
    """A tool call waiting for its result. `source` is the record it came from."""

    name: str
    digest: str = ""
    command: str | None = None
    files: tuple[str, ...] = ()
    exit_code: int | None = None
    error: str | None = None
    source: str = ""

    def close(self) -> ToolCall:
        return ToolCall(
            name=self.name[:200],
            arguments_digest=self.digest,
            command=None if self.command is None else redact_within(self.command, MAX_COMMAND),
            exit_code=self.exit_code,
            error=None if self.error is None else redact_within(self.error, MAX_ERROR),
            files=tuple(redact_within(path, MAX_ERROR) for path in self.files),
        )


def digest_of(arguments: bytes) -> str:
    """Return the digest of a tool call's arguments as the client wrote them."""
    return hashlib.sha256(arguments).hexdigest()[:16]


@dataclass
class TextDraft:
    """A piece of the agent's visible text; pieces of one message are joined."""

    message: str
    text: str
    source: str = ""


@dataclass
class TurnDraft:
    """A turn being read."""

    prompt: str = ""
    command: str | None = None
    typed: bool = True
    started: str | None = None
    parent: str | None = None
    copied: bool = False
    abandoned: bool = False
    texts: list[TextDraft] = field(default_factory=list)
    calls: list[CallDraft] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    signals: set[Signal] = field(default_factory=set)
    skills: dict[str, None] = field(default_factory=dict)
    usage: dict[str, Tokens] = field(default_factory=dict)

    @property
    def is_untouched(self) -> bool:
        """Whether the agent has done nothing in it yet."""
        return not (self.texts or self.calls or self.usage)

    def say(self, message: str, text: str, source: str = "") -> None:
        """Add visible text. Only the last two messages are kept: the last one may be withdrawn."""
        self.texts.append(TextDraft(message, text[: MAX_ANSWER * 2], source))
        kept = list(dict.fromkeys(piece.message for piece in self.texts))[-2:]
        if len(self.texts) > 2:
            self.texts = [piece for piece in self.texts if piece.message in kept]

    def withdraw(self, sources: Iterable[str]) -> None:
        """Forget what the named records said and did."""
        gone = set(sources)
        self.texts = [piece for piece in self.texts if piece.source not in gone]
        self.calls = [call for call in self.calls if call.source not in gone]

    @property
    def answer(self) -> str:
        if not self.texts:
            return ""
        last = self.texts[-1].message
        return "\n\n".join(piece.text for piece in self.texts if piece.message == last).strip()

    def close(self, before: Turn | None) -> Turn:
        """Return the finished turn. `before` is the turn whose answer the prompt may correct."""
        prompt = redact_within(self.prompt, MAX_PROMPT)
        calls = tuple(call.close() for call in self.calls)
        signals = set(self.signals)
        if any(call.error is not None for call in calls):
            signals.add(Signal.ERROR)
        if any(call.command and call.exit_code == 0 and is_verification(call.command) for call in calls):
            signals.add(Signal.VERIFIED)
        answered = before is not None and bool(before.answer or before.tool_calls)
        if answered and self.command is None and is_correction(prompt, before):
            signals.add(Signal.CORRECTION)
        if self.refusals:
            signals.add(Signal.REFUSAL)
        return Turn(
            prompt=prompt,
            answer=redact_within(self.answer, MAX_ANSWER),
            command=self.command,
            tool_calls=calls,
            refusals=tuple(redact_within(words, MAX_PROMPT) for words in self.refusals if words),
            signals=tuple(sorted(signals, key=lambda signal: signal.value)),
            skills=tuple(self.skills),
            tokens=_sum(self.usage.values()),
            started=self.started,
            typed=self.typed,
            abandoned=self.abandoned,
        )


@dataclass
class SessionDraft:
    """A session being read."""

    id: str
    client: str
    path: str
    client_version: str = ""
    kind: Kind = Kind.HUMAN
    project: str | None = None
    branch: str | None = None
    started: str | None = None
    ended: str | None = None
    turns: list[TurnDraft] = field(default_factory=list)
    usage: dict[str, Tokens] = field(default_factory=dict)
    skills_offered: dict[str, None] = field(default_factory=dict)
    skipped: int = 0
    warnings: list[str] = field(default_factory=list)
    _by_parent: dict[str, int] = field(default_factory=dict)

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
        last = self.turns[-1] if self.turns else None
        if (
            last
            and last.is_untouched
            and not last.signals
            and (last.prompt, last.command) == (turn.prompt, turn.command)
        ):
            return last
        if turn.parent is not None:
            index = self._by_parent.get(turn.parent)
            if index is not None:
                for abandoned in self.turns[index:]:
                    abandoned.abandoned = True
            self._by_parent[turn.parent] = len(self.turns)
        self.turns.append(turn)
        return turn

    def warn(self, text: str) -> None:
        if len(self.warnings) < MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def close(self) -> Session:
        closed: list[Turn] = []
        before: Turn | None = None
        previous: Turn | None = None
        for draft in self.turns:
            turn = draft.close(previous)
            previous = turn
            if draft.copied:
                before = turn
            else:
                closed.append(turn)
        tokens = _sum([*self.usage.values(), *(turn.tokens for turn in closed)])
        return Session(
            id=self.id,
            client=self.client,
            client_version=self.client_version,
            kind=self.kind,
            path=self.path,
            project=self.project,
            branch=self.branch,
            started=self.started,
            ended=self.ended,
            turns=tuple(closed),
            before=before,
            tokens=tokens,
            skills_offered=tuple(self.skills_offered),
            skipped=self.skipped,
            warnings=tuple(self.warnings),
        )


def _sum(parts: Iterable[Tokens]) -> Tokens:
    total = Tokens()
    for part in parts:
        total = total.plus(part)
    return total


def to_utc(time: str | int | float | None) -> str | None:
    """Return a time as ISO 8601 in UTC, to the millisecond; None when it is no time.

    Accepts ISO strings with or without a zone (taken as UTC), and epoch seconds or milliseconds.
    """
    if time is None:
        return None
    if isinstance(time, str):
        if len(time) == 24 and time[10] == "T" and time[19] == "." and time[23] == "Z":
            return time
        try:
            moment = datetime.fromisoformat(_fraction_of_six(time.strip().replace("Z", "+00:00")))
        except ValueError:
            return None
    else:
        try:
            moment = datetime.fromtimestamp(time / 1000 if time > 1e11 else time, tz=timezone.utc)
        except (ValueError, OverflowError, OSError):
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    try:
        moment = moment.astimezone(timezone.utc)
    except OverflowError:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _fraction_of_six(time: str) -> str:
    """Python 3.10 reads fractions of three or six digits only."""
    head, dot, tail = time.partition(".")
    if not dot:
        return time
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return f"{head}.{tail[:digits][:6]:0<6}{tail[digits:]}"
