"""Runs a child in its own process group, with limits on time and output, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.bounds import Bounds, find_excess, restrict
from skillopt_replay.cgroups import Scope, enclose, find_maker
from skillopt_replay.disk import DiskWatch
from skillopt_replay.launchpad import find_launchpad
from skillopt_replay.process_tree import GRACE_SECONDS, Tree
from skillopt_replay.sandbox.launching import find_arguments
from skillopt_replay.spawning import spawn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Protocol

    class Started(Protocol):
        """A child that runs: its process id, and its exit code once it has one."""

        @property
        def pid(self) -> int: ...

        @property
        def returncode(self) -> int | None: ...

        def feed(self, data: bytes) -> None:
            """Write it to the standard input, and close that."""
            ...

        def close(self) -> None: ...


KEEP_BYTES = 1_000_000
FLOOD_BYTES = 1 << 30
_LOOK_SECONDS = 0.5
_TIME = "time"


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended. `returncode` is negative for the signal that killed it.

    `stdout` and `stderr` hold at most the bytes asked for; `truncated` says that
    more was written and dropped, `flooded` that the child was killed for writing without end, `stopped` that
    it was killed because `enough` said so. `excess` is the limit of its Bounds that it was killed for, in
    words.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool
    truncated: bool
    flooded: bool
    seconds: float
    stopped: bool = False
    excess: str | None = None


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
    stop: asyncio.Future[None] | None = None,
    is_sealed: bool = False,
    errors: str = "replace",
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
) -> Finished:
    """Run `argv` with exactly this environment and wait for its end, or end it after `seconds`.

    With `on_stdout` the output goes there in pieces and is not kept; `on_stderr` takes pieces of what is kept
    as well. After each piece `enough` tells whether the child has to be stopped, and at any time `stop`, when
    it is done. With `is_sealed` the outputs are sockets, which only those can write to whom the child hands
    them. `errors` is what becomes of output that is no UTF-8. When the child ends, is out of time, floods, is
    stopped, passes its bounds, or the caller is cancelled, its whole process group and every descendant that
    was seen outside of the group are killed.
    Raises OSError when the program cannot be started.
    """
    started = time.monotonic()
    takers = {fd: take for fd, take in ((1, on_stdout), (2, on_stderr)) if take is not None}
    child = _Child(keep_bytes, flood_bytes, takers, enough, stop)
    begun = await _begin(
        child, asyncio.ensure_future(_start(argv, cwd, env, bounds, child, is_sealed=is_sealed))
    )
    tree = Tree(begun.pid)
    tree.forbid_core_dumps()
    ending = None
    try:
        begun.feed(stdin)
        ending = await _wait(child, tree, started + seconds, bounds)
        if not child.exited.done():
            # What takes too much gets no time to take more, such as one more request to its model.
            await tree.end(child.exited, grace=GRACE_SECONDS if ending == _TIME else 0.0)
        tree.kill()
        # A descendant may hold the pipes open for ever; what was written before the end is enough.
        await asyncio.wait([child.closed], timeout=GRACE_SECONDS)
    finally:
        if not child.exited.done():
            tree.kill()
            await _outlast(child.exited)
        begun.close()
    return Finished(
        returncode=-signal.SIGKILL if begun.returncode is None else begun.returncode,
        stdout=child.text(1, errors),
        stderr=child.text(2),
        timed_out=ending == _TIME,
        truncated=child.dropped,
        flooded=child.flooded.done(),
        excess=ending if ending != _TIME else None,
        seconds=time.monotonic() - started,
        stopped=child.stopped.done(),
    )


async def _begin(child: _Child, starting: asyncio.Future[Started]) -> Started:
    """Wait until the child has started; cancelled half-way, it is killed before the error goes on."""
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # asyncio's own cleaning up would kill the child only, and wait for those it had started.
        await asyncio.wait([starting])
        if starting.exception() is None:
            Tree(starting.result().pid).kill()
            await _outlast(child.exited)
            starting.result().close()
        raise


async def _start(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    bounds: Bounds,
    child: _Child,
    *,
    is_sealed: bool,
) -> Started:
    maker = await find_maker(bounds)
    arguments, pad = find_arguments(argv), find_launchpad()
    if maker is None and arguments is not None and pad is not None:
        return await pad.start(
            arguments, cwd=cwd, env=env, file_bytes=bounds.disk_bytes, hearer=child, is_sealed=is_sealed
        )
    command, environment = restrict(argv, env.get("PATH"), bounds), env
    if maker is not None:
        command, environment = enclose(maker, command, env, bounds)
    return await spawn(command, cwd=cwd, env=environment, hearer=child, is_sealed=is_sealed)


async def _wait(child: _Child, tree: Tree, deadline: float, bounds: Bounds) -> str | None:
    """Return when the child exits or has to be ended: "time" at the deadline, or its excess in words."""
    disk = DiskWatch(bounds)
    scope = Scope()
    ends: list[asyncio.Future[Any]] = [child.exited, child.flooded, child.stopped]
    # Among millions of files it takes long, in which all other limits hold.
    looking: list[asyncio.Future[str | None]] = []
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return _TIME
            # Most of our own programs, and many a run, have ended before the first look.
            await asyncio.wait(
                [*ends, *looking], timeout=min(left, _LOOK_SECONDS), return_when=asyncio.FIRST_COMPLETED
            )
            if any(end.done() for end in ends):
                break
            if looking and looking[0].done():
                excess = looking.pop().result()
            else:
                running = tree.look()
                excess = find_excess(bounds, running)
                if excess is None and bounds.processes is not None:
                    excess = scope.look(tree.pid)
                if excess is None and not looking and disk.is_due:
                    pids = [process.pid for process in running]
                    looking.append(asyncio.ensure_future(asyncio.to_thread(disk.look, pids)))
            if excess is not None:
                return excess
    finally:
        disk.end()
        for look in looking:
            look.cancel()
    # The one that was killed may have been the one that the others lived by.
    return scope.look(tree.pid) if bounds.processes is not None else None


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
        stop: asyncio.Future[None] | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.flooded: asyncio.Future[None] = loop.create_future()
        self.stopped: asyncio.Future[None] = loop.create_future() if stop is None else stop
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

    def text(self, fd: int, errors: str = "replace") -> str:
        return self._kept[fd].decode("utf-8", errors)
