"""Rollouts of a run: each paid once, a few at a time, and never a zero for what the infrastructure lost."""

from __future__ import annotations

import functools
from asyncio import Semaphore
from collections.abc import Sequence
from enum import IntEnum
from typing import NoReturn

from skillopt_replay.protocols import Ledger
from skillopt_replay.replay import replay_key
from skillopt_replay.reserves import bound_run
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.contract import Environment, Evaluates, Pays, TrainingError, is_lost, score
from skillopt_sleep.training.rounds import Report, run_all


class Purpose(IntEnum):
    """What a rollout is for: runs for one purpose are no samples of another."""

    TRAIN = 0
    VAL = 1
    RECHECK = 2
    SLOW = 3
    TEST = 4


_SPACE = 1_000_000

Step = tuple[Task, Skill, int]


def number(purpose: Purpose, index: int) -> int:
    """Return the sample number of the run `index` (from 0) for a purpose."""
    return purpose * _SPACE + index


class Runner:
    """Runs tasks in the name of a run, at most `workers` at a time."""

    def __init__(
        self,
        environment: Environment,
        ledger: Ledger,
        optimizer: Optimizer | None,
        *,
        workers: int,
        attempts: int = 2,
        most_lost: float = 0.5,
        report: Report | None = None,
    ) -> None:
        self._environment = environment
        self._ledger = ledger
        self._optimizer = optimizer
        self._slots = Semaphore(workers)
        self._attempts = attempts
        self._most_lost = most_lost
        self.report = report

    async def roll(self, stage: str, steps: Sequence[Step]) -> list[Rollout]:
        """Return the scored rollouts in the order of the steps; lost ones have no score.

        Raises TrainingError when more of them are lost than may be: that is no data to go on with.
        Raises CeilingReached, ServiceRefused.
        """
        jobs = [functools.partial(self._roll, stage, *step) for step in steps]
        rolled = await run_all(jobs, slots=self._slots, stage=stage, report=self.report)
        lost = [rollout for rollout in rolled if is_lost(rollout)]
        if len(lost) > self._most_lost * len(rolled):
            raise_lost(lost, len(rolled))
        return rolled

    async def _roll(self, stage: str, task: Task, skill: Skill, sample: int) -> Rollout:
        environment = self._environment

        async def make() -> Rollout:
            rollout = _take_rollout("rollout", task, await environment.rollout(task, skill, sample))
            if rollout.score is not None or is_failed(rollout):
                return rollout
            if isinstance(environment, Evaluates):
                return _take_rollout("evaluate", task, await environment.evaluate(task, rollout))
            return await score(task, rollout)

        if isinstance(environment, Pays):
            rollout = await environment.pay(task, skill, sample)
        else:
            key = replay_key(task, skill, f"{environment.name}/{environment.identity}", sample)
            for _ in range(self._attempts):
                most = bound_run(environment, task, skill)
                rollout = await self._ledger.once("rollout", key, most, make, Rollout)
                if not is_failed(rollout):
                    break
        if self._optimizer is not None:
            self._optimizer.note(stage, rollout.usage)
        return rollout


def _take_rollout(made_by: str, task: Task, rollout: Rollout) -> Rollout:
    """Return what an environment has made, which may be anything."""
    if not isinstance(rollout, Rollout):
        raise TrainingError(
            f"{made_by} of the environment gives {type(rollout).__name__} for task {task.id}, not a Rollout",
            hint="answer(model, task, skill) makes one, see docs/training.md",
        )
    return rollout


def raise_lost(lost: Sequence[Rollout], count: int) -> NoReturn:
    """Raise TrainingError for runs of which too many were lost, with the reasons."""
    errors = dict.fromkeys(rollout.error or "no reason given" for rollout in lost)
    raise TrainingError(
        f"the infrastructure failed {len(lost)} of {count} runs: {'; '.join(list(errors)[:3])}",
        hint="mend that and start the same command again: what was paid for is kept",
    )


def is_failed(rollout: Rollout) -> bool:
    """Return whether the infrastructure failed."""
    return rollout.outcome.value == "infrastructure"
