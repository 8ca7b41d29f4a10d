"""Replaying a task once per night: through the ledger, under the limits, redacted before it is kept."""

from __future__ import annotations

import asyncio
import os

import msgspec

from skillopt_harvesters.redact import redact
from skillopt_replay.executors.contract import Job
from skillopt_replay.judging.judge import Judge
from skillopt_replay.protocols import Ledger, Limits
from skillopt_replay.replay import replay_key
from skillopt_replay.reserves import bound_run
from skillopt_replay.rollouts import Called, Fault, Outcome, Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task, needs_judge
from skillopt_replay.throttle import PASSING, Throttle
from skillopt_sleep.night.backends import Backends
from skillopt_sleep.night.rolls import Roller
from skillopt_sleep.night.setups import choose_setup
from skillopt_sleep.settings import Settings

_GB = 1_000_000_000


def make_roller(
    backends: Backends,
    ledger: Ledger,
    settings: Settings,
    *,
    judge: Judge | None = None,
    throttle: Throttle | None = None,
) -> Roller:
    """Return the function that training and gate replay tasks with.

    What only a judge can decide is missing data without one. A run that failed because the service is
    overloaded or out of reach is tried again, later, up to the attempts configured; each is paid for.
    """
    limits = make_limits(settings)
    agent, executor = backends.agent, backends.executor
    free = throttle or Throttle(executor.slots)

    async def roll(task: Task, skill: Skill | None, repeat: int) -> Rollout:
        if judge is None and needs_judge([task]):
            return _unjudged(task, skill, agent.identity)
        setup = choose_setup(settings, os.environ, task) if agent.needs_workspace else None
        job = Job(task=task, skill=skill, limits=limits, sample=repeat, setup=setup)

        async def make() -> Rollout:
            rollout = await executor.run(job)
            # Apart, as a long text takes long, and other runs are to be kept to their limits meanwhile.
            return await asyncio.to_thread(redact_rollout, rollout)

        key = replay_key(task, skill, agent.identity, repeat, setup.command if setup else "")
        for _ in range(settings.replay.attempts):
            async with free.slot():
                # Not while it waits: the runs before it may show that it can take more.
                most = bound_run(agent, task, skill)
                rollout = await ledger.once("rollout", key, most, make, Rollout)
            free.note(rollout.fault)
            if rollout.fault not in PASSING:
                break
        return await judge.finish(task, rollout) if judge else rollout

    return roll


def make_limits(settings: Settings) -> Limits:
    """Return the limits of one run, as configured."""
    return Limits(
        seconds=settings.replay.seconds,
        turns=settings.replay.turns,
        usd=settings.replay.usd,
        tokens=settings.replay.tokens,
        processes=settings.replay.processes,
        memory_bytes=int(settings.replay.memory_gb * _GB),
        disk_bytes=int(settings.replay.disk_gb * _GB),
    )


def _unjudged(task: Task, skill: Skill | None, agent: str) -> Rollout:
    return Rollout(
        task=task.id,
        skill=skill.digest if skill else "",
        agent=agent,
        model="",
        outcome=Outcome.INFRASTRUCTURE,
        answer="",
        error="only a judge could decide it, and there is none that may",
        fault=Fault.CHECK,
    )


def redact_rollout(rollout: Rollout) -> Rollout:
    """Return the rollout with secrets masked in everything the agent said, ran, was told or wrote."""
    return msgspec.structs.replace(
        rollout,
        answer=redact(rollout.answer),
        diff=redact(rollout.diff),
        calls=tuple(
            msgspec.structs.replace(
                call,
                command=redact(call.command) if call.command else call.command,
                error=redact(call.error) if call.error else call.error,
                arguments=redact(call.arguments),
                output=redact(call.output),
            )
            for call in rollout.calls
        ),
        steps=tuple(
            step if isinstance(step, Called) else msgspec.structs.replace(step, text=redact(step.text))
            for step in rollout.steps
        ),
        error=redact(rollout.error) if rollout.error else rollout.error,
        notes=tuple(redact(note) for note in rollout.notes),
    )
