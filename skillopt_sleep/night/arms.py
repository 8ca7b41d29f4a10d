"""The two sides of a comparison: every run of both, by task, under the same conditions."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from skillopt_gate.verdicts import Pair
from skillopt_gate.vetoes import RECHECK_RUNS
from skillopt_replay.errors import CeilingReached
from skillopt_replay.rollouts import Outcome, Rollout, Score
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.night.identity import find_answering
from skillopt_sleep.night.rolls import Roller
from skillopt_sleep.night.transcripts import tell_runs
from skillopt_sleep.records import TaskEvidence

_EXCERPT = 2000
# The second side of a skill measured against itself: repeats nobody else counts, so that they run anew.
APART = 1000

_Runs = tuple[list[Rollout], list[Rollout]]
Scorer = Callable[[Score], float]


class Ran(NamedTuple):
    """The runs of one task, the incumbent's and the candidate's."""

    task: str
    sides: _Runs
    again: int = 0


class Arms:
    """Runs tasks with both skills and keeps the results; rechecks apart, as the gate wants them.

    `stopped` names the ceiling that ended the running, if one did. `score` is the number compared. With
    `timed` the seconds of runs count; a chat model's tell the load of a machine, not of a skill.
    """

    def __init__(
        self,
        incumbent: Skill | None,
        candidate: Skill | None,
        roll: Roller,
        *,
        repeats: int,
        concurrency: int,
        score: Scorer,
        timed: bool = True,
        against_itself: bool = False,
    ) -> None:
        self._skills = (incumbent, candidate)
        self._shift = APART if against_itself else 0
        self._roll = roll
        self._repeats = repeats
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._score = score
        self._timed = timed
        self._runs: dict[str, _Runs] = {}
        self._again: dict[str, _Runs] = {}
        self._asked_again: Counter[str] = Counter()
        self._begun = 0
        self.stopped = ""

    async def run(self, task: Task) -> Ran:
        """Run the task `repeats` times on both sides; nothing counts before it is kept.

        A ceiling ends it and is noted in `stopped`.
        """
        return Ran(task.id, await self._run(task, range(self._repeats)))

    async def recheck(self, task: Task) -> Ran:
        """Run it again on both sides, for the regression veto alone: as often as may run side by side."""
        done = self._asked_again[task.id]
        more = min(max(1, self._concurrency // 2), RECHECK_RUNS - done)
        again = range(self._repeats + done, self._repeats + done + more)
        return Ran(task.id, await self._run(task, again), again=more)

    def may_recheck(self, task: str) -> bool:
        """Say whether it may be run again: one whose runs were lost is not looked at for ever."""
        return self._asked_again[task] < RECHECK_RUNS

    def keep(self, ran: Ran) -> None:
        """Count what a task's runs showed from now on."""
        if ran.again:
            self._asked_again[ran.task] += ran.again
            for known, new in zip(self._again.setdefault(ran.task, ([], [])), ran.sides, strict=True):
                known.extend(new)
        elif any(ran.sides):
            self._runs[ran.task] = ran.sides

    async def _run(self, task: Task, repeats: range) -> _Runs:
        # Neither side is always the first: what comes second may find a warm cache.
        sides = (0, 1) if self._begun % 2 == 0 else (1, 0)
        self._begun += 1
        wanted = [(side, repeat) for repeat in repeats for side in sides]
        results = await asyncio.gather(
            *(self._one(task, side, repeat) for side, repeat in wanted), return_exceptions=True
        )
        runs: _Runs = ([], [])
        for (side, _), result in zip(wanted, results, strict=True):
            if isinstance(result, CeilingReached):
                self.stopped = result.message
            elif isinstance(result, BaseException):
                raise result
            else:
                runs[side].append(result)
        return runs

    async def _one(self, task: Task, side: int, repeat: int) -> Rollout:
        async with self._slots:
            if self.stopped:
                raise CeilingReached(self.stopped)
            try:
                return await self._roll(task, self._skills[side], repeat + side * self._shift)
            except CeilingReached as error:
                self.stopped = error.message
                raise

    @property
    def began(self) -> bool:
        """Whether any run counts yet."""
        return bool(self._runs)

    @property
    def model(self) -> str:
        """The model that answered most runs, "" while none is known."""
        return find_answering(self._all_runs())

    def pairs(self) -> list[Pair]:
        """Return the pairs so far, in the order in which the tasks were begun.

        A run that another model answered than most is missing data: its skill was not the only difference.
        """
        model = self.model
        return [self._pair(task, model) for task in self._runs]

    def _pair(self, task: str, model: str) -> Pair:
        before, after = (_valid(side, model) for side in self._runs[task])
        again_before, again_after = (_valid(side, model) for side in self._again.get(task, ([], [])))
        return Pair(
            task=task,
            incumbent=self._scores(before),
            candidate=self._scores(after),
            runs=self._repeats,
            again_incumbent=self._scores(again_before),
            again_candidate=self._scores(again_after),
            again_runs=self._asked_again[task],
            incumbent_usd=_costs(before),
            candidate_usd=_costs(after),
            incumbent_seconds=_seconds(before) if self._timed else (),
            candidate_seconds=_seconds(after) if self._timed else (),
        )

    def _scores(self, runs: Sequence[Rollout]) -> tuple[float, ...]:
        return tuple(self._score(run.score) for run in runs if run.score is not None)

    def notes(self) -> tuple[tuple[str, int], ...]:
        """Return what the runs said of themselves, each with how many said it."""
        notes = Counter(note for run in self._all_runs() for note in run.notes)
        model = self.model
        for run in self._all_runs():
            if run.model and run.model != model and run.score is not None:
                notes[f"answered by {run.model} instead of {model}: left out"] += 1
        return tuple(notes.most_common())

    def evidence(self, tasks: Sequence[Task]) -> tuple[TaskEvidence, ...]:
        """Return what a reviewer sees of each task, those that did not run included."""
        model = self.model
        found = []
        for task in tasks:
            before, after = (_of(side, model) for side in self._runs.get(task.id, ([], [])))
            found.append(
                TaskEvidence(
                    task=task.id,
                    title=task.title,
                    prompt=task.prompt[:_EXCERPT],
                    incumbent=self._scores(before),
                    candidate=self._scores(after),
                    before=tell_runs(before),
                    after=tell_runs(after),
                )
            )
        return tuple(found)

    def _all_runs(self) -> Iterator[Rollout]:
        for into in (self._runs, self._again):
            for sides in into.values():
                for side in sides:
                    yield from side


def _of(runs: Sequence[Rollout], model: str) -> list[Rollout]:
    return [run for run in runs if not run.model or run.model == model]


def _valid(runs: Sequence[Rollout], model: str) -> list[Rollout]:
    return [run for run in _of(runs, model) if run.score is not None]


def _costs(runs: Sequence[Rollout]) -> tuple[float, ...]:
    return tuple(run.usage.cost_usd for run in runs if run.usage.cost_usd is not None)


def _seconds(runs: Sequence[Rollout]) -> tuple[float, ...]:
    return tuple(run.seconds for run in runs if run.outcome is not Outcome.INFRASTRUCTURE and run.seconds > 0)
