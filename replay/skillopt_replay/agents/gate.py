"""Lets the requests of a run out to its service, one by one where what is left may not cover them all.

The launcher asks here before it passes on what may be a request: its module `gate` tells how it knows one.
What the run has told is read first, so none goes out once a limit on money or tokens is known to be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from typing import TYPE_CHECKING, Protocol

from skillopt_replay.agents.spending import find_excess, fits

if TYPE_CHECKING:
    from skillopt_replay.agents.spending import Tally
    from skillopt_replay.protocols import Limits

_REQUEST = b"R"
_TOKEN_BYTES = 16
_LOOK_SECONDS = 0.005
# How long to wait while nothing moves: for the first reply, before which no request has a price ...
_FIRST_SECONDS = 5.0
_LATER_SECONDS = 20.0  # ... and for one of those under way, before the run is ended
_GRACE_SECONDS = 1.0  # for the client to come to its own end


class Metered(Protocol):
    """A Reader that knows what a run has spent so far."""

    def tally(self) -> Tally:
        """Read what is new, and return what the run has told of its requests."""
        ...

    def halt(self, why: str) -> None:
        """Take note that the run is stopped, unless it has told its result."""
        ...


class Gate:
    """One run's: a listener on the loopback, from entering to leaving.

    `stop` is done once the run has to be ended, since it asks for what it may not have; `was_asked` tells
    whether anything was to go out at all.
    """

    def __init__(self, reader: Metered, limits: Limits) -> None:
        self._reader = reader
        self._limits = limits
        self._token = secrets.token_hex(_TOKEN_BYTES).encode()
        self._let_out = 0
        self.was_asked = False
        self._seen, self._moved = (0, 0), 0.0
        self._asking: set[asyncio.Task[None]] = set()
        self._is_open = True
        self._server: asyncio.Server | None = None
        self.stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Gate:
        self._server = await asyncio.start_server(self._hear, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None  # noqa: S101 - entered
        self._server.close()
        self._is_open = False
        for task in list(self._asking):
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    @property
    def address(self) -> str:
        """Where the launcher asks: PORT:TOKEN."""
        assert self._server is not None  # noqa: S101 - entered
        return f"{self._server.sockets[0].getsockname()[1]}:{self._token.decode()}"

    def find_untold(self) -> int:
        """Return how many requests are out that the run has told nothing of."""
        told = self._reader.tally().told
        if told is None:
            return 0
        self._let_out = max(self._let_out, told)  # what is sent in small pieces is told, and was not counted
        return self._let_out - told

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio starts one for each connection
        self._asking.add(task)
        try:
            asked = await reader.readexactly(1 + len(self._token))
            # One that was on its way when we closed is heard after the others were told to go.
            if self._is_open and secrets.compare_digest(asked[1:], self._token):
                self.was_asked = True
                await self._admit(is_request=asked[:1] == _REQUEST)
                writer.write(b"1")
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the run has ended, or this is none of ours
        finally:
            self._asking.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _admit(self, *, is_request: bool) -> None:
        """Return when it may go out; where it never may, end the run and wait for that."""
        began = time.monotonic()
        while True:
            for _ in range(2):
                await asyncio.sleep(0)  # what was written before we were asked is there to be read
            untold = self.find_untold()
            tally = self._reader.tally()
            excess = find_excess(self._limits, tally.usage)
            if excess is None and (not is_request or fits(self._limits, tally, untold)):
                break
            if (self._let_out, untold) != self._seen:
                self._seen, self._moved = (self._let_out, untold), time.monotonic()
            waited = time.monotonic() - max(began, self._moved)
            if untold <= tally.unheard:
                waited = math.inf  # what is over will tell no more
            if excess is None and not tally.dearest.tokens and waited > _FIRST_SECONDS:
                break  # it may be no request, or one that the client tells late
            if excess is None and waited > _LATER_SECONDS:
                excess = "stopped: what is left may not cover the requests under way and another one"
            if excess is not None:
                await self._end(excess)
            await asyncio.sleep(_LOOK_SECONDS)
        self._let_out += is_request
        self._moved = time.monotonic()

    async def _end(self, why: str) -> None:
        await asyncio.sleep(_GRACE_SECONDS)
        self._reader.halt(why)
        if not self.stop.done():
            self.stop.set_result(None)
        await asyncio.Event().wait()
