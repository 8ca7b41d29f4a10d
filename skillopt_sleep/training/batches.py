"""How an epoch goes through the train tasks: shuffled, cut into batches, several of them to a step."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from skillopt_replay.tasks import Task
from skillopt_sleep.training.config import TrainSection
from skillopt_sleep.training.step_parts import Plan


def count_steps(size: int, config: TrainSection) -> int:
    """Return the steps of an epoch over `size` train tasks."""
    return math.ceil(size / (config.batch_size * config.accumulation))


def plan_epoch(tasks: Sequence[Task], epoch: int, config: TrainSection) -> list[Plan]:
    """Return the steps of an epoch (from 1). Every task comes once; the last batch may be small.

    The order depends on the tasks, the seed and the epoch alone.
    """
    seed = config.seed + epoch * 1000
    order = list(tasks)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    size = config.batch_size
    batches = [
        (seed + at + 1, tuple(order[start : start + size]))
        for at, start in enumerate(range(0, len(order), size))
    ]
    per_step = config.accumulation
    before = (epoch - 1) * count_steps(len(tasks), config)
    return [
        Plan(
            step=before + at + 1,
            epoch=epoch,
            step_in_epoch=at + 1,
            batches=tuple(batches[at * per_step : (at + 1) * per_step]),
        )
        for at in range(count_steps(len(tasks), config))
    ]
