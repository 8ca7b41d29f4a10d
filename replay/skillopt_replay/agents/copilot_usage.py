"""Reads what each call to the model used from the client's telemetry, which it writes to a file of ours.

Its output tells no tokens, and its own event log lags a second behind.
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
_CALL = b'"chat"'
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
    cache_read: int = msgspec.field(default=0, name="gen_ai.usage.cache_read.input_tokens")
    cache_write: int = msgspec.field(default=0, name="gen_ai.usage.cache_write.input_tokens")
    nano_credits: float | None = msgspec.field(default=None, name="github.copilot.nano_aiu")
    reasons: tuple[str, ...] = msgspec.field(default=(), name="gen_ai.response.finish_reasons")


class _Span(msgspec.Struct, frozen=True):
    type: str = ""
    attributes: _Attributes = _Attributes()


_DECODER = msgspec.json.Decoder(_Span)


class UsageFile:
    """Follows the file as it grows.

    The run can write to it as well: nothing is told by it but tokens, money, and whether the service
    withheld its last reply. What comes after the first 16 MB is not read. `price` returns the dollars of a
    usage of a model where the client tells no cost.
    """

    def __init__(self, price: Price | None = None) -> None:
        self._price = price
        self._path: Path | None = None
        self._offset = 0
        self._lines = Lines(self._take, max_line=_MAX_LINE)
        self.meter = Meter()
        self.withheld = False

    def watch(self, path: Path) -> None:
        """Say where the file will be."""
        self._path = path

    def read(self) -> None:
        """Take what is new; a file that is not there, or is none, has nothing new."""
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            # Neither to follow a link the run put there, nor to wait for ever on a pipe.
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    return
                file.seek(self._offset)
                while data := file.read(min(_PIECE, _MAX_BYTES - self._offset)):
                    self._offset += len(data)
                    self._lines.feed(data)

    def _take(self, line: bytes) -> bool:
        if _CALL not in line:
            return True
        try:
            span = _DECODER.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        if span.type == "span" and span.attributes.operation == "chat":
            usage = _to_usage(span.attributes)
            if usage.cost_usd is None and self._price is not None:
                cost = self._price(span.attributes.model, usage)
                usage = msgspec.structs.replace(usage, cost_usd=cost)
            self.meter.add(usage)
            self.withheld = not _WITHHELD.isdisjoint(span.attributes.reasons)
        return True


def _to_usage(call: _Attributes) -> Usage:
    """Return the tokens with the cached ones apart: the client counts them as input as well."""
    read, written = max(0, call.cache_read), max(0, call.cache_write)
    nano = call.nano_credits
    return Usage(
        max(0, call.input - read - written),
        max(0, call.output),
        read,
        written,
        None if nano is None else max(0.0, nano) * USD_PER_NANO_CREDIT,
    )
