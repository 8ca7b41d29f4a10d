"""Reads what an agent of the user's own prints: a plain answer, or events when the first line says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.command_events import (
    Answer,
    Call,
    CallEnd,
    Denied,
    Failed,
    Kind,
    Opening,
    Say,
    SkillLoaded,
    Spent,
    Told,
    read_opening,
)
from skillopt_replay.agents.spending import Tally, count_lost, find_excess, find_larger
from skillopt_replay.agents.traces import MAX_CALLS, MAX_ERROR, MAX_NAME, Lines, Reading, Trace, cut
from skillopt_replay.rollouts import Outcome, Usage

if TYPE_CHECKING:
    from skillopt_replay.protocols import Limits


_DECODER: msgspec.json.Decoder[Told] = msgspec.json.Decoder(Told)
_KIND = msgspec.json.Decoder(Kind)


class CommandReader:
    """Takes the output in pieces; `finish` returns what it said.

    At most `max_bytes` of a plain answer are kept. Lines of events longer than that, and lines that are no
    events, are skipped and counted. A call to the model of which nothing is told, or nothing that can be
    read, counts as a lost request.
    """

    def __init__(self, *, max_bytes: int = 4_000_000) -> None:
        self._max_bytes = max_bytes
        self._first = bytearray()
        self._plain: bytearray | None = None
        self._lines = Lines(self._read, max_line=max_bytes)
        self._opening: Opening | None = None
        self._trace = Trace()
        self._said = ""
        self._answer: str | None = None
        self._denied: list[str] = []
        self._loaded = False
        self._usage = self._largest = self._before = Usage()
        self._model = ""
        self._turns = self._untold = 0
        self._owing = False
        self._failed: Failed | None = None
        self._excess: str | None = None

    def feed(self, data: bytes) -> None:
        if self._opening is not None:
            self._lines.feed(data)
        elif self._plain is not None:
            self._keep(data)
        else:
            self._begin(data)

    def _begin(self, data: bytes) -> None:
        """Take a piece of the first line; its end decides what the whole is."""
        self._first += data
        line, newline, rest = bytes(self._first).partition(b"\n")
        if not newline and len(self._first) <= self._max_bytes:
            return
        self._first.clear()
        self._opening = read_opening(line)
        if self._opening is not None:
            self._model = cut(self._opening.model, MAX_NAME)
            self._lines.feed(rest)
        else:
            self._plain = bytearray()
            self._keep(line + newline + rest)

    def _keep(self, data: bytes) -> None:
        assert self._plain is not None  # noqa: S101 - the callers see to it
        self._plain += data[: max(0, self._max_bytes - len(self._plain))]

    def over(self, limits: Limits) -> bool:
        """Whether turns, tokens or money it told of are used up and it goes on all the same."""
        if self._excess is None and self._owing:
            self._excess = find_excess(limits, self._count(), self._turns)
        if self._excess is None and self._turns:
            # It told of another call to the model after that: not all agents tell their calls of tools.
            self._excess = find_excess(limits, self._before, self._turns - 1)
        return self._excess is not None

    @property
    def _tells_dollars_alone(self) -> bool:
        return not self._largest.tokens and bool(self._largest.cost_usd)

    def _count(self) -> Usage:
        """Return what the run has used so far: calls told without a word of that count as the largest."""
        if self._tells_dollars_alone:
            lost = self._untold * (self._largest.cost_usd or 0.0)
            return self._usage.plus(Usage(cost_usd=lost))
        return count_lost(self._usage, self._largest, self._untold)

    def tally(self) -> Tally:
        """Return what the run has told; see Metered. What it tells of need not be one request."""
        return Tally(usage=self._usage)

    def halt(self, why: str) -> None:
        """Take note that the run is stopped; see Metered."""
        self._excess = self._excess or why

    def _read(self, line: bytes) -> bool:
        try:
            told = _DECODER.decode(line)
        except (msgspec.DecodeError, RecursionError):
            if _is_usage(line):
                self._take_usage(Spent())
            return False
        if isinstance(told, Say | Answer):
            self._take_words(told)
        elif isinstance(told, Call):
            self._take_call(told)
        elif isinstance(told, CallEnd):
            self._trace.end(told.id, error=told.error, exit_code=told.exit_code, output=told.output)
        elif isinstance(told, Spent):
            self._take_usage(told)
        elif isinstance(told, Denied):
            if len(self._denied) < MAX_CALLS:
                self._denied.append(cut(told.name, MAX_NAME))
        elif isinstance(told, SkillLoaded):
            self._loaded = True
        else:
            self._failed = told
        return True

    def _take_words(self, told: Say | Answer) -> None:
        self._trace.say(told.text)
        if isinstance(told, Answer):
            self._answer = told.text
        elif told.text.strip():
            self._said = told.text

    def _take_call(self, call: Call) -> None:
        arguments = ""
        if call.arguments and call.command is None:
            arguments = msgspec.json.encode(call.arguments).decode("utf-8", "replace")
        self._trace.call(call.id, call.name, command=call.command, arguments=arguments)
        self._owing = True

    def _take_usage(self, spent: Spent) -> None:
        usage = Usage(
            max(0, spent.input_tokens or 0),
            max(0, spent.output_tokens or 0),
            max(0, spent.cache_read_tokens or 0),
            max(0, spent.cache_write_tokens or 0),
            # Some write -1 for what they do not know.
            spent.cost_usd if spent.cost_usd is not None and spent.cost_usd >= 0.0 else None,
        )
        self._before = self._count()
        self._usage, self._largest = self._usage.plus(usage), find_larger(self._largest, usage)
        self._untold += not usage.tokens and usage.cost_usd is None
        self._model = cut(spent.model or "", MAX_NAME) or self._model
        self._turns += 1
        self._owing = False

    def finish(self) -> Reading:
        """Return what was read; a last line without its line end counts as well."""
        if self._first:
            self._begin(b"\n")
        self._lines.finish()
        outcome, error, fault = None, None, None
        if self._excess is not None:
            outcome, error = Outcome.LIMIT, self._excess
        elif self._failed is not None:
            error, fault = self._failed.text[:MAX_ERROR] or "no reason given", self._failed.fault
            outcome = Outcome.LIMIT if fault is None else Outcome.INFRASTRUCTURE
        plain = (self._plain or b"").decode("utf-8", "replace").strip()
        return Reading(
            outcome=outcome,
            answer=plain if self._opening is None else self._said if self._answer is None else self._answer,
            error=error,
            fault=fault,
            model=self._model,
            calls=self._trace.calls,
            steps=self._trace.steps,
            usage=self._count() if self._tells_dollars_alone else self._usage,
            lost=0 if self._tells_dollars_alone else self._untold,
            largest=self._largest,
            skill_loaded=self._loaded if self._opening is not None else None,
            denied=tuple(self._denied),
            skipped=self._lines.skipped,
        )


def _is_usage(line: bytes) -> bool:
    try:
        return _KIND.decode(line).type == "usage"
    except (msgspec.DecodeError, RecursionError):
        return False
