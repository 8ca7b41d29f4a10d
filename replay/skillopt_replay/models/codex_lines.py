"""The lines that `codex exec --json` writes: what was said, what it took, why it failed."""

from __future__ import annotations

import msgspec

from skillopt_replay.agents.codex_log import TurnUsage


class Item(msgspec.Struct, frozen=True):
    """What the model said or did."""

    type: str = ""
    text: str | None = None


class Told(msgspec.Struct, frozen=True):
    """Why a turn failed."""

    message: str | None = None


class Event(msgspec.Struct, frozen=True):
    """A line of the output; which of its parts there are depends on its type."""

    type: str = ""
    message: str = ""
    item: Item | None = None
    usage: TurnUsage | None = None
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
