"""Where a night's rollouts run, as the settings say: here, or on the workers of a Dask scheduler."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.executors.local import LocalExecutor
from skillopt_replay.models.registry import open_model
from skillopt_sleep.night.workbenches import make_prices, open_workbench
from skillopt_sleep.paths import locate, make_private
from skillopt_sleep.settings import Settings

if TYPE_CHECKING:
    from skillopt_replay.executors.contract import Executor, Workbench
    from skillopt_replay.protocols import ChatModel

_DASK = "dask:"


@asynccontextmanager
async def open_executor(agent: str, settings: Settings, workbench: Workbench) -> AsyncIterator[Executor]:
    """Open the executor of the settings; close it at the end. Raises Unavailable with what to do."""
    where = settings.replay.executor
    if not where.startswith(_DASK):
        local = LocalExecutor(workbench, slots=settings.replay.concurrency)
        try:
            yield local
        finally:
            await local.close()
        return
    from skillopt_replay.executors.dask import open_dask

    address, opener = where.removeprefix(_DASK), make_opener(agent, settings)
    async with open_dask(address, opener, agent=workbench.agent.identity) as executor:
        yield executor


def check_executor(settings: Settings) -> str:
    """Return where rollouts would run. Raises Unavailable when nobody is there to run them."""
    where = settings.replay.executor
    if not where.startswith(_DASK):
        return f"runs on this machine, {settings.replay.concurrency} at a time"
    from skillopt_replay.executors.dask import find_workers

    address = where.removeprefix(_DASK)
    return f"runs go to Dask at {address}: {asyncio.run(find_workers(address))}"


def make_opener(agent: str, settings: Settings) -> WorkerOpener:
    """Return what is sent to the workers: no more than a workbench asks for, as others may hold secrets."""
    shared = Settings(target=settings.target, replay=settings.replay, prices=settings.prices)
    return WorkerOpener(agent=agent, settings=msgspec.msgpack.encode(shared))


@dataclass(frozen=True)
class WorkerOpener:
    """Opens the same agent on a worker: its program, sign-in, folders and keys are the worker's own."""

    agent: str
    settings: bytes

    def __call__(self) -> AbstractAsyncContextManager[Workbench]:
        return _open_here(self.agent, msgspec.msgpack.decode(self.settings, type=Settings))


@asynccontextmanager
async def _open_here(agent: str, settings: Settings) -> AsyncIterator[Workbench]:
    paths = locate()
    async with AsyncExitStack() as stack:

        async def model(spec: str) -> ChatModel:
            context = open_model(
                spec,
                env=os.environ,
                cache_dir=paths.models,
                prices=make_prices(settings),
                work=make_private(paths.replays),
            )
            return await stack.enter_async_context(context)

        yield await open_workbench(agent, settings, paths, os.environ, model)
