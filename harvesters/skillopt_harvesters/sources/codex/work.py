"""The records of an agent at work, decoded many at a time: most of a rollout, of which little is read.

What the kinds of such records hold is decoded with one struct for all of them. Everything else, and every run
of lines of which one is not as the client writes it, is read line by line.
"""

from __future__ import annotations

import msgspec

from skillopt_harvesters.lines import Chunk
from skillopt_harvesters.sources.codex import records
from skillopt_harvesters.sources.codex.records import NULL, Item, TokenInfo, Usage


class Work(msgspec.Struct, frozen=True, gc=False):
    """Any payload: the keys of `Call`, `Output`, `Completed`, `TokenCount` and `UsageRecord`."""

    type: str | None = None
    id: str | None = None
    thread_id: str | None = None
    turn_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = NULL
    call_id: str | None = None
    output: msgspec.Raw = NULL
    item: Item | None = None
    response_id: str | None = None
    usage: Usage | None = None
    info: TokenInfo | None = None
    input: msgspec.Raw = NULL
    action: msgspec.Raw = NULL


class WorkRecord(msgspec.Struct, frozen=True, gc=False):
    """A record whose payload may be work; `time` as it is written."""

    time: str | int | float | None = msgspec.field(default=None, name="timestamp")
    type: str | None = None
    payload: Work | None = None


_decode = msgspec.json.Decoder(WorkRecord).decode_lines
# By type and type of the payload.
NOISE = frozenset(
    (outer, inner) for outer, found, inner in (kind.partition("/") for kind in records.NOISE) if found
)


def decode_work(chunk: Chunk) -> list[WorkRecord]:
    """Return the records of whole lines. Raises DecodeError or RecursionError when one is flawed."""
    return _decode(chunk.view)
