"""Which candidates of a step go on: those that win the race on its batch, and of several the best on val."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec

from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import is_lost
from skillopt_sleep.training.race import Contender, race
from skillopt_sleep.training.records import Candidate
from skillopt_sleep.training.rolling import Purpose, Runner, number
from skillopt_sleep.training.step_parts import Proposal
from skillopt_sleep.training.traces import Trace

Admit = Callable[[Skill], str]
"""Says why a candidate may not be tried, "" when it may."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates that are kept, best first, and those that lost.

    `won` is how many beat what is in force, kept or not; `told` says what else kept one back.
    """

    won: int = 0
    kept: tuple[Candidate, ...] = ()
    lost: tuple[Candidate, ...] = ()
    told: tuple[str, ...] = ()


class Racer:
    """Races the candidates of a run. `tasks` are those of val."""

    def __init__(
        self, config: Config, runner: Runner, tasks: Sequence[Task], admit: Admit = lambda _skill: ""
    ) -> None:
        self._config = config
        self._runner = runner
        self._tasks = tasks
        self._admit = admit
        self._alone = config.evaluation.gate_mode == "race"

    async def choose(
        self, proposals: Sequence[Proposal], traces: Sequence[Trace], *, step: int, epoch: int
    ) -> Choice:
        """Return which of the proposals go on; `traces` are the runs of the skill in force on the batch.

        One without a rival is not raced, unless the race is all the gate there is. Raises CeilingReached,
        ServiceRefused.
        """
        admitted, told = [], []
        for proposal in proposals:
            objection = self._admit(proposal.skill)
            if objection:
                told.append(objection)
            else:
                admitted.append(proposal)
        if len(admitted) < 2 and not self._alone:
            alone = tuple(_as_candidate(p) for p in admitted)
            return Choice(won=len(alone), kept=alone, told=tuple(told))
        contenders = [Contender(skill=p.skill, edits=p.results, reasoning=p.reasoning) for p in admitted]
        kept, lost = await self.race(contenders, traces, step=step, epoch=epoch)
        if admitted and not any(candidate.raced for candidate in (*kept, *lost)):
            told.append("no candidate could be run, the infrastructure failed")
        won, keep = len(kept), self._config.train.keep
        if self._alone and self._tasks and len(kept) > keep:
            kept = await self._order(kept, step)
        return Choice(won=won, kept=kept[:keep], lost=lost, told=tuple(told))

    async def race(
        self, contenders: Sequence[Contender], traces: Sequence[Trace], *, step: int, epoch: int
    ) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
        """Return those that beat the runs of the skill in force, best first, and the others."""
        by_task = {trace.task.id: trace for trace in reversed(traces)}
        runs = [(trace.task, trace.rollout) for trace in by_task.values()]
        failed = [(task, rollout) for task, rollout in runs if not _passes(rollout)]
        passed = [(task, rollout) for task, rollout in runs if _passes(rollout)]
        train = self._config.train
        random.Random(train.seed + step).shuffle(passed)  # noqa: S311 - a sample, not a secret
        first = (epoch - 1) * train.samples

        async def roll(steps: Sequence[tuple[Task, Skill]]) -> list[Rollout]:
            numbered = [(task, skill, number(Purpose.TRAIN, first)) for task, skill in steps]
            return await self._runner.roll("race", numbered)

        return await race(contenders, failed, passed[: train.race_passes], roll)

    async def _order(self, kept: Sequence[Candidate], step: int) -> tuple[Candidate, ...]:
        """Return the winners with the best on val first; the order of the race breaks ties."""
        steps = [(task, c.skill, number(Purpose.VAL, step)) for c in kept for task in self._tasks]
        rolled = await self._runner.roll("selection", steps)
        size = len(self._tasks)
        means = [_mean(rolled[at * size : (at + 1) * size]) for at in range(len(kept))]
        order = sorted(range(len(kept)), key=lambda at: (-means[at], at))
        return tuple(kept[at] for at in order)


def _mean(rolled: Sequence[Rollout]) -> float:
    scores = [rollout.score.hard for rollout in rolled if rollout.score is not None and not is_lost(rollout)]
    return sum(scores) / max(len(scores), 1)


def _passes(rollout: Rollout) -> bool:
    return rollout.score is not None and rollout.score.hard >= 1.0


def _as_candidate(proposal: Proposal) -> Candidate:
    return Candidate(
        skill=proposal.skill,
        edits=proposal.results,
        train_hard=0.0,
        train_soft=0.0,
        reasoning=proposal.reasoning,
    )
