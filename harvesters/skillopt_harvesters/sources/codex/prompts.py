"""The user's prompts, each once, in whatever streams a file tells them.

A prompt is told up to twice: among what the model was given, and as an event or a completed item. Old files
have only the first, a file may begin with one pair and go on with another, and a prompt may lack either half.
The two halves stand close together, so a prompt that was told elsewhere a moment ago is the same one, and
one that comes in the same stream is a new one.
"""

from __future__ import annotations

import msgspec

from skillopt_harvesters.claims import mark_of
from skillopt_harvesters.sources.codex.forks import to_ms
from skillopt_harvesters.sources.codex.words import Words

GIVEN = 1  # to the model: response_item/message
EVENT = 2  # event_msg/user_message
ITEM = 4  # event_msg/item_completed
_RECENT = 8
_CLOSE_MS = 120_000


class Told(msgspec.Struct):
    """A prompt that was told: the mark of its text, when, in milliseconds, and in which streams."""

    mark: int
    ms: int | None
    streams: int

    def is_half(self, mark: int, ms: int | None, stream: int) -> bool:
        """Whether a record of another stream may tell the same prompt."""
        is_close = self.ms is None or ms is None or abs(self.ms - ms) <= _CLOSE_MS
        return self.mark == mark and is_close and not self.streams & stream


class Ledger(msgspec.Struct):
    """The latest prompts. `fresh` is the stream of the one that was told by the record before."""

    recent: list[Told] = []
    seen: int = 0
    fresh: int = 0

    def is_known(self, words: Words, stream: int, time: str | int | float | None) -> bool:
        """Tell whether the prompt was told before; note that it now is in this stream."""
        mark = mark_of("".join(f"{words.command or ''} {words.prompt}".split()))
        ms = to_ms(time)
        self.seen |= stream
        for told in reversed(self.recent):
            if told.is_half(mark, ms, stream):
                told.streams |= stream
                return True
        self.recent = [*self.recent[1 - _RECENT :], Told(mark, ms, stream)]
        return False

    def is_complete(self, stream: int) -> bool:
        """Tell whether the prompt before the latest was told in a stream already."""
        return len(self.recent) > 1 and bool(self.recent[-2].streams & stream)

    def adopt(self) -> None:
        """Note that the latest prompt is the one before it, told in other words."""
        latest = self.recent.pop()
        if self.recent:
            latest.streams |= self.recent[-1].streams
            self.recent[-1] = latest
