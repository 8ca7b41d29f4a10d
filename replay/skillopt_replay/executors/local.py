"""Rollouts on this machine, in this process."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from skillopt_replay.launchpad import Launchpad
from skillopt_replay.replay import replay
from skillopt_replay.templates import Templates

if TYPE_CHECKING:
    from skillopt_replay.executors.contract import Job, Workbench
    from skillopt_replay.rollouts import Rollout

_LOG = logging.getLogger(__name__)


class LocalExecutor:
    """Runs at most `slots` rollouts at a time with one workbench."""

    def __init__(self, workbench: Workbench, *, slots: int) -> None:
        if slots < 1:
            raise ValueError(f"an executor needs a slot, not {slots}")
        self._workbench = workbench
        self._templates = Templates(workbench.root, slots=slots)
        self._launchpad = Launchpad()
        self._free = asyncio.Semaphore(slots)
        self.slots = slots
        self.name = "this machine"

    async def run(self, job: Job) -> Rollout:
        """Return the rollout; see Executor.run."""
        async with self._free:
            with self._launchpad.used():
                return await run_here(job, self._workbench, self._templates)

    async def close(self) -> None:
        """Remove what was kept for further runs. What cannot be removed is logged: the runs are done."""
        try:
            for note in await self._templates.close():
                _LOG.warning("%s", note)
        finally:
            await asyncio.to_thread(self._launchpad.close)


async def run_here(job: Job, workbench: Workbench, templates: Templates) -> Rollout:
    """Make the rollout in this process."""
    return await replay(
        job.task,
        job.skill,
        workbench.agent,
        root=workbench.root,
        sandbox=workbench.sandbox,
        limits=job.limits,
        toolchains=workbench.toolchains,
        setup=job.setup,
        templates=templates,
    )
