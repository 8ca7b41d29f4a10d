"""What a long command tells while it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

NOTE = "note"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of one stage: `done` of `total` steps (total 0: unknown), `detail` in a few words.

    The stage `NOTE` is none: its `detail` is a line to be shown once, as it is.
    Where steps differ in size, `bytes_done` of `bytes_total` tell better how far it is (total 0: unknown).
    """

    stage: str
    done: int = 0
    total: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    detail: str = ""


Listener: TypeAlias = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Listen to nothing."""
