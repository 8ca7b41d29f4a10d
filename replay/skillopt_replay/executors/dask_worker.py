"""The part of the Dask executor that runs on the workers; imported only where Dask is installed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import msgspec
from distributed import Event, WorkerPlugin, get_client, get_worker

from skillopt_replay.errors import ReplayError
from skillopt_replay.executors.contract import Job
from skillopt_replay.executors.dask_pulse import NotBegun
from skillopt_replay.executors.local import run_here
from skillopt_replay.launchpad import Launchpad
from skillopt_replay.templates import Templates

if TYPE_CHECKING:
    from skillopt_replay.executors.contract import Opener, Workbench

_LOOK_SECONDS = 2.0
_STOPPED = "stopped by the one who had asked for it"


class Workbenches(WorkerPlugin):
    """Keeps what a worker has opened until the worker ends."""

    name = "skillopt-sleep-workbenches"

    def setup(self, worker: Any) -> None:
        self._stack = AsyncExitStack()
        self._slots = worker.state.nthreads
        self._opened: dict[Opener, tuple[Workbench, Templates]] = {}
        self._opening = asyncio.Lock()
        self.launchpad = Launchpad()

    async def teardown(self, worker: Any) -> None:
        try:
            await self._stack.aclose()
        finally:
            await asyncio.to_thread(self.launchpad.close)

    async def open(self, opener: Opener) -> tuple[Workbench, Templates]:
        """Return the opener's workbench, opened at most once, and its templates. Raises what it raises."""
        async with self._opening:
            if opener not in self._opened:
                workbench = await self._stack.enter_async_context(opener())
                templates = Templates(workbench.root, slots=self._slots)
                self._stack.push_async_callback(templates.close)
                self._opened[opener] = workbench, templates
            return self._opened[opener]


async def run_job(data: bytes, opener: Opener, key: str, agent: str) -> bytes:
    """Make the rollout on the worker this is called on, and return it as bytes.

    A scheduler sends a task again when its worker died. That would be a start that nobody has reserved
    money for, so the second one raises ConnectionError. Raises NotBegun when this worker has no `agent`, by
    its identity.
    """
    client = await get_client()
    started, stop = (Event(f"{key}-{what}", client=client) for what in ("started", "stop"))
    if await started.is_set():
        raise ConnectionError("an earlier worker died with it")
    worker = get_worker()
    workbenches = worker.plugins[Workbenches.name]
    if not isinstance(workbenches, Workbenches):
        raise TypeError(f"the worker has another plugin named {Workbenches.name}")
    try:
        workbench, templates = await workbenches.open(opener)
    except ReplayError as error:
        raise NotBegun(f"{error.message}{f' ({error.hint})' if error.hint else ''}") from error
    if workbench.agent.identity != agent:
        # Evidence holds for one agent and version; a run of another would be paid for and count for nothing.
        raise NotBegun(f"it has {workbench.agent.identity} instead of {agent}")
    await started.set()
    if await stop.is_set():
        raise InterruptedError(_STOPPED)
    with workbenches.launchpad.used():
        making = run_here(msgspec.msgpack.decode(data, type=Job), workbench, templates)
        running = asyncio.ensure_future(making)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        while not running.done():
            await asyncio.wait(
                [running, stopping], return_when=asyncio.FIRST_COMPLETED, timeout=_LOOK_SECONDS
            )
            if not running.done() and (stopping.done() or not _is_wanted(worker, key)):
                raise InterruptedError(_STOPPED)
        return msgspec.msgpack.encode(running.result())
    finally:
        running.cancel()
        stopping.cancel()
        await asyncio.gather(running, stopping, return_exceptions=True)


def _is_wanted(worker: Any, key: str) -> bool:
    """Say whether anybody still waits for it: one who was killed could not ask for an end."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state != "cancelled"
