"""Tool calls and turns while they are being read; common to all clients.

Redaction and size limits happen here, so that no client can forget them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.corrections import is_correction
from skillopt_harvesters.records import Signal, Tokens, ToolCall, Turn
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.verify import is_verification

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PROMPT = 65_536
MAX_ANSWER = 65_536
MAX_COMMAND = 8_192
MAX_ERROR = 2_048
MAX_CALLS = 5_000
MAX_OPEN_CALLS = 64
_SLACK = 8_192


def clip(text: str, limit: int) -> str:
    """Cut a text to what redaction looks at before it cuts to `limit`; bounds the memory of a draft."""
    return text if len(text) <= limit + _SLACK else text[: limit + _SLACK]


def digest_of(arguments: bytes) -> str:
    """Return the digest of a tool call's arguments as the client wrote them."""
    return hashlib.sha256(arguments).hexdigest()[:16]


class CallDraft(msgspec.Struct):
    """A tool call, perhaps still waiting for its result.

    `id` is the client's id of the call, by which the result finds it; `source` the record it came from;
    `closed` says that the result is there.
    """

    name: str
    id: str = ""
    digest: str = ""
    command: str | None = None
    files: list[str] = []
    exit_code: int | None = None
    error: str | None = None
    source: str = ""
    closed: bool = False

    def redact(self) -> None:
        """Redact in place; doing it again changes nothing."""
        self.name = self.name[:200]
        if self.command is not None:
            self.command = redact_within(self.command, MAX_COMMAND)
        if self.error is not None:
            self.error = redact_within(self.error, MAX_ERROR)
        self.files = [redact_within(path, MAX_ERROR) for path in self.files]

    def close(self) -> ToolCall:
        self.redact()
        return ToolCall(
            name=self.name,
            arguments_digest=self.digest,
            command=self.command,
            exit_code=self.exit_code,
            error=self.error,
            files=tuple(self.files),
        )


class TextDraft(msgspec.Struct):
    """A piece of the agent's visible text; pieces of one message are joined."""

    message: str
    text: str
    source: str = ""


class TurnDraft(msgspec.Struct):
    """A turn being read.

    `head` is the mark of the record that opened it, `parent` the record the prompt answers to. A `copied`
    turn belongs to the session it was copied from. `usage` is by model call, so that a call told in several
    records counts once.
    """

    prompt: str = ""
    command: str | None = None
    typed: bool = True
    started: str | None = None
    head: int | None = None
    parent: str | None = None
    copied: bool = False
    abandoned: bool = False
    texts: list[TextDraft] = []
    calls: list[CallDraft] = []
    refusals: list[str] = []
    signals: set[Signal] = set()
    skills: dict[str, None] = {}
    usage: dict[str, Tokens] = {}
    counted: Tokens = Tokens()
    calls_left_out: int = 0

    @property
    def is_untouched(self) -> bool:
        """Whether the agent has done nothing in it yet."""
        return not (self.texts or self.calls or self.usage)

    def say(self, message: str, text: str, source: str = "") -> None:
        """Add visible text. Only the last two messages are kept: the last one may be withdrawn."""
        texts = self.texts
        texts.append(TextDraft(message, clip(text, MAX_ANSWER), source))
        if len(texts) > 2:
            last = texts[-1].message
            before = next((piece.message for piece in reversed(texts) if piece.message != last), last)
            self.texts = [piece for piece in texts if piece.message in {last, before}]

    def add_call(self, call: CallDraft) -> None:
        """Add a tool call; beyond `MAX_CALLS` only their number is kept."""
        if len(self.calls) < MAX_CALLS:
            self.calls.append(call)
        else:
            self.calls_left_out += 1

    def find_call(self, call_id: str) -> CallDraft | None:
        """Return the latest call with the client's id."""
        return next((call for call in reversed(self.calls) if call.id == call_id), None)

    def count(self, call: str, tokens: Tokens) -> None:
        """Count a model call, or correct what was counted of it; only the latest calls can be corrected."""
        self.usage[call] = tokens
        if len(self.usage) > MAX_OPEN_CALLS:
            self.counted = self.counted.plus(self.usage.pop(next(iter(self.usage))))

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

    def redact(self) -> None:
        """Redact every text in place; doing it again changes nothing."""
        self.prompt = redact_within(self.prompt, MAX_PROMPT)
        self.refusals = [redact_within(words, MAX_PROMPT) for words in self.refusals if words]
        for piece in self.texts:
            piece.text = redact_within(piece.text, MAX_ANSWER)
        for call in self.calls:
            call.redact()

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
            tokens=add_tokens([self.counted, *self.usage.values()]),
            started=self.started,
            typed=self.typed,
            abandoned=self.abandoned,
        )


def add_tokens(parts: Iterable[Tokens]) -> Tokens:
    """Return the sum."""
    total = Tokens()
    for part in parts:
        total = total.plus(part)
    return total
