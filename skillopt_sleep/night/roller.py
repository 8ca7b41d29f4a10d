"""Replaying a task once per night: through the ledger, under the limits, redacted before it is kept."""

from __future__ import annotations

import msgspec

from skillopt_harvesters.redact import redact
from skillopt_replay.protocols import Ledger, Limits
from skillopt_replay.replay import replay, replay_key
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.config import Settings
from skillopt_sleep.night.backends import Backends
from skillopt_sleep.paths import Paths, make_private
from skillopt_sleep.training.records import Roller


def make_roller(backends: Backends, ledger: Ledger, paths: Paths, settings: Settings) -> Roller:
    """Return the function that training and gate replay tasks with."""
    limits = Limits(seconds=settings.replay.seconds, turns=settings.replay.turns, usd=settings.replay.usd)
    agent = backends.agent

    async def roll(task: Task, skill: Skill | None, repeat: int) -> Rollout:
        async def make() -> Rollout:
            root = make_private(paths.replays)
            rollout = await replay(task, skill, agent, root=root, sandbox=backends.sandbox, limits=limits)
            return redact_rollout(rollout)

        key = replay_key(task, skill, agent.identity, repeat)
        return await ledger.once("rollout", key, agent.estimate, make, Rollout)

    return roll


def redact_rollout(rollout: Rollout) -> Rollout:
    """Return the rollout with secrets masked in everything the agent said or ran."""
    return msgspec.structs.replace(
        rollout,
        answer=redact(rollout.answer),
        calls=tuple(
            msgspec.structs.replace(
                call,
                command=redact(call.command) if call.command else call.command,
                error=redact(call.error) if call.error else call.error,
            )
            for call in rollout.calls
        ),
        error=redact(rollout.error) if rollout.error else rollout.error,
    )
