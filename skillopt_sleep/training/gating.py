"""The gate of a run: the candidate beside the incumbent on the val tasks, both measured anew."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skillopt_gate.decide import judge
from skillopt_gate.metrics import project
from skillopt_gate.verdicts import Decision, Pair, Policy, Verdict
from skillopt_gate.vetoes import RECHECK_RUNS, suspects
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.config import EvaluationSection
from skillopt_sleep.training.contract import is_lost
from skillopt_sleep.training.rolling import Purpose, Runner, number


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """How a skill did on tasks: means over the valid runs, and `score` by the gate's metric.

    `runs` are the valid runs, `lost` those the infrastructure failed; a mean of no run is 0. `index` is where
    its samples begin.
    """

    hard: float = 0.0
    soft: float = 0.0
    score: float = 0.0
    runs: int = 0
    lost: int = 0
    index: int = 0

    def plus(self, other: Measure) -> Measure:
        """Return both together, weighted by their runs."""
        runs = max(self.runs + other.runs, 1)
        hard, soft, score = (
            (getattr(self, name) * self.runs + getattr(other, name) * other.runs) / runs
            for name in ("hard", "soft", "score")
        )
        return Measure(
            hard=hard,
            soft=soft,
            score=score,
            runs=self.runs + other.runs,
            lost=self.lost + other.lost,
            index=self.index,
        )


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says; without a verdict there was none to be asked."""

    candidate: Measure
    incumbent: Measure
    verdict: Verdict | None = None

    @property
    def accepted(self) -> bool:
        return self.verdict is None or self.verdict.decision is Decision.ACCEPT


Runs = list[list[Rollout]]
"""The rollouts of each task, in the order of the tasks."""


class Gate:
    """Compares on the val tasks of a run. In mode race it runs nothing and lets everything in."""

    def __init__(self, tasks: Sequence[Task], runner: Runner, config: EvaluationSection) -> None:
        self._tasks = tasks if config.gate_mode != "race" else ()
        self._runner = runner
        self._config = config

    async def measure(self, skill: Skill, index: int, *, stage: str = "selection") -> Measure:
        """Return how the skill does on the samples from `index` on."""
        runs = await self._run(stage, [(skill, index)])
        return self.summarize(runs[0], index)

    async def compare(
        self,
        incumbent: Skill,
        candidate: Skill,
        *,
        index: int,
        known: Measure | None,
        problems: Sequence[str] = (),
    ) -> Comparison:
        """Return how the candidate fares; `index` has to be new for every comparison of a run.

        `known` is the incumbent's measure where that is not to be repeated. A task that the candidate seems
        to have broken is run again on both sides before that stops it.
        """
        other = index if known is None or self._config.remeasure else known.index
        if not self._config.use_gate or not self._tasks:
            new = await self.measure(candidate, index)
            return Comparison(candidate=new, incumbent=known or Measure())
        old, new_runs = await self._run("selection", [(incumbent, other), (candidate, index)])
        pairs = [
            Pair(
                task=task.id,
                incumbent=self._scores(before),
                candidate=self._scores(after),
                runs=self._config.samples,
            )
            for task, before, after in zip(self._tasks, old, new_runs, strict=True)
        ]
        verdict = self._judge(pairs, problems)
        if verdict.broken and not problems and self._would_pass(verdict):
            pairs = await self._recheck(pairs, incumbent, candidate, index)
            verdict = self._judge(pairs, problems)
        return Comparison(
            candidate=self.summarize(new_runs, index), incumbent=self.summarize(old, other), verdict=verdict
        )

    def summarize(self, runs: Runs, index: int = 0) -> Measure:
        """Return the means of runs."""
        flat = [rollout for rollouts in runs for rollout in rollouts]
        scores = [rollout.score for rollout in flat if rollout.score is not None]
        count = max(len(scores), 1)
        return Measure(
            hard=sum(s.hard for s in scores) / count,
            soft=sum(s.soft for s in scores) / count,
            score=sum(self.project(r) for r in flat if not is_lost(r)) / count,
            runs=len(scores),
            lost=len(flat) - len(scores),
            index=index,
        )

    def project(self, rollout: Rollout) -> float:
        """Return the score of a valid rollout by the gate's metric."""
        score = rollout.score
        if score is None:
            raise ValueError(f"task {rollout.task}: a lost run has no score")
        return project(
            score.hard, score.soft, self._config.gate_metric, weight=self._config.gate_mixed_weight
        )

    async def _run(self, stage: str, sides: Sequence[tuple[Skill, int]]) -> list[Runs]:
        count = self._config.samples
        steps = [
            (task, skill, number(Purpose.VAL, index + sample))
            for skill, index in sides
            for task in self._tasks
            for sample in range(count)
        ]
        rolled = await self._runner.roll(stage, steps)
        size = len(self._tasks) * count
        return [_group(rolled[i * size : (i + 1) * size], count) for i in range(len(sides))]

    def _scores(self, rollouts: Sequence[Rollout]) -> tuple[float, ...]:
        return tuple(self.project(rollout) for rollout in rollouts if not is_lost(rollout))

    def _policy(self) -> Policy:
        config = self._config
        return Policy(
            mode="strict" if config.gate_mode == "strict" else "one-night",
            alpha=config.gate_alpha,
            min_effect=config.gate_min_effect,
            min_tasks=config.gate_min_tasks,
            max_cost_ratio=0.0,
            max_time_ratio=0.0,
        )

    def _judge(self, pairs: Sequence[Pair], problems: Sequence[str]) -> Verdict:
        verdict, _ = judge(pairs, None, self._policy(), identity="val", problems=problems)
        return verdict

    def _would_pass(self, verdict: Verdict) -> bool:
        return verdict.p_value <= verdict.look_level and verdict.effect >= self._config.gate_min_effect

    async def _recheck(
        self, pairs: Sequence[Pair], incumbent: Skill, candidate: Skill, index: int
    ) -> list[Pair]:
        names = set(suspects(pairs, self._policy()))
        again = [task for task in self._tasks if task.id in names]
        first = index * RECHECK_RUNS
        steps = [
            (task, skill, number(Purpose.RECHECK, first + run))
            for skill in (incumbent, candidate)
            for task in again
            for run in range(RECHECK_RUNS)
        ]
        rolled = await self._runner.roll("recheck", steps)
        half = len(again) * RECHECK_RUNS
        old, new = _group(rolled[:half], RECHECK_RUNS), _group(rolled[half:], RECHECK_RUNS)
        scores = {
            task.id: (self._scores(before), self._scores(after))
            for task, before, after in zip(again, old, new, strict=True)
        }
        return [
            msgspec.structs.replace(
                pair, again_incumbent=scores[pair.task][0], again_candidate=scores[pair.task][1]
            )
            if pair.task in scores
            else pair
            for pair in pairs
        ]


def _group(rolled: Sequence[Rollout], size: int) -> Runs:
    return [list(rolled[i : i + size]) for i in range(0, len(rolled), size)]
