"""Runs a child in its own process group, with limits on time and output, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import msgspec
import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KEEP_BYTES = 1_000_000
FLOOD_BYTES = 1 << 30
GRACE_SECONDS = 1.0
_LOOK_SECONDS = 0.5


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended. `returncode` is negative for the signal that killed it.

    `stdout` and `stderr` hold at most the bytes asked for (bad UTF-8 replaced); `truncated` says that
    more was written and dropped, `flooded` that the child was killed for writing without end, `stopped` that
    it was killed because `enough` said so.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool
    truncated: bool
    flooded: bool
    seconds: float
    stopped: bool = False


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    stdin: bytes = b"",
    keep_bytes: int = KEEP_BYTES,
    flood_bytes: int = FLOOD_BYTES,
    on_stdout: Callable[[bytes], None] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    enough: Callable[[], bool] | None = None,
) -> Finished:
    """Run `argv` with exactly this environment and wait for its end, or end it after `seconds`.

    With `on_stdout` the output goes there in pieces and is not kept; `on_stderr` takes pieces of what is kept
    as well. After each piece `enough` tells whether the child has to be stopped. When the child ends, is out
    of time, floods, is stopped, or the caller is cancelled, its whole process group and every descendant that
    was seen outside of the group are killed. Raises OSError when the program cannot be started.
    """
    started = time.monotonic()
    takers = {fd: take for fd, take in ((1, on_stdout), (2, on_stderr)) if take is not None}
    transport, child = await _spawn(argv, cwd, env, lambda: _Child(keep_bytes, flood_bytes, takers, enough))
    tree = _Tree(transport.get_pid())
    tree.forbid_core_dumps()
    timed_out = False
    try:
        _feed(transport, stdin)
        timed_out = await _wait(child, tree, started + seconds)
        if not child.exited.done():
            await tree.end(child.exited)
        tree.kill()
        # A descendant may hold the pipes open for ever; what was written before the end is enough.
        await asyncio.wait([child.closed], timeout=GRACE_SECONDS)
    finally:
        if not child.exited.done():
            tree.kill()
            await _outlast(child.exited)
        transport.close()
    returncode = transport.get_returncode()
    return Finished(
        returncode=-signal.SIGKILL if returncode is None else returncode,
        stdout=child.text(1),
        stderr=child.text(2),
        timed_out=timed_out,
        truncated=child.dropped,
        flooded=child.flooded.done(),
        seconds=time.monotonic() - started,
        stopped=child.stopped.done(),
    )


async def _spawn(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], make: Callable[[], _Child]
) -> tuple[asyncio.SubprocessTransport, _Child]:
    """Start the child; cancelled half-way, it is killed with its group before the error goes on."""
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(make, *argv, cwd=cwd, env=dict(env), start_new_session=True)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # asyncio's own cleaning up would kill the child only, and wait for those it had started.
        await asyncio.wait([starting])
        if starting.exception() is None:
            transport, child = starting.result()
            _Tree(transport.get_pid()).kill()
            await _outlast(child.exited)
            transport.close()
        raise


def _feed(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        if data:
            pipe.write(data)
        pipe.close()


async def _wait(child: _Child, tree: _Tree, deadline: float) -> bool:
    """Return when the child exits or has to be ended; True when the deadline came first."""
    ends = [child.exited, child.flooded, child.stopped]
    while not any(end.done() for end in ends):
        left = deadline - time.monotonic()
        if left <= 0:
            return True
        tree.look()
        await asyncio.wait(
            ends,
            timeout=min(left, _LOOK_SECONDS),
            return_when=asyncio.FIRST_COMPLETED,
        )
    return False


async def _outlast(exited: asyncio.Future[None]) -> None:
    """Wait until the killed child is reaped, also when we are cancelled once more."""
    waiting = asyncio.ensure_future(asyncio.wait([exited], timeout=5.0))
    while not waiting.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(waiting)


class _Child(asyncio.SubprocessProtocol):
    """Collects what the child writes, in bounded memory."""

    def __init__(
        self,
        keep: int,
        flood: int,
        takers: Mapping[int, Callable[[bytes], None]],
        enough: Callable[[], bool] | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.flooded: asyncio.Future[None] = loop.create_future()
        self.stopped: asyncio.Future[None] = loop.create_future()
        self.dropped = False
        self._kept = {1: bytearray(), 2: bytearray()}
        self._keep = keep
        self._left = flood
        self._takers = takers
        self._enough = enough

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self.dropped = True
            if not self.flooded.done():
                self.flooded.set_result(None)
            return
        if fd in self._takers:
            self._takers[fd](data)
            if self._enough is not None and not self.stopped.done() and self._enough():
                self.stopped.set_result(None)
        if fd == 1 and fd in self._takers:
            return
        room = self._keep - len(self._kept[fd])
        self._kept[fd] += data[: max(room, 0)]
        self.dropped = self.dropped or len(data) > room

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, _exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def text(self, fd: int) -> str:
        return self._kept[fd].decode("utf-8", "replace")


class _Tree:
    """The child's process group, and its descendants that left it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        # psutil compares start times, so a number that is used again is never mistaken for ours.
        self._child = _process(pid)
        self._seen: dict[int, psutil.Process] = {}

    def forbid_core_dumps(self) -> None:
        if sys.platform == "linux":
            import resource

            with contextlib.suppress(OSError):
                resource.prlimit(self._pid, resource.RLIMIT_CORE, (0, 0))

    def look(self) -> None:
        """Remember the descendants; one that is orphaned later could not be found any more."""
        for process in (self._child, *self._seen.values()):
            if process is None:
                continue
            with contextlib.suppress(psutil.Error):
                for child in process.children(recursive=True):
                    self._seen.setdefault(child.pid, child)

    async def end(self, exited: asyncio.Future[None]) -> None:
        """Ask the group to end, and give it a moment."""
        self.look()
        self._signal_group(signal.SIGTERM)
        await asyncio.wait([exited], timeout=GRACE_SECONDS)

    def kill(self) -> None:
        self.look()
        self._signal_group(signal.SIGKILL)
        for process in self._seen.values():
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None
