"""The lines that `codex exec --json` writes: what was said, what it took, why it failed."""

from __future__ import annotations

import msgspec

from skillopt_replay.rollouts import Usage


class Item(msgspec.Struct, frozen=True):
    """What the model said or did."""

    type: str = ""
    text: str | None = None


class Told(msgspec.Struct, frozen=True):
    """Why a turn failed."""

    message: str | None = None


class Spent(msgspec.Struct, frozen=True):
    """The tokens of a turn; `input_tokens` counts those of the cache as well."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class Event(msgspec.Struct, frozen=True):
    """A line of the output; which of its parts there are depends on its type."""

    type: str = ""
    message: str = ""
    item: Item | None = None
    usage: Spent | None = None
    error: Told | None = None


def decode(text: str) -> list[Event]:
    """Return the events of an output; lines that are none are passed over."""
    events = []
    for line in text.splitlines():
        try:
            events.append(msgspec.json.decode(line, type=Event))
        except (msgspec.DecodeError, RecursionError):
            continue
    return events


def count(spent: Spent) -> Usage:
    """Return what a turn used, each token counted once."""
    cached = min(max(spent.cached_input_tokens, 0), max(spent.input_tokens, 0))
    written = min(max(spent.cache_write_input_tokens, 0), max(spent.input_tokens - cached, 0))
    return Usage(max(spent.input_tokens - cached - written, 0), max(spent.output_tokens, 0), cached, written)
