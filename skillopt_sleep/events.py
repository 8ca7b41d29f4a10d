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


def tell_fetched(listen: Listener) -> Callable[[int, int], None]:
    """Return what tells a listener, from bytes done and in all, how far a model is fetched."""

    def tell(done: int, total: int) -> None:
        listen(Event(stage="model (MB)", done=done // 1_000_000, total=total // 1_000_000))

    return tell


def ignore(event: Event) -> None:
    """Listen to nothing."""
