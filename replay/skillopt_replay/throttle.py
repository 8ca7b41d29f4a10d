"""How many calls a provider takes at a time: fewer after it said no, one more after a run of good ones."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from skillopt_replay.models.retries import Patience
from skillopt_replay.rollouts import Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

# What waiting helps with, and what fewer calls at a time help with.
PASSING = frozenset({Fault.RATE, Fault.OVERLOAD, Fault.NETWORK, Fault.CUT, Fault.WORKER})
_CROWDED = frozenset({Fault.RATE, Fault.OVERLOAD})
_LOG = logging.getLogger(__name__)


class Throttle:
    """Lets at most `width` calls run at a time, and none while the provider wants to be left alone.

    Additive increase, multiplicative decrease, as TCP shares a line (Chiu and Jain, 1989): a refusal halves
    the width and holds every start back for a wait that doubles with each refusal in a row; `width` good
    calls in a row widen it by one, up to `slots`.
    """

    def __init__(
        self,
        slots: int,
        *,
        patience: Patience = Patience(first_wait_s=5.0, longest_wait_s=300.0),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.width = slots
        self._slots = slots
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - jitter, not a secret
        self._running = 0
        self._good = 0
        self._refusals = 0
        self._not_before = 0.0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait until a call may start, and hold its place."""
        while (wait := self._not_before - self._clock()) > 0 or self._running >= self.width:
            if wait > 0:
                await self._sleep(wait)
            else:
                await self._changed.wait()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._wake()

    def note(self, fault: Fault | None) -> None:
        """Say how a call ended; None: well.

        Calls that were under way when the first of them was refused are refused for the same reason, so
        until the wait is over no further refusal counts.
        """
        if fault is None:
            self._refusals = 0
            self._good += 1
            if self._good >= self.width:
                self._good = 0
                self.width = min(self.width + 1, self._slots)
                self._wake()
        elif fault in PASSING and self._clock() >= self._not_before:
            self._good = 0
            if fault in _CROWDED:
                self.width = max(self.width // 2, 1)
            wait = self._patience.wait(min(self._refusals, 30), self._rng)
            self._not_before = self._clock() + wait
            self._refusals += 1
            _LOG.info("a run failed (%s); the next one starts in %.0f s", fault.value, wait)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
