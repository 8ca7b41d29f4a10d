"""Measuring a candidate against the incumbent on held-out tasks, pair by pair."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from skillopt_gate.decide import decided, hopeless, judge, suspects
from skillopt_gate.verdicts import Evidence, Pair, Policy, Verdict
from skillopt_replay.errors import CeilingReached
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.records import TaskEvidence
from skillopt_sleep.training.records import Roller

RECHECKS = 2
_EXCERPT = 2000


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate said and what it rests on; `stopped` names the ceiling that cut it short, if one did."""

    verdict: Verdict
    evidence: Evidence
    tasks: tuple[TaskEvidence, ...]
    stopped: str = ""


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
    shorter = incumbent is not None and len(candidate.text) < len(incumbent.text)
    arms = _Arms(incumbent, candidate, roll, concurrency)
    total = len(tasks) if not problems else 0
    for start in range(0, total, concurrency):
        await arms.run(tasks[start : start + concurrency], range(repeats))
        listen(Event(stage="gate", done=min(start + concurrency, total), total=total, detail=candidate.name))
        pairs = arms.pairs()
        left = total - len(pairs)
        if arms.stopped or (
            left
            and (
                decided(pairs, evidence, policy, identity=identity)
                or hopeless(pairs, left, evidence, policy, identity=identity)
            )
        ):
            break
    if not arms.stopped and (doubtful := suspects(arms.pairs())):
        again = [task for task in tasks if task.id in doubtful]
        await arms.run(again, range(repeats, repeats + RECHECKS))
    verdict, grown = judge(
        arms.pairs(), evidence, policy, identity=identity, problems=problems, shorter=shorter
    )
    return Measurement(verdict=verdict, evidence=grown, tasks=arms.evidence(tasks), stopped=arms.stopped)


class _Arms:
    """The runs of both sides so far, by task."""

    def __init__(self, incumbent: Skill | None, candidate: Skill, roll: Roller, concurrency: int) -> None:
        self._skills = (incumbent, candidate)
        self._roll = roll
        self._slots = asyncio.Semaphore(concurrency)
        self._runs: dict[str, tuple[list[Rollout], list[Rollout]]] = {}
        self.stopped = ""

    async def run(self, tasks: Sequence[Task], repeats: range) -> None:
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
                self._runs.setdefault(task.id, ([], []))[side].append(result)

    async def _one(self, task: Task, side: int, repeat: int) -> Rollout:
        async with self._slots:
            return await self._roll(task, self._skills[side], repeat)

    def pairs(self) -> list[Pair]:
        return [
            Pair(task=name, incumbent=_scores(before), candidate=_scores(after))
            for name, (before, after) in self._runs.items()
        ]

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
    """The first valid run's answer and the command lines it ran; of a run that failed, why."""
    for run in runs:
        if run.score is None:
            continue
        commands = [f"$ {call.command}" for call in run.calls if call.command]
        return "\n".join([*commands, run.answer])[:_EXCERPT]
    return f"(no valid run: {runs[0].error})" if runs else ""
