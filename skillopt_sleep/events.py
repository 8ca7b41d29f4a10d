"""What a long command tells while it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of one stage: `done` of `total` steps (total 0: unknown), `detail` in a few words."""

    stage: str
    done: int = 0
    total: int = 0
    detail: str = ""


Listener: TypeAlias = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Listen to nothing."""
