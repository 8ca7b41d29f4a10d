"""Rollouts on this machine, in this process."""

from __future__ import annotations

import asyncio
import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.errors import ReplayError
from skillopt_replay.launchpad import Launchpad
from skillopt_replay.masking import mask
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import Fault, Outcome, Rollout, Usage
from skillopt_replay.templates import Templates

if TYPE_CHECKING:
    from skillopt_replay.executors.contract import Job, Workbench

_LOG = logging.getLogger(__name__)
_MAX_SAID = 300


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
    """Make the rollout in this process. What nobody has foreseen costs this run, and none of the others.

    Raises ValueError for a task without checks.
    """
    try:
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
    except ReplayError:
        raise  # a ceiling, or a service that refuses, is about all of them
    except Exception as error:
        if not job.task.checks:
            raise
        lost = Rollout(
            task=job.task.id,
            skill=job.skill.digest if job.skill else "",
            agent=workbench.agent.identity,
            model="",
            outcome=Outcome.INFRASTRUCTURE,
            answer="",
            usage=Usage(),
            error=f"a fault of SkillOpt-Sleep itself: {_describe(error)}",
            fault=Fault.CLIENT,
            untold=True,
        )
        return mask(lost, workbench.agent.secrets)


def _describe(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {str(error)[:_MAX_SAID]}"
    return f"{said} ({Path(place.filename).name}, line {place.lineno})"
