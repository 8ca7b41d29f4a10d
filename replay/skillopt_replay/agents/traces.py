"""Collects what a client's stream tells, in bounded memory, and says what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.rollouts import Called, Fault, Outcome, RolloutCall, Said, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillopt_replay.rollouts import Step

MAX_CALLS = 2_000
MAX_TEXT = 4_000
MAX_ERROR = 2_000
MAX_TRACE = 400_000
MAX_NAME = 200
# Of one command line, which may write a whole file, and of all: checks read them word by word.
MAX_COMMAND, MAX_COMMANDS = 64_000, 1_000_000
_MOST_CODES = 1 << 32
CUT_MARK = " [...] "


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a client's output told.

    `outcome` is None when it ended without a result; `error` then is what it said last.
    `replied`: the model answered at least once. `waiting_for_service`: it ended while it waited for the
    service. `idle`: no tool of its was under way, so that only the service could go on; `silent_s` are the
    seconds since it was heard last. `lost` requests were cut: they may have been paid for without a reply
    that told what they used. `asking`: one was under way at the end. `largest` is what the dearest reply
    used; `unread` are the bytes that tools gave since the last reply that told what it used, and the tokens
    thought since, where that is told as it goes on.
    `skill_loaded` is None when the agent does not tell. `denied` names the tools that were refused;
    `skipped` counts lines that could not be read.
    """

    outcome: Outcome | None
    answer: str
    error: str | None
    fault: Fault | None
    model: str
    calls: tuple[RolloutCall, ...]
    steps: tuple[Step, ...]
    usage: Usage
    skill_loaded: bool | None
    denied: tuple[str, ...] = ()
    replied: bool = True
    waiting_for_service: bool = False
    idle: bool = False
    silent_s: float = 0.0
    lost: int = 0
    asking: bool = False
    largest: Usage = Usage()
    unread: int = 0
    skipped: int = 0


class Lines:
    """Cuts what comes in pieces into lines and hands each to `take`, without its line end.

    Lines longer than `max_line` bytes, and lines that `take` returns False for, are counted in `skipped`;
    of the former `pass_over` gets the length.
    """

    def __init__(
        self,
        take: Callable[[bytes], bool],
        *,
        max_line: int,
        pass_over: Callable[[int], None] | None = None,
    ) -> None:
        self._take = take
        self._max_line = max_line
        self._pass_over = pass_over
        self._part = bytearray()
        self._overlong = 0
        self.skipped = 0

    def feed(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        # What has no end is mostly line ends, each of which would take as long as a line.
        for number, line in enumerate(lines):
            if line or not number:
                self._add(line)
                self.finish()
        self._add(rest)

    def finish(self) -> None:
        """Take what there is of the last line."""
        if self._overlong or (self._part.strip() and not self._take(bytes(self._part))):
            self.skipped += 1
        if self._overlong and self._pass_over is not None:
            self._pass_over(self._overlong)
        self._part.clear()
        self._overlong = 0

    def _add(self, piece: bytes) -> None:
        if self._overlong or len(self._part) + len(piece) > self._max_line:
            self._overlong += len(self._part) + len(piece)
            self._part.clear()
        else:
            self._part += piece


class Trace:
    """The calls and words of a run in their order; what is over the bounds is left out.

    `given` are the bytes that its tools gave, what is left out of them included.
    """

    def __init__(self) -> None:
        self._calls: dict[str, RolloutCall] = {}
        self._steps: list[Step] = []
        self._under_way: set[str] = set()
        self._room = MAX_TRACE
        self._room_for_commands = MAX_COMMANDS
        self.given = 0

    @property
    def calls(self) -> tuple[RolloutCall, ...]:
        return tuple(self._calls.values())

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps)

    @property
    def idle(self) -> bool:
        """Whether every call that began has ended."""
        return not self._under_way

    def say(self, text: str) -> None:
        """Add words of the agent."""
        if text.strip() and len(self._steps) < 2 * MAX_CALLS:
            kept = self._keep(text)
            if kept:
                self._steps.append(Said(kept))

    def call(self, key: str, name: str, *, command: str | None = None, arguments: str = "") -> None:
        """Add the beginning of a call; a key seen before changes nothing."""
        if key in self._calls or len(self._calls) >= MAX_CALLS:
            return
        self._under_way.add(key)
        self._steps.append(Called(len(self._calls)))
        if command is not None:
            command = cut(command, min(MAX_COMMAND, self._room_for_commands))
            self._room_for_commands -= len(command)
        self._calls[key] = RolloutCall(cut(name, MAX_NAME), command, arguments=self._keep(arguments))

    def end(
        self, key: str, *, error: str | None = None, exit_code: int | None = None, output: str = ""
    ) -> None:
        """Add how a call ended; a key that is not known changes nothing."""
        self._under_way.discard(key)
        self.give(output or error or "")
        call = self._calls.get(key)
        if call is None:
            return
        if exit_code is not None and abs(exit_code) >= _MOST_CODES:
            exit_code = None  # no system's; what the command wrote was taken for it
        self._calls[key] = msgspec.structs.replace(
            call,
            error=cut(error, MAX_ERROR) if error is not None else call.error,
            exit_code=exit_code if exit_code is not None else call.exit_code,
            output=self._keep(output) or call.output,
        )

    def give(self, text: str) -> None:
        """Note what the agent is given to read."""
        self.given += len(text.encode("utf-8", "replace"))

    def _keep(self, text: str) -> str:
        kept = cut(text, min(MAX_TEXT, max(self._room, 0)))
        self._room -= len(kept)
        return kept


def cut(text: str, limit: int) -> str:
    """Return the text, or its head and tail around a mark when it has more than `limit` characters.

    How a command ended is told by its last lines, what it was by the first.
    """
    if len(text) <= limit:
        return text
    if limit <= len(CUT_MARK):
        return ""
    tail = (limit - len(CUT_MARK)) // 2
    head = limit - len(CUT_MARK) - tail
    return text[:head] + CUT_MARK + (text[-tail:] if tail else "")
