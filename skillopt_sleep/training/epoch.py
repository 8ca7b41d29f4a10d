"""One epoch: roll out, reflect, merge, edit, race. What comes out still has to pass the gate."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt_replay.protocols import ChatModel, Ledger
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill, new_skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.aggregate import merge_edits
from skillopt_sleep.training.describe import check_split
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.evidence import Failure, citable, collect_failures, is_valid
from skillopt_sleep.training.provenance import Sources, collect_sources
from skillopt_sleep.training.race import Contender, race
from skillopt_sleep.training.records import (
    Candidate,
    EditResult,
    RejectedEdit,
    Roller,
    TrainingConfig,
    TrainingResult,
)
from skillopt_sleep.training.reflect import Reflection, reflect
from skillopt_sleep.training.rejected import RejectedEdits, remember_rejected
from skillopt_sleep.training.rounds import Report, run_all


async def train(
    skill: Skill | None,
    *,
    name: str,
    description: str,
    tasks: Sequence[Task],
    roll: Roller,
    optimizer: ChatModel,
    ledger: Ledger,
    config: TrainingConfig,
    rejected: Sequence[RejectedEdit] = (),
    on_event: Report | None = None,
) -> TrainingResult:
    """Return the candidates that beat the incumbent on the train tasks, best first.

    `skill` is the incumbent; None means there is none, and candidates are new skills under `name` with
    `description`. `rejected` are edits of earlier nights that were turned down, newest first: the optimizer
    is told, and none of them is tried again word for word. `on_event` is called with (stage, done, total);
    the stages are rollout, reflect and race.
    The same tasks, replies and seed give the same result whatever order the runs end in.
    Raises CeilingReached or ServiceRefused as soon as the runs in progress have ended, SkillInvalid for an
    illegal incumbent or name, ValueError for tasks that are held out.
    """
    check_split(tasks)
    base = skill if skill is not None else _blank(name, description)
    epoch = _Epoch(
        incumbent=skill,
        base=base,
        roller=roll,
        optimizer=optimizer,
        ledger=ledger,
        config=config,
        rejected=remember_rejected(RejectedEdits(), reversed(rejected)),
        report=on_event,
        slots=asyncio.Semaphore(max(config.concurrency, 1)),
    )
    return await epoch.run(tasks)


def _blank(name: str, description: str) -> Skill:
    return new_skill(name, description, f"# {name.replace('-', ' ').capitalize()}")


@dataclass(kw_only=True)
class _Epoch:
    incumbent: Skill | None
    base: Skill
    roller: Roller
    optimizer: ChatModel
    ledger: Ledger
    config: TrainingConfig
    rejected: RejectedEdits
    report: Report | None
    slots: asyncio.Semaphore
    rollouts: int = 0

    async def run(self, tasks: Sequence[Task]) -> TrainingResult:
        rolled = await self._roll("rollout", [(task, self.incumbent) for task in tasks])
        runs = [(task, rollout) for task, rollout in zip(tasks, rolled, strict=True) if is_valid(rollout)]
        failures = collect_failures(runs)
        stop = _find_stop(tasks, rolled, failures, self.config)
        if stop:
            return self._conclude(runs, note=stop)
        contenders, problems, reached = await self._propose(failures, collect_sources(runs))
        if not contenders:
            said = "proposed nothing that could be used" if reached else "could not be reached"
            note = f"the optimizer {said}: {'; '.join(problems[:3])}"
            return self._conclude(runs, note=note, problems=problems)
        failed = {failure.task.id for failure in failures}
        lost = [(task, rollout) for task, rollout in runs if task.id in failed]
        won = [(task, rollout) for task, rollout in runs if task.id not in failed]
        random.Random(self.config.seed).shuffle(won)  # noqa: S311 - a sample, not a secret
        roll = functools.partial(self._roll, "race")
        winners, losers = await race(contenders, lost, won[: self.config.race_passes], roll)
        note = f"{len(winners)} of {len(contenders)} candidates beat the incumbent on the train tasks"
        if not any(candidate.raced for candidate in (*winners, *losers)):
            note = "no candidate could be run, the infrastructure failed"
        return self._conclude(runs, note=note, candidates=winners, rejected=losers, problems=problems)

    async def _roll(self, stage: str, steps: Sequence[tuple[Task, Skill | None]]) -> list[Rollout]:
        jobs = [functools.partial(self.roller, task, skill, 0) for task, skill in steps]
        rolled = await run_all(jobs, slots=self.slots, stage=stage, report=self.report)
        self.rollouts += len(rolled)
        return rolled

    async def _propose(
        self, failures: Sequence[Failure], sources: Sources
    ) -> tuple[list[Contender], list[str], bool]:
        """Return the distinct candidates, what went wrong on the way, and whether any reply came."""
        plan = [
            (variant, batch)
            for variant in range(self.config.candidates)
            for batch in cut_minibatches(failures, self.config, variant)
        ]
        jobs = [functools.partial(self._reflect, batch, variant, sources) for variant, batch in plan]
        reflections = await run_all(jobs, slots=self.slots, stage="reflect", report=self.report)
        contenders: dict[str, Contender] = {}
        problems: list[str] = []
        for variant in range(self.config.candidates):
            own = [r for (v, _), r in zip(plan, reflections, strict=True) if v == variant]
            contender, faults = self._build(own, failures)
            problems += faults
            if contender is not None:
                contenders.setdefault(contender.skill.digest, contender)
        reached = any(reflection.reached for reflection in reflections)
        return list(contenders.values()), list(dict.fromkeys(problems)), reached

    async def _reflect(self, batch: Sequence[Failure], variant: int, sources: Sources) -> Reflection:
        skill, config = self.incumbent, self.config
        return await reflect(
            self.optimizer,
            self.ledger,
            skill,
            batch,
            config,
            sources=sources,
            variant=variant,
            rejected=self.rejected.edits,
        )

    def _build(
        self, reflections: Sequence[Reflection], failures: Sequence[Failure]
    ) -> tuple[Contender | None, list[str]]:
        dropped = [result for reflection in reflections for result in reflection.dropped]
        proposed = [
            [edit for edit in reflection.edits if not self.rejected.knows(edit)] for reflection in reflections
        ]
        again = [
            edit.content or edit.target
            for reflection in reflections
            for edit in reflection.edits
            if self.rejected.knows(edit)
        ]
        edits = merge_edits(proposed, failures)
        skill, results = apply_edits(
            self.base, edits, limit=self.config.learning_rate, max_tokens=self.config.max_skill_tokens
        )
        faults = [reflection.problem for reflection in reflections if reflection.problem]
        if skill == self.base:
            faults += [f'it proposed again what was turned down: "{content}"' for content in again]
            faults += [_explain(result) for result in (*dropped, *results)]
            return None, faults
        reasoning = " ".join(dict.fromkeys(r.reasoning for r in reflections if r.reasoning))
        return Contender(skill=skill, edits=(*results, *dropped), reasoning=reasoning), faults

    def _conclude(
        self,
        runs: Sequence[tuple[Task, Rollout]],
        *,
        note: str,
        candidates: tuple[Candidate, ...] = (),
        rejected: tuple[Candidate, ...] = (),
        problems: Sequence[str] = (),
    ) -> TrainingResult:
        scores = [rollout.score for _, rollout in runs if rollout.score is not None]
        return TrainingResult(
            candidates=candidates,
            incumbent_hard=sum(score.hard for score in scores) / max(len(scores), 1),
            incumbent_soft=sum(score.soft for score in scores) / max(len(scores), 1),
            rollouts=self.rollouts,
            note=note,
            rejected=rejected,
            problems=tuple(problems),
            valid=len(runs),
        )


def cut_minibatches(
    failures: Sequence[Failure], config: TrainingConfig, variant: int
) -> list[tuple[Failure, ...]]:
    """Return the failures in the variant's own order, cut into minibatches; the last may be small.

    Failures without words of the user behind them are left out: no edit may rest on them.
    """
    backed = [failure for failure in failures if citable([failure])]
    random.Random(f"{config.seed}/{variant}").shuffle(backed)  # noqa: S311 - an order, not a secret
    size = max(config.minibatch_size, 1)
    return [tuple(backed[i : i + size]) for i in range(0, len(backed), size)]


def _find_stop(
    tasks: Sequence[Task], rolled: Sequence[Rollout], failures: Sequence[Failure], config: TrainingConfig
) -> str:
    """Return why there is nothing to reflect on, "" when there is."""
    if not tasks:
        return "there are no train tasks"
    if not any(is_valid(rollout) for rollout in rolled):
        errors = dict.fromkeys(rollout.error or "no reason given" for rollout in rolled)
        return f"no train task could be run, the infrastructure failed: {'; '.join(list(errors)[:3])}"
    if not failures:
        return "nothing to learn: every train task already passes"
    if not citable(failures):
        return "nothing to learn from: no failed task rests on words the user typed"
    if config.learning_rate < 1 or config.candidates < 1:
        return "the learning rate or the number of candidates is 0: no edit may be made"
    return ""


def _explain(result: EditResult) -> str:
    return f"{result.edit.op}: {result.detail}"
