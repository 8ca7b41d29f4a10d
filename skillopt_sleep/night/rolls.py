"""How a night runs a task: what its training and its gate are given."""

from __future__ import annotations

from typing import Protocol

from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task


class Roller(Protocol):
    """Replays a task with a skill and scores it; repeats of the same pair are numbered from 0."""

    async def __call__(self, task: Task, skill: Skill | None, repeat: int) -> Rollout: ...
