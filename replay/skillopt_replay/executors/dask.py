"""Rollouts on the workers of a Dask cluster, on one machine or many.

Only settings, tasks and skills travel. Each worker finds the agent, its sign-in and the projects on its own
machine: the projects have to be at the same path there.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.executors.dask_pulse import Gone, NotBegun, Pulse
from skillopt_replay.rollouts import Fault, Outcome, Rollout, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    import distributed

    from skillopt_replay.executors.contract import Job, Opener

_KNOCK_SECONDS = 2.0  # for a scheduler to let us in
_CONNECT_SECONDS = 30.0  # for one that has answered before
_NAME = "skillopt-sleep"
_UNHEARD = object()
_HINT = "install it with: pip install 'skillopt-sleep[dask]'"


class Size(msgspec.Struct, frozen=True):
    """A cluster's workers, and their threads taken together."""

    workers: int
    slots: int

    def __str__(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        return f"{workers}, {self.slots} at a time"


class DaskExecutor:
    """Sends jobs to the workers a client is connected to, as many at a time as they have threads."""

    def __init__(self, pulse: Pulse, opener: Opener, *, address: str, size: Size, agent: str) -> None:
        """`agent` is the identity that rollouts carry which no worker could make."""
        self._pulse = pulse
        self._opener = opener
        self._agent = agent
        self._free = asyncio.Semaphore(size.slots)
        self.slots = size.slots
        self.name = f"Dask at {address} ({size})"

    async def run(self, job: Job) -> Rollout:
        """Return the rollout; see Executor.run. A job whose worker went away is not started again here.

        The caller pays for every start, so it is the caller who starts it again.
        """
        if not job.task.checks:
            raise ValueError(f"task {job.task.id} has no checks, so it cannot be scored")
        async with self._free:
            if self._pulse.why:
                return self._fail(job, self._pulse.why, began=False)
            return await self._run(job, f"{_NAME}-{uuid.uuid4().hex}")

    async def _run(self, job: Job, key: str) -> Rollout:
        from distributed import Event

        from skillopt_replay.executors.dask_worker import run_job

        client = self._pulse.client
        started, stop = (Event(f"{key}-{what}", client=client) for what in ("started", "stop"))
        over = [started, stop]
        future = client.submit(
            run_job,
            msgspec.msgpack.encode(job),
            self._opener,
            key,
            self._agent,
            key=key,
            pure=False,
            retries=0,
        )
        try:
            data = await self._pulse.wait(future)
        except asyncio.CancelledError:
            # The worker does not hear of a cancelled future before its run has ended.
            over.remove(stop)
            await _ask(stop.set())
            raise
        except Gone as error:
            # In this order: a worker notes its start before it looks whether it is to stop.
            over.remove(stop)
            began = await _ask(started.is_set()) if await _ask(stop.set()) is not _UNHEARD else _UNHEARD
            return self._fail(job, str(error), began=began is not False)
        except NotBegun as error:
            return self._fail(job, f"the worker cannot run it: {error.message}", began=False)
        except Exception as error:  # noqa: BLE001 - what a cluster can raise is no closed set
            return self._fail(job, f"the worker went away: {type(error).__name__}: {str(error)[:300]}")
        finally:
            future.release()
            for event in over:
                await _ask(event.clear())
        return self._read(job, data)

    def _read(self, job: Job, data: Any) -> Rollout:
        """Take a worker's result for what it is: it comes from another machine, maybe of another version."""
        try:
            rollout: Rollout = msgspec.msgpack.decode(data, type=Rollout)
        except (msgspec.DecodeError, TypeError) as error:
            return self._fail(
                job, f"the worker's result cannot be read, is it of another version? {str(error)[:300]}"
            )
        if rollout.agent != self._agent:
            # Evidence holds for one agent and version; its runs elsewhere are none of it.
            return self._fail(job, f"the worker has {rollout.agent} instead of {self._agent}")
        if (rollout.task, rollout.skill) != (job.task.id, job.skill.digest if job.skill else ""):
            return self._fail(job, "the worker's result is of another run")
        if rollout.score is not None and len(rollout.score.results) != len(job.task.checks):
            return self._fail(job, "the worker's result does not answer every check")
        return rollout

    def _fail(self, job: Job, said: str, *, began: bool = True) -> Rollout:
        """Return what became of a run: what it used is not known, or nothing if it never `began`."""
        return Rollout(
            task=job.task.id,
            skill=job.skill.digest if job.skill else "",
            agent=self._agent,
            model="",
            outcome=Outcome.INFRASTRUCTURE,
            answer="",
            usage=Usage() if began else Usage(cost_usd=0.0),
            error=said,
            fault=Fault.WORKER,
            untold=began,
        )


async def _ask(question: Awaitable[Any]) -> Any:
    """Return the scheduler's answer, `_UNHEARD` when it gives none in time."""
    try:
        return await asyncio.wait_for(question, timeout=5)
    except Exception:  # noqa: BLE001 - what a cluster can raise is no closed set
        return _UNHEARD


@asynccontextmanager
async def open_dask(address: str, opener: Opener, *, agent: str) -> AsyncIterator[DaskExecutor]:
    """Connect to the scheduler at `address` (tcp://HOST:PORT) and close the connection at the end.

    Raises Unavailable, within seconds, when Dask is not installed, nobody answers, or there is no worker.
    """
    size = await find_workers(address)
    import distributed

    # Of a scheduler that went away it tells by tracebacks, and our rollouts in words.
    logging.getLogger(distributed.client.__name__).setLevel(logging.CRITICAL)

    from skillopt_replay.executors.dask_worker import Workbenches

    async def connect() -> distributed.Client:
        client: distributed.Client = await distributed.Client(
            address, asynchronous=True, timeout=_CONNECT_SECONDS, name=_NAME
        )
        await client.register_plugin(Workbenches(), name=Workbenches.name)
        return client

    async def connect_again() -> distributed.Client:
        await find_workers(address)
        return await connect()

    pulse = Pulse(await connect(), connect_again)
    watching = asyncio.ensure_future(pulse.watch())
    try:
        yield DaskExecutor(pulse, opener, address=address, size=size, agent=agent)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await pulse.client.close()


async def find_workers(address: str) -> Size:
    """Return how large the cluster of the scheduler at `address` is; starts nothing.

    Raises Unavailable, within seconds, when Dask is not installed, nobody answers, or there is no worker.
    """
    try:
        import distributed
    except ImportError as error:
        raise Unavailable("Dask is not installed", hint=_HINT) from error
    try:
        # A client would go on trying, and say nothing meanwhile.
        async with distributed.rpc(address, timeout=_KNOCK_SECONDS) as scheduler:
            threads = await asyncio.wait_for(scheduler.ncores(), _KNOCK_SECONDS + 1.0)
    except (OSError, ValueError, TypeError, asyncio.TimeoutError) as error:
        said = str(error) or "what listens there is none"
        raise Unavailable(
            f"no Dask scheduler answers at {address}: {said}",
            hint='start one with: dask scheduler, or set replay.executor = "local"',
        ) from error
    if not threads:
        raise Unavailable(
            f"the Dask scheduler at {address} has no workers",
            hint=f"start one with: dask worker {address} --nthreads 2",
        )
    return Size(len(threads), sum(threads.values()))
