"""Which calls may begin: what those under way may still take, and who waits for them to tell.

Shared by all ledgers, whether they add up in memory or in a database.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from skillopt_replay.errors import CeilingReached

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable

    from skillopt_replay.rollouts import Usage

    _Begun = TypeVar("_Begun")
    _Kind = TypeVar("_Kind")

_MOST_TOKENS = 1 << 40  # more than any call can use


class Amount(NamedTuple):
    """US dollars and tokens of one call or of several."""

    usd: float = 0.0
    tokens: int = 0


def take_told(usage: Usage | None) -> tuple[float | None, int | None]:
    """Return dollars and tokens as they were told, None for what no call can cost: then its reserve counts.

    A run can write into what its client tells us, and a server can tell anything.
    """
    if usage is None:
        return None, None
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    if not all(0 <= count < _MOST_TOKENS for count in counts):
        return None, None  # the dollars would follow from the tokens
    usd = usage.cost_usd
    return usd if usd is not None and 0.0 <= usd < math.inf else None, sum(counts)


def find_bound(estimate: Usage, dearest: Amount) -> Amount:
    """Return what to reserve: a client may pass its own bound by a request, and what one did, another may."""
    usd = max(estimate.cost_usd or 0.0, dearest.usd)
    # A price without end, or that is no number, must not compare as less than every ceiling.
    return Amount(usd if usd < math.inf else math.inf, max(estimate.tokens, dearest.tokens))


def find_margin(untold: Iterable[tuple[_Kind, Amount]], find_dearest: Callable[[_Kind], Amount]) -> Amount:
    """Return by how much calls that have not told what they took may pass what was reserved for them.

    Each by a request, and none of that kind took more than the dearest call so far; while none has told what
    it took, as much again as was reserved. So only the call that is begun last may pass a ceiling. It is the
    same for those under way and for those that will tell no more, since they or we were killed.
    """
    usd, tokens = 0.0, 0
    for kind, bound in untold:
        dearest = find_dearest(kind)
        # Nothing was reserved while nobody knew a price.
        usd += min(bound.usd or dearest.usd, dearest.usd or bound.usd)
        tokens += min(bound.tokens, dearest.tokens or bound.tokens)
    return Amount(usd, tokens)


class Admission:
    """The calls of this process that are under way, and what was reserved for each."""

    def __init__(self) -> None:
        self._running: dict[Hashable, tuple[str, Amount]] = {}
        # Heavy, and who only reads what was spent needs none.
        import asyncio

        self._ended = asyncio.Event()

    async def admit(
        self, reserve: Callable[[], _Begun], *, is_unpriced: Callable[[], bool], refuse: Callable[[], None]
    ) -> _Begun:
        """Return what `reserve` returns, waiting while it is only in doubt what the calls under way cost.

        `refuse` raises when no call may begin any more. Of calls whose price nobody has told yet
        (`is_unpriced`) the first goes alone: what it tells is kept for the others. Raises CeilingReached.
        """
        while True:
            refuse()
            if not (self._running and is_unpriced()):
                try:
                    return reserve()
                except CeilingReached:
                    if not self._running:
                        raise
            await self._ended.wait()

    def begin(self, name: Hashable, kind: str, bound: Amount) -> None:
        """Note a call as under way."""
        self._running[name] = (kind, bound)

    def holds(self, name: Hashable, most: Usage) -> bool:
        """Say whether as much as this is reserved for a call under way."""
        bound = self._running[name][1]
        return bound.usd >= (most.cost_usd or 0.0) and bound.tokens >= most.tokens

    def pause(self, name: Hashable) -> tuple[str, Amount]:
        """Take a call out for a moment, without letting others begin; `begin` puts it back."""
        return self._running.pop(name)

    def end(self, name: Hashable) -> None:
        """Note that a call has ended, and let those that wait look again."""
        del self._running[name]
        self._ended.set()
        import asyncio

        self._ended = asyncio.Event()

    @property
    def running(self) -> Collection[tuple[str, Amount]]:
        """The calls under way: kind, and what was reserved."""
        return self._running.values()
