"""Whether a cluster still has somebody who can go on with what it was given."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from skillopt_replay.errors import ReplayError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import distributed

_LOOK_SECONDS = 2.0
_ANSWER_SECONDS = 10.0
_GONE_SECONDS = 60.0  # in which a worker, or what starts it again, may come back


class NotBegun(ReplayError):
    """A worker cannot run the job, and has not begun to."""


class Gone(Exception):
    """Nobody in the cluster goes on with the run, in words."""


class Pulse:
    """Asks the scheduler for its workers, as long as `watch` runs.

    `why` says that nobody is there to run anything, and is "" otherwise. Dask itself waits for workers, and
    for a scheduler that it has given up, without end and without a word.
    """

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self._heard = time.monotonic()
        self._gone = asyncio.Event()
        self.why = ""

    async def watch(self) -> None:
        """Look again and again until cancelled, or until the connection is closed for good."""
        while self._client.status not in ("closing", "closed"):
            trouble = await self._look()
            if not trouble:
                self._heard, self.why = time.monotonic(), ""
                self._gone.clear()
            elif time.monotonic() - self._heard > _GONE_SECONDS:
                self._stop(trouble)
            await asyncio.sleep(_LOOK_SECONDS)
        self._stop("the connection to the scheduler was lost for good")

    async def wait(self, work: Awaitable[Any]) -> Any:
        """Return what `work` gives. Raises Gone when nobody is there any more to do it."""
        working, ending = asyncio.ensure_future(work), asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait([working, ending], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise Gone(self.why)
            return working.result()
        finally:
            for task in (working, ending):
                task.cancel()
            await asyncio.gather(working, ending, return_exceptions=True)

    async def _look(self) -> str:
        """Return what is wrong, "" when there are workers."""
        scheduler = self._client.scheduler
        with contextlib.suppress(OSError, ValueError, TypeError, asyncio.TimeoutError):
            if scheduler is not None:
                threads = await asyncio.wait_for(scheduler.ncores(), _ANSWER_SECONDS)
                return "" if threads else "all workers went away"
        return "the scheduler does not answer any more"

    def _stop(self, why: str) -> None:
        self.why = why
        self._gone.set()
