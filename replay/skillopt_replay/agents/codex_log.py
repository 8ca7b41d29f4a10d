"""Reads Codex's log on its error channel, which tells what its stream leaves out.

The stream names no model, counts tokens only once the run is over, and passes over the calls that were
refused or came to nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.spending import Meter
from skillopt_replay.agents.traces import MAX_ERROR, Lines
from skillopt_replay.faults import GAVE_UP
from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillopt_replay.agents.traces import Trace

    Price = Callable[[str, Usage], float | None]

FILTER = "error,codex_otel.trace_safe=info,codex_api::sse::responses=debug"  # for RUST_LOG
_EVENTS = "codex_otel.trace_safe"
# Says what of a reply it drops, and a refusal is among that.
_DROPPED, _REFUSAL = "codex_api::sse::responses", '"response.refusal.done"'
_STATUS = "http.response.status_code"
_ROUTER = "codex_core::tools::router"
_MAX_LINE = 100_000
_ENTRY = re.compile(r"\S+ +(?:ERROR|WARN|INFO|DEBUG) ([\w:.]+): (.*)", re.DOTALL)
_FIELD = re.compile(r'(?<![\w.])([\w.]+)=("(?:[^"\\]|\\.)*"|\S*)')
_REFUSED = re.compile(r"rejected|reject command|not allowed|forbidden", re.IGNORECASE)
# A call that ran and failed has its place in the stream.
_RAN = "Exit code:"
# By one tool: the client keeps no more, and what a model makes up there counts for no more.
_MOST_GIVEN = 1 << 20
_IMAGE_TOKENS = 10_000  # the most that a service takes an image for


class LogReader:
    """Takes the log in pieces. Calls that the stream leaves out go into `trace`.

    `price` returns the dollars of one reply of a model, None where it does not know the price.
    `meter` counts the model's replies so far, `failures` the requests that were refused, `unheard` those that
    came to nothing without a word of the service; `owing` says that it
    will be called again, to be told what its tools did; `denied` names refused tools; `refused` says that the
    last reply declines; `unread` are the bytes that tools gave and no reply has told of, by `trace.given` or
    by the log, which alone knows of commands that go on; `said` is the end of what else was written.
    """

    def __init__(self, trace: Trace, price: Price | None = None) -> None:
        self._trace = trace
        self._price = price
        self._lines = Lines(self._read, max_line=_MAX_LINE)
        self._last_call = ("", "a tool")
        self._results = 0
        self._sent = self._read_so_far = (0, 0)
        self.model = ""
        self.meter = Meter()
        self.failures = 0
        self.unheard = 0
        self.owing = False
        self.denied: list[str] = []
        self.refused = False
        self.said = ""

    @property
    def unread(self) -> int:
        return max(now - before for now, before in zip(self._given, self._read_so_far, strict=True))

    @property
    def _given(self) -> tuple[int, int]:
        return self._trace.given, self._results

    def feed(self, data: bytes) -> None:
        self._lines.feed(data)

    def finish(self) -> None:
        """Take what there is of the last line."""
        self._lines.finish()

    def _read(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace")
        entry = _ENTRY.match(text)
        if entry is None:
            self._keep(text)
        elif entry[1] == _EVENTS:
            self._read_event({name: value.strip('"') for name, value in _FIELD.findall(entry[2])})
        elif entry[1] == _DROPPED:
            self.refused = self.refused or _REFUSAL in entry[2]
        elif entry[1] == _ROUTER:
            self._read_failure(entry[2].removeprefix("error="))
        else:
            self._keep(entry[2])
        return True

    def _keep(self, text: str) -> None:
        self.said = f"{self.said}\n{text}"[-MAX_ERROR:]

    def _read_event(self, fields: dict[str, str]) -> None:
        event = fields.get("event.name", "")
        if event in ("codex.api_request", "codex.websocket_request"):
            self.owing = self.refused = False
            self._sent = self._given
            failed = "error.message" in fields
            # What came to nothing on web sockets is asked again without, and was not paid for.
            unheard = (
                failed
                and event == "codex.api_request"
                and (_STATUS not in fields or _number(fields, _STATUS) in GAVE_UP)
            )
            self.unheard += unheard
            self.failures += failed and not unheard
        elif event == "codex.sse_event" and "input_token_count" in fields:
            self.model = fields.get("model", self.model)
            reply = _count(fields)
            cost = self._price(self.model, reply) if self._price else None
            self.meter.add(msgspec.structs.replace(reply, cost_usd=cost))
            self._read_so_far = self._sent
        elif event in ("codex.tool_call_received", "codex.tool_result"):
            self.owing = True
            self._last_call = (fields.get("call_id", ""), fields.get("tool_name", "a tool"))
            if event == "codex.tool_result":
                self._results += min(_number(fields, "output_length"), _MOST_GIVEN)
                self._results += _IMAGE_TOKENS if fields.get("tool_name") == "view_image" else 0
        elif event == "codex.sandbox_outcome" and fields.get("outcome") == "denied":
            self._deny(fields.get("call_id", ""), fields.get("tool_name", "a tool"), "denied by its sandbox")

    def _read_failure(self, error: str) -> None:
        key, name = self._last_call
        if _REFUSED.search(error):
            self._deny(key, name, error)
        elif not error.startswith(_RAN):
            self._add(key, name, error)

    def _deny(self, key: str, name: str, error: str) -> None:
        self.denied.append(name)
        self._add(key, name, error)

    def _add(self, key: str, name: str, error: str) -> None:
        self._trace.call(key, name)
        self._trace.end(key, error=error)


def _number(fields: dict[str, str], name: str) -> int:
    text = fields.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0


def _count(fields: dict[str, str]) -> Usage:
    return to_usage(
        _number(fields, "input_token_count"),
        _number(fields, "cached_token_count"),
        _number(fields, "cache_write_token_count"),
        _number(fields, "output_token_count"),
    )


class TurnUsage(msgspec.Struct, frozen=True):
    """The tokens of a turn as its output tells them; `input_tokens` counts those of the cache as well."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0

    @property
    def counted(self) -> Usage:
        """The same, each token counted once."""
        return to_usage(
            self.input_tokens, self.cached_input_tokens, self.cache_write_input_tokens, self.output_tokens
        )


def to_usage(read: int, cached: int, written: int, output: int) -> Usage:
    """Return the usage for OpenAI's way of counting, where what was read covers what came from the cache."""
    read = max(read, 0)
    cached = min(max(cached, 0), read)
    written = min(max(written, 0), read - cached)
    return Usage(
        input_tokens=read - cached - written,
        output_tokens=max(output, 0),
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )
