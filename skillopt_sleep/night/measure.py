"""Measuring a candidate against the incumbent on held-out tasks, pair by pair."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec

from skillopt_gate.decide import judge
from skillopt_gate.stopping import decided, hopeless
from skillopt_gate.verdicts import Evidence, Pair, Policy, Verdict
from skillopt_gate.vetoes import RECHECK_RUNS, suspects
from skillopt_replay.agents.chat import WRITTEN
from skillopt_replay.errors import CeilingReached
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.records import TaskEvidence
from skillopt_sleep.training.records import Roller

_EXCERPT = 2000


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate said and what it rests on; `stopped` names the ceiling that cut it short, if one did.

    `notes` are what the runs said of themselves (the commit, the sandbox), each with how many said it.
    """

    verdict: Verdict
    evidence: Evidence
    tasks: tuple[TaskEvidence, ...]
    stopped: str = ""
    notes: tuple[tuple[str, int], ...] = ()


async def measure(
    tasks: Sequence[Task],
    incumbent: Skill | None,
    candidate: Skill,
    roll: Roller,
    *,
    policy: Policy,
    identity: str,
    evidence: Evidence | None = None,
    problems: Sequence[str] = (),
    repeats: int = 1,
    concurrency: int = 2,
    listen: Listener = ignore,
) -> Measurement:
    """Run both skills on every task, interleaved and under the same conditions, and ask the gate.

    Stops early when the gate can already say so. Tasks that look broken are run again on both sides before
    they veto. A ceiling ends the measuring; what was measured until then is judged.
    """
    shorter = incumbent is not None and _only_shortens(candidate.text, incumbent.text)
    arms = _Arms(incumbent, candidate, roll, repeats, concurrency)
    todo = [] if problems else list(tasks)
    total = len(todo)
    while todo and not arms.stopped:
        batch, todo = todo[:concurrency], todo[concurrency:]
        await arms.run(batch)
        listen(Event(stage="gate", done=total - len(todo), total=total, detail=candidate.name))
        now = (arms.pairs(), evidence, policy)
        guards_left = sum(not task.failed_before for task in todo)
        if todo and (
            hopeless(now[0], len(todo), *now[1:], identity=identity, shorter=shorter)
            or decided(*now, identity=identity, shorter=shorter, guards_left=guards_left)
        ):
            break
    doubtful = suspects(arms.pairs(), policy)
    if doubtful and not arms.stopped:
        listen(Event(stage="recheck", done=0, total=len(doubtful), detail=candidate.name))
        await arms.recheck([task for task in tasks if task.id in doubtful])
        listen(Event(stage="recheck", done=len(doubtful), total=len(doubtful), detail=candidate.name))
    verdict, grown = judge(
        arms.pairs(), evidence, policy, identity=identity, problems=problems, shorter=shorter
    )
    return Measurement(
        verdict=verdict,
        evidence=grown,
        tasks=arms.evidence(tasks),
        stopped=arms.stopped,
        notes=arms.notes(),
    )


def _only_shortens(candidate: str, incumbent: str) -> bool:
    """Say whether the candidate's lines are some of the incumbent's, in their order, and fewer."""
    rest = iter(incumbent.splitlines())
    lines = candidate.splitlines()
    return len(candidate) < len(incumbent) and all(line in rest for line in lines)


_Runs = tuple[list[Rollout], list[Rollout]]


class _Arms:
    """The runs of both sides so far, by task; rechecks apart, as the gate wants them."""

    def __init__(
        self, incumbent: Skill | None, candidate: Skill, roll: Roller, repeats: int, concurrency: int
    ) -> None:
        self._skills = (incumbent, candidate)
        self._roll = roll
        self._repeats = repeats
        self._slots = asyncio.Semaphore(concurrency)
        self._runs: dict[str, _Runs] = {}
        self._again: dict[str, _Runs] = {}
        self.stopped = ""

    async def run(self, tasks: Sequence[Task]) -> None:
        await self._fill(self._runs, tasks, range(self._repeats))

    async def recheck(self, tasks: Sequence[Task]) -> None:
        await self._fill(self._again, tasks, range(self._repeats, self._repeats + RECHECK_RUNS))

    async def _fill(self, into: dict[str, _Runs], tasks: Sequence[Task], repeats: range) -> None:
        wanted = [(task, side, repeat) for task in tasks for repeat in repeats for side in (0, 1)]
        results = await asyncio.gather(
            *(self._one(task, side, repeat) for task, side, repeat in wanted), return_exceptions=True
        )
        for (task, side, _), result in zip(wanted, results, strict=True):
            if isinstance(result, CeilingReached):
                self.stopped = result.message
            elif isinstance(result, BaseException):
                raise result
            else:
                into.setdefault(task.id, ([], []))[side].append(result)

    async def _one(self, task: Task, side: int, repeat: int) -> Rollout:
        async with self._slots:
            if self.stopped:
                raise CeilingReached(self.stopped)
            try:
                return await self._roll(task, self._skills[side], repeat)
            except CeilingReached as error:
                self.stopped = error.message
                raise

    def pairs(self) -> list[Pair]:
        return [
            Pair(
                task=name,
                incumbent=_scores(before),
                candidate=_scores(after),
                runs=self._repeats,
                again_incumbent=_scores(self._again.get(name, ([], []))[0]),
                again_candidate=_scores(self._again.get(name, ([], []))[1]),
            )
            for name, (before, after) in self._runs.items()
        ]

    def notes(self) -> tuple[tuple[str, int], ...]:
        runs = [
            run
            for into in (self._runs, self._again)
            for sides in into.values()
            for side in sides
            for run in side
        ]
        return tuple(Counter(note for run in runs for note in run.notes).most_common())

    def evidence(self, tasks: Sequence[Task]) -> tuple[TaskEvidence, ...]:
        found = []
        for task in tasks:
            before, after = self._runs.get(task.id, ([], []))
            found.append(
                TaskEvidence(
                    task=task.id,
                    title=task.title,
                    prompt=task.prompt[:_EXCERPT],
                    incumbent=_scores(before),
                    candidate=_scores(after),
                    before=_excerpt(before),
                    after=_excerpt(after),
                )
            )
        return tuple(found)


def _scores(runs: Sequence[Rollout]) -> tuple[float, ...]:
    return tuple(run.score.hard for run in runs if run.score is not None)


def _excerpt(runs: Sequence[Rollout]) -> str:
    """Return the first valid run's command lines and answer; when none is valid, why."""
    for run in runs:
        if run.score is None:
            continue
        commands = [f"$ {call.command}" for call in run.calls if call.command and call.name != WRITTEN]
        return "\n".join([*commands, run.answer])[:_EXCERPT]
    return f"(no valid run: {runs[0].error})" if runs else ""
