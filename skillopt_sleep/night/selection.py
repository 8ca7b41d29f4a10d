"""Choosing among the candidates of one night on tasks that neither taught them nor will judge them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from skillopt_replay.tasks import Task
from skillopt_sleep.training.records import Candidate, Roller


async def select(
    candidates: Sequence[Candidate], tasks: Sequence[Task], roll: Roller, *, keep: int, concurrency: int
) -> list[Candidate]:
    """Return the `keep` best on the val tasks, best first; training's order breaks ties and stands alone.

    Nothing is run when there is nothing to choose. Lost runs count for nobody. Raises CeilingReached.
    """
    if len(candidates) <= keep or not tasks:
        return list(candidates[:keep])
    slots = asyncio.Semaphore(concurrency)

    async def score(candidate: Candidate, task: Task) -> float | None:
        async with slots:
            rollout = await roll(task, candidate.skill, 0)
        return None if rollout.score is None else rollout.score.hard

    means = []
    for candidate in candidates:
        scores = await asyncio.gather(*(score(candidate, task) for task in tasks))
        valid = [one for one in scores if one is not None]
        means.append(sum(valid) / len(valid) if valid else 0.0)
    order = sorted(range(len(candidates)), key=lambda at: (-means[at], at))
    return [candidates[at] for at in order[:keep]]
