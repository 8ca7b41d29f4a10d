"""Whether a cluster still has somebody who can go on with what it was given."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from skillopt_replay.errors import ReplayError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import distributed

_SILENT = "the scheduler does not answer any more"
_LOOK_SECONDS = 2.0
_ANSWER_SECONDS = 10.0
_GONE_SECONDS = 60.0  # in which a worker, or what starts it again, may come back


class NotBegun(ReplayError):
    """A worker cannot run the job, and has not begun to."""


class Gone(Exception):
    """Nobody in the cluster goes on with the run, in words."""


class Pulse:
    """Asks the scheduler for its workers, as long as `watch` runs, and connects anew to one that came back.

    Dask itself waits for workers, and for a scheduler that it has given up, without end and without a word.
    """

    def __init__(
        self, client: distributed.Client, connect: Callable[[], Awaitable[distributed.Client]]
    ) -> None:
        """`connect` raises where no scheduler with workers answers."""
        self.client = client
        self._connect = connect
        self._heard = time.monotonic()
        self._gone = asyncio.Event()
        self._why = ""

    @property
    def why(self) -> str:
        """Why nothing can be run now, "" when it can."""
        return self._why or ("" if self.client.status == "running" else _SILENT)

    async def watch(self) -> None:
        """Look again and again until cancelled."""
        while True:
            if self.client.status != "running":
                # What it was asked for is lost, and a scheduler that is started again knows nothing of us.
                self._stop(_SILENT)
                with contextlib.suppress(Exception):
                    closing: Awaitable[Any] = self.client.close()  # type: ignore[no-untyped-call]
                    await asyncio.wait_for(closing, _ANSWER_SECONDS)
                with contextlib.suppress(Exception):
                    self.client = await self._connect()
            trouble = await self._look()
            if not trouble:
                self._heard, self._why = time.monotonic(), ""
                self._gone.clear()
            elif time.monotonic() - self._heard > _GONE_SECONDS:
                self._stop(trouble)
            await asyncio.sleep(_LOOK_SECONDS)

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
        scheduler = self.client.scheduler
        with contextlib.suppress(Exception):
            if scheduler is not None and self.client.status == "running":
                threads = await asyncio.wait_for(scheduler.ncores(), _ANSWER_SECONDS)
                return "" if threads else "all workers went away"
        return _SILENT

    def _stop(self, why: str) -> None:
        self._why = why
        self._gone.set()
