"""Reads what each call to the model used from the client's telemetry, which it writes to a file of ours.

Its output tells no tokens, and its own event log lags a second behind; but there alone it tells of the
summaries that it asks for by itself, when what is said has grown too long.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.spending import Meter
from skillopt_replay.agents.traces import Lines
from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Price = Callable[[str, Usage], float | None]

USD_PER_NANO_CREDIT = 1e-11  # a credit is a US cent
_DELAY_MS = "10"
_PIECE = 1 << 20
_MAX_LINE = 1_000_000
# Of the file in all: the client writes a few KB for each call, a command what keeps us busy for hours.
_MAX_BYTES = 16_000_000
_MOST_REQUESTS = 100  # for one summary
_CALL = b'"chat"'
_SUMMARY = "session.compaction_complete"
_EVENTS = "events.jsonl"
_WITHHELD = frozenset({"content_filter", "refusal"})


def switch_on(file: Path) -> dict[str, str]:
    """Return the environment that has the client write its telemetry to `file`, without delay or content."""
    return {
        "COPILOT_OTEL_EXPORTER_TYPE": "file",
        "COPILOT_OTEL_FILE_EXPORTER_PATH": str(file),
        "OTEL_BSP_SCHEDULE_DELAY": _DELAY_MS,
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
    }


class _Attributes(msgspec.Struct, frozen=True):
    model: str = msgspec.field(default="", name="gen_ai.response.model")
    operation: str = msgspec.field(default="", name="gen_ai.operation.name")
    input: int = msgspec.field(default=0, name="gen_ai.usage.input_tokens")
    output: int = msgspec.field(default=0, name="gen_ai.usage.output_tokens")
    reasoning: int = msgspec.field(default=0, name="gen_ai.usage.reasoning.output_tokens")
    cache_read: int = msgspec.field(default=0, name="gen_ai.usage.cache_read.input_tokens")
    cache_write: int = msgspec.field(default=0, name="gen_ai.usage.cache_write.input_tokens")
    nano_credits: float | None = msgspec.field(default=None, name="github.copilot.nano_aiu")
    reasons: tuple[str, ...] = msgspec.field(default=(), name="gen_ai.response.finish_reasons")


class _Span(msgspec.Struct, frozen=True):
    type: str = ""
    attributes: _Attributes = _Attributes()


class _Credits(msgspec.Struct, frozen=True, rename="camel"):
    total_nano_aiu: float | None = None


class _Used(msgspec.Struct, frozen=True, rename="camel"):
    request_count: int = 1
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    copilot_usage: _Credits = _Credits()


class _Summarised(msgspec.Struct, frozen=True, rename="camel"):
    compaction_tokens_used: _Used = _Used()


class _Event(msgspec.Struct, frozen=True):
    type: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")


_DECODER = msgspec.json.Decoder(_Span)
_EVENT_DECODER = msgspec.json.Decoder(_Event)
_SUMMARY_DECODER = msgspec.json.Decoder(_Summarised)


class UsageFile:
    """Follows the file as it grows, and the client's own log of events beside it.

    The run can write to both as well: nothing is told by them but tokens, money, and whether the service
    withheld its last reply. What comes after the first 16 MB of each is not read. `price` returns the dollars
    of a usage of a model where the client tells no cost.
    """

    def __init__(self, price: Price | None = None) -> None:
        self._price = price
        self._calls = _Log(self._take_call)
        self._events = _Log(self._take_event)
        self._sessions: Path | None = None
        self.meter = Meter()
        self.withheld = False

    def watch(self, path: Path, sessions: Path | None = None) -> None:
        """Say where the file will be, and the client's folder of sessions."""
        self._calls.path, self._sessions = path, sessions

    def read(self) -> None:
        """Take what is new; a file that is not there, or is none, has nothing new."""
        self._calls.read()
        if self._sessions is not None and self._events.path is None:
            # The client's own is the first there, before any command of the run.
            with contextlib.suppress(OSError, StopIteration):
                found = (path for path in self._sessions.iterdir() if path.name[0] != ".")
                self._events.path = next(found) / _EVENTS
        self._events.read()

    def _take_call(self, line: bytes) -> bool:
        if _CALL not in line:
            return True
        try:
            span = _DECODER.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        if span.type == "span" and span.attributes.operation == "chat":
            call = span.attributes
            # More than all of the output is no part of it: some providers (xAI, Gemini) count it apart.
            beside = call.reasoning if call.reasoning > call.output else 0
            counts = call.input, max(0, call.output) + beside, call.cache_read, call.cache_write
            self.meter.add(self._to_usage(call.model, *counts, call.nano_credits))
            self.withheld = not _WITHHELD.isdisjoint(call.reasons)
        return True

    def _take_event(self, line: bytes) -> bool:
        if _SUMMARY.encode() not in line:
            return True
        try:
            event = _EVENT_DECODER.decode(line)
            if event.type != _SUMMARY:
                return True
            used = _SUMMARY_DECODER.decode(event.data).compaction_tokens_used
        except (msgspec.DecodeError, RecursionError):
            return False
        counts = used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens
        usage = self._to_usage(used.model, *counts, used.copilot_usage.total_nano_aiu)
        is_priced = usage.cost_usd is not None or self.meter.usage.cost_usd is None
        # What does not tell all that it took counts as nothing told: as the dearest of the run.
        if usage.tokens and is_priced and 0 < used.request_count <= _MOST_REQUESTS:
            self.meter.add(usage)
            self.meter.replies += used.request_count - 1
        return True

    def _to_usage(
        self, model: str, given: int, output: int, read: int, written: int, nano: float | None
    ) -> Usage:
        """Return the tokens with the cached ones apart: the client counts them as input as well."""
        read, written = max(0, read), max(0, written)
        cost = None if nano is None else max(0.0, nano) * USD_PER_NANO_CREDIT
        usage = Usage(max(0, given - read - written), max(0, output), read, written, cost)
        if cost is None and self._price is not None:
            return msgspec.structs.replace(usage, cost_usd=self._price(model, usage))
        return usage


class _Log:
    """Follows a file, which the run can write to, as it grows."""

    def __init__(self, take: Callable[[bytes], bool]) -> None:
        self.path: Path | None = None
        self._offset = 0
        self._lines = Lines(take, max_line=_MAX_LINE)

    def read(self) -> None:
        """Take what is new."""
        if self.path is None:
            return
        with contextlib.suppress(OSError):
            # Neither to follow a link the run put there, nor to wait for ever on a pipe.
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    return
                file.seek(self._offset)
                while data := file.read(min(_PIECE, _MAX_BYTES - self._offset)):
                    self._offset += len(data)
                    self._lines.feed(data)
