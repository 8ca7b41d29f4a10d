"""What calls have taken and may take, added up in memory against ceilings."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.admission import Admission, Amount, find_bound, find_margin, take_told
from skillopt_replay.errors import CeilingReached
from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from collections.abc import Callable


class Account:
    """Ceilings in US dollars, tokens and calls; None or 0: none. For the tasks of one event loop.

    Each call gets a number when it begins. A call without a known price counts with its estimate.
    """

    def __init__(
        self, *, max_usd: float | None = None, max_tokens: int | None = None, max_calls: int | None = None
    ) -> None:
        self._max_usd, self._max_tokens, self._max_calls = max_usd, max_tokens, max_calls
        self._admission = Admission()
        self._running: dict[int, tuple[str, Usage]] = {}
        self._numbers = count()
        self._dearest: dict[str, Amount] = {}
        self._lost: list[tuple[str, Amount]] = []
        self._ended = Usage()
        self.calls = 0

    @property
    def spent(self) -> Usage:
        """What the ended calls cost and the running ones may cost."""
        total = self._ended
        for _, estimate in self._running.values():
            total = total.plus(estimate)
        return total

    def add(self, kind: str, usage: Usage, told: Usage | None) -> None:
        """Count a call that ended before, what it `told` (None: nothing) and what it counts with."""
        self.calls += 1
        self._take(kind, usage, told)

    async def admit(self, kind: str, estimate: Usage, refuse: Callable[[], None]) -> int:
        """Begin a call, waiting while it is only in doubt what the others cost; return its number.

        `refuse` raises when no call may begin any more. Raises CeilingReached.
        """
        return await self._admission.admit(
            lambda: self._begin(kind, estimate),
            is_unpriced=lambda: estimate.cost_usd is None and kind not in self._dearest,
            refuse=refuse,
        )

    def close(self, number: int, told: Usage | None) -> Usage:
        """End a call that told this (None: nothing); return what it counts with."""
        kind, estimate = self._running.pop(number)
        usage = _believe(told, estimate)
        self._take(kind, usage, told)
        self._admission.end(number)
        return usage

    def begin_another(self, number: int, told: Usage | None, estimate: Usage | None) -> tuple[int, Usage]:
        """End an attempt and begin another; return its number, and what the first one counts with.

        `estimate` None: as that of the first. Raises CeilingReached; then the first one is still under way.
        """
        kind, first = self._running.pop(number)
        name, bound = self._admission.pause(number)
        before, dearest, lost = self._ended, self._dearest.get(kind), len(self._lost)
        usage = _believe(told, first)
        self._take(kind, usage, told)
        try:
            return self._begin(kind, estimate or first), usage
        except CeilingReached:
            self._running[number], self._ended = (kind, first), before
            self._admission.begin(number, name, bound)
            del self._lost[lost:]
            if dearest is None:
                self._dearest.pop(kind, None)
            else:
                self._dearest[kind] = dearest
            raise

    def widen(self, number: int, estimate: Usage) -> int:
        """Reserve this for a call under way where less is; return its number, which may be a new one.

        Raises CeilingReached; then its reserve is as it was.
        """
        kind, first = self._running[number]
        if first.tokens >= estimate.tokens and (first.cost_usd or 0.0) >= (estimate.cost_usd or 0.0):
            return number
        del self._running[number]
        name, bound = self._admission.pause(number)
        self.calls -= 1
        try:
            return self._begin(kind, estimate)
        except CeilingReached:
            self._running[number] = (kind, first)
            self._admission.begin(number, name, bound)
            self.calls += 1
            raise

    def find_estimate(self, number: int) -> Usage:
        """Return what was reserved for a call under way."""
        return self._running[number][1]

    def _take(self, kind: str, usage: Usage, told: Usage | None) -> None:
        self._ended = self._ended.plus(usage)
        usd, tokens = take_told(told)
        untold = Amount(
            (usage.cost_usd or 0.0) if usd is None else 0.0, usage.tokens if tokens is None else 0
        )
        if untold.usd or tokens is None:
            self._lost.append((kind, untold))
        if told is None:
            return
        known = self._dearest.get(kind, Amount())
        self._dearest[kind] = Amount(max(known.usd, usd or 0.0), max(known.tokens, tokens or 0))

    def _begin(self, kind: str, estimate: Usage) -> int:
        bound = find_bound(estimate, self._find_dearest(kind))
        margin = find_margin([*self._admission.running, *self._lost], self._find_dearest)
        spent = self.spent
        usd = (spent.cost_usd or 0.0) + margin.usd + bound.usd
        tokens = spent.tokens + margin.tokens + bound.tokens
        if self._max_calls and self.calls + 1 > self._max_calls:
            raise CeilingReached(f"the ceiling of {self._max_calls} calls is reached")
        if self._max_usd and usd > self._max_usd + 1e-9:
            raise CeilingReached(
                f"the next call could bring the cost to ${usd:.2f}, above ${self._max_usd:.2f}"
            )
        if self._max_tokens and tokens > self._max_tokens:
            raise CeilingReached(
                f"the next call could bring the tokens to {tokens}, above {self._max_tokens}"
            )
        number = next(self._numbers)
        self.calls += 1
        reserved = estimate if bound.usd == (estimate.cost_usd or 0.0) else _raise(estimate, bound)
        self._running[number] = (kind, reserved)
        self._admission.begin(number, kind, bound)
        return number

    def _find_dearest(self, kind: str) -> Amount:
        return self._dearest.get(kind, Amount())


def _raise(estimate: Usage, bound: Amount) -> Usage:
    more = max(bound.tokens - estimate.tokens, 0)
    return msgspec.structs.replace(
        estimate, input_tokens=estimate.input_tokens + more, cost_usd=bound.usd or estimate.cost_usd
    )


def _believe(told: Usage | None, estimate: Usage) -> Usage:
    """Return what was told, and of the estimate what was not, or cannot be."""
    usd, tokens = take_told(told)
    usage = estimate if told is None or tokens is None else told
    return msgspec.structs.replace(usage, cost_usd=estimate.cost_usd if usd is None else usd)
