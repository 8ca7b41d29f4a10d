"""Race candidates against the incumbent on train tasks, and stop early those that cannot win."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.evidence import is_valid
from skillopt_sleep.training.records import Candidate, EditResult

_FIRST_RUNG = 4  # fewer failed tasks than this are not split into two rungs
_EPSILON = 1e-9

Runs = Sequence[tuple[Task, Rollout]]
Roll = Callable[[Sequence[tuple[Task, Skill]]], Awaitable[list[Rollout]]]


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate before its race."""

    skill: Skill
    edits: tuple[EditResult, ...]
    reasoning: str


class _Lane(msgspec.Struct):
    contender: Contender
    pairs: list[tuple[Rollout, Rollout]]

    def gain(self) -> tuple[float, float]:
        """Return by how much the hard and soft scores exceed the incumbent's, as means over the pairs."""
        hard, soft, base_hard, base_soft = self.means()
        return hard - base_hard, soft - base_soft

    def means(self) -> tuple[float, float, float, float]:
        scores = [(new.score, old.score) for new, old in self.pairs]
        valid = [(new, old) for new, old in scores if new is not None and old is not None]
        count = max(len(valid), 1)
        return (
            sum(new.hard for new, _ in valid) / count,
            sum(new.soft for new, _ in valid) / count,
            sum(old.hard for _, old in valid) / count,
            sum(old.soft for _, old in valid) / count,
        )

    def wins(self) -> bool:
        hard, soft = self.gain()
        return hard > _EPSILON or (abs(hard) <= _EPSILON and soft > _EPSILON)


async def race(
    contenders: Sequence[Contender], failed: Runs, passed: Runs, roll: Roll
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the candidates that beat the incumbent, best first, and the others.

    `failed` and `passed` are train tasks with the incumbent's valid rollouts. A contender that gains nothing
    on the first half of the failed tasks is stopped there. One that gains nothing on all of them is stopped
    before the passed ones, on which it could only lose. Tasks without a valid run are left out of the
    comparison on both sides. Order: gain in hard score, then in soft score, then the shorter skill.
    """
    half = math.ceil(len(failed) / 2) if len(failed) >= _FIRST_RUNG else len(failed)
    lanes = [_Lane(contender, []) for contender in contenders]
    running = lanes
    for rung in (failed[:half], failed[half:], passed):
        steps = [(lane, task, old) for lane in running for task, old in rung]
        rolled = await roll([(task, lane.contender.skill) for lane, task, _ in steps])
        for (lane, _, old), new in zip(steps, rolled, strict=True):
            if is_valid(new):
                lane.pairs.append((new, old))
        running = [lane for lane in running if lane.wins()]
    winners = sorted(running, key=_rank)
    losers = sorted((lane for lane in lanes if lane not in running), key=_rank)
    return tuple(map(_conclude, winners)), tuple(map(_conclude, losers))


def _rank(lane: _Lane) -> tuple[float, float, int, str]:
    hard, soft = lane.gain()
    skill = lane.contender.skill
    size = len(skill.text) + sum(len(file.content) for file in skill.files)
    return -round(hard, 9), -round(soft, 9), size, skill.digest


def _conclude(lane: _Lane) -> Candidate:
    hard, soft, base_hard, base_soft = lane.means()
    return Candidate(
        skill=lane.contender.skill,
        edits=lane.contender.edits,
        train_hard=hard,
        train_soft=soft,
        base_hard=base_hard,
        base_soft=base_soft,
        raced=len(lane.pairs),
        reasoning=lane.contender.reasoning,
    )
