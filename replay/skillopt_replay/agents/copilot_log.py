"""Reads what the client writes to its event log besides its output: what each call to the model cost."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.traces import Lines
from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from pathlib import Path

USD_PER_NANO_CREDIT = 1e-11  # a credit is a US cent
_PIECE = 1 << 20
_CALL, _END = b'"session.usage_record"', b'"session.shutdown"'
_FILTERED = "content_filter"


class _Billed(msgspec.Struct, frozen=True, rename="camel"):
    total_nano_aiu: float | None = None


class _Counts(msgspec.Struct, frozen=True, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    copilot_usage: _Billed | None = None
    finish_reason: str | None = None
    content_filter_triggered: bool = False


class _Metric(msgspec.Struct, frozen=True, rename="camel"):
    usage: _Counts = _Counts()


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    usage: _Counts | None = None
    model_metrics: dict[str, _Metric] | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    data: _Data = _Data()


class UsageLog:
    """Follows the log of one session as it grows.

    The agent could write to the file as well: nothing is told by it but tokens, money and whether the
    service withheld the last reply. Lines longer than `max_line` bytes are passed over.
    """

    def __init__(self, *, max_line: int = 4_000_000) -> None:
        self._path: Path | None = None
        self._offset = 0
        self._lines = Lines(self._take, max_line=max_line)
        self._decoder = msgspec.json.Decoder(_Event)
        self._calls = Usage()
        self._total = Usage()
        self.withheld = False

    def watch(self, path: Path) -> None:
        """Say where the log will be."""
        self._path = path

    @property
    def usage(self) -> Usage:
        """What was told so far; the client's own total counts when it is the larger."""
        larger = self._total if self._total.tokens > self._calls.tokens else self._calls
        return msgspec.structs.replace(larger, cost_usd=self._calls.cost_usd)

    def read(self) -> None:
        """Take what is new; a log that is not there, or is none, has nothing new."""
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            # Neither to follow a link the agent put there, nor to wait for ever on a pipe.
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    return
                file.seek(self._offset)
                while data := file.read(_PIECE):
                    self._offset += len(data)
                    self._lines.feed(data)

    def _take(self, line: bytes) -> bool:
        if _CALL not in line and _END not in line:
            return True
        try:
            event = self._decoder.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        if event.type == "session.usage_record" and event.data.usage:
            self._calls = self._calls.plus(_to_usage(event.data.usage))
            reason = event.data.usage.finish_reason
            self.withheld = event.data.usage.content_filter_triggered or reason == _FILTERED
        elif event.type == "session.shutdown":
            self._total = Usage()
            for metric in (event.data.model_metrics or {}).values():
                self._total = self._total.plus(_to_usage(metric.usage))
        return True


def _to_usage(counts: _Counts) -> Usage:
    """Return the tokens with the cached ones apart: the client counts them as input as well."""
    billed = counts.copilot_usage.total_nano_aiu if counts.copilot_usage else None
    read, written = max(0, counts.cache_read_tokens), max(0, counts.cache_write_tokens)
    return Usage(
        max(0, counts.input_tokens - read - written),
        max(0, counts.output_tokens),
        read,
        written,
        None if billed is None else max(0.0, billed) * USD_PER_NANO_CREDIT,
    )
