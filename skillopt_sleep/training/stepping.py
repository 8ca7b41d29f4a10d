"""One step of training: roll out, reflect, aggregate, select, update, gate."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill, find_problems
from skillopt_replay.tasks import Task
from skillopt_sleep.training.analyst_prompts import Brief, Minibatch
from skillopt_sleep.training.analysts import Insight, cut, reflect
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.attributing import attribute
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import TrainingError, is_lost
from skillopt_sleep.training.gating import Comparison, Gate
from skillopt_sleep.training.modes import read_control, read_schedule, read_update_mode
from skillopt_sleep.training.proposing import Proposer
from skillopt_sleep.training.race import Contender, race
from skillopt_sleep.training.records import Candidate, Edit, EditResult, RejectedEdit
from skillopt_sleep.training.rejected import render_rejected
from skillopt_sleep.training.rolling import Purpose, Runner, number
from skillopt_sleep.training.schedules import LearningRate, RateDecision
from skillopt_sleep.training.step_parts import Plan, Proposal, Standing
from skillopt_sleep.training.step_records import (
    begin_record,
    describe_comparison,
    describe_proposal,
    digest_traces,
    name_action,
    refuse_by_gate,
    refuse_by_race,
)
from skillopt_sleep.training.traces import Trace


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step came to.

    `action` is accept, reject, force_accept, skip_no_patches, skip_no_rewrite, skip_lost_race, or
    skip_not_enough when too many val runs were lost to decide; `candidate` is None in the skips without one.
    `refused` are edits for the memory of refusals, `notes` what analysts put down as reminders.
    """

    action: str
    candidate: Skill | None
    comparison: Comparison | None
    record: dict[str, Any]
    digest: dict[str, Any]
    merged: tuple[Edit, ...] = ()
    selected: tuple[Edit, ...] = ()
    results: tuple[EditResult, ...] = ()
    refused: tuple[RejectedEdit, ...] = ()
    notes: tuple[str, ...] = ()
    decision: RateDecision | None = None
    compared: int = 0


class Stepper:
    """Makes the steps of one run."""

    def __init__(
        self, config: Config, optimizer: Optimizer, runner: Runner, gate: Gate, *, steps: int
    ) -> None:
        self._config = config
        self._optimizer = optimizer
        self._runner = runner
        self._gate = gate
        rate = config.optimizer
        self._rate = LearningRate(
            maximum=rate.learning_rate,
            minimum=rate.min_learning_rate,
            schedule=read_schedule(rate.lr_scheduler),
            control=read_control(rate.lr_control_mode),
            steps=steps,
            warmup=rate.warmup_steps,
        )
        self._mode = read_update_mode(rate.skill_update_mode)
        autonomous = "autonomous" in (self._rate.control, self._rate.schedule)
        self._proposer = Proposer(config, optimizer, autonomous=autonomous)

    async def run(self, plan: Plan, standing: Standing) -> StepResult:
        """Return what the step came to; nothing is written.

        The same replies give the same result whatever order they come in. Raises TrainingError when the
        infrastructure leaves nothing to learn from, CeilingReached, ServiceRefused.
        """
        self._optimizer.reset()
        clock = _Clock()
        budget = self._rate.at(plan.step)
        micro = await asyncio.gather(
            *(
                self._work(plan, standing, index, seed, tasks, budget, clock)
                for index, (seed, tasks) in enumerate(plan.batches)
            )
        )
        traces = [trace for own, _, _ in micro for trace in own]
        variants = [
            [insight for _, _, by_variant in micro for insight in by_variant[variant]]
            for variant in range(self._config.train.candidates)
        ]
        insights = [insight for own in variants for insight in own]
        if insights and not any(insight.reached for insight in insights):
            raise TrainingError(
                f"no question of step {plan.step} was answered: {insights[0].problem}",
                hint="mend that and start the same command again: what was paid for is kept",
            )
        record = begin_record(plan, standing.skill, micro, insights)
        record |= {
            "edit_budget": budget,
            "lr_control_mode": self._rate.control,
            "gate_metric": self._config.evaluation.gate_metric,
        }
        clock.lap("reflect_s")
        proposals = await asyncio.gather(
            *(self._proposer.propose(own, standing, traces, budget) for own in variants)
        )
        clock.lap("aggregate_s")
        rivals = {p.skill.digest: p for p in reversed(proposals) if p.skill != standing.skill}
        fresh = [p for p in proposals if rivals.get(p.skill.digest) is p]
        chosen, lost = await self._choose(fresh, traces, plan, standing)
        clock.lap("race_s")
        notes = tuple(dict.fromkeys(note for insight in insights for note in insight.notes))
        refused = [edit for candidate in lost for edit in refuse_by_race(candidate)]
        shown = chosen or (fresh or list(proposals))[0]
        record |= describe_proposal(shown, proposals, insights)
        if chosen is None:
            unwritten = self._mode == "rewrite_from_suggestions" and any(p.selection.edits for p in proposals)
            action = "skip_lost_race" if fresh else "skip_no_rewrite" if unwritten else "skip_no_patches"
            comparison, compared = None, 0
        else:
            comparison = await self._gate.compare(
                standing.skill,
                chosen.skill,
                index=(standing.compared + 1) * self._config.evaluation.samples,
                known=standing.measure,
                problems=find_problems(chosen.skill),
            )
            compared = 1
            action = name_action(comparison)
            record |= describe_comparison(comparison)
            if action == "reject":
                refused += refuse_by_gate(chosen.results, comparison)
            elif action == "accept" and self._config.evaluation.attribute_edits and self._mode == "patch":
                worth = await attribute(
                    self._gate,
                    standing.skill,
                    chosen.results,
                    comparison.candidate,
                    max_tokens=self._config.optimizer.max_skill_tokens,
                )
                record["attribution"] = msgspec.to_builtins(worth)
        clock.lap("evaluate_s")
        record |= {"action": action, "timing": clock.laps, "wall_time_s": clock.total()}
        record["tokens"] = msgspec.to_builtins(dict(sorted(self._optimizer.uses.items())))
        return StepResult(
            action=action,
            candidate=chosen.skill if chosen else None,
            comparison=comparison,
            record=record,
            digest=digest_traces(traces, insights, action),
            merged=shown.merged.edits,
            selected=shown.selection.edits,
            results=shown.results,
            refused=tuple(refused),
            notes=notes,
            decision=shown.decision,
            compared=compared,
        )

    async def _work(
        self,
        plan: Plan,
        standing: Standing,
        index: int,
        seed: int,
        tasks: Sequence[Task],
        budget: int | None,
        clock: _Clock,
    ) -> tuple[list[Trace], int, list[list[Insight]]]:
        """Roll out and reflect on one micro-batch: its traces, the lost runs, and insights by variant."""
        samples = self._config.train.samples
        first = (plan.epoch - 1) * samples
        steps = [
            (task, standing.skill, number(Purpose.TRAIN, first + sample))
            for task in tasks
            for sample in range(samples)
        ]
        rolled = await self._runner.roll("rollout", steps)
        clock.lap("rollout_s")
        traces = [
            Trace(task, rollout, at % samples)
            for at, ((task, _, _), rollout) in enumerate(zip(steps, rolled, strict=True))
            if not is_lost(rollout)
        ]
        gradient = self._config.gradient
        batches = cut(traces, size=gradient.minibatch_size, seed=seed, failure_only=gradient.failure_only)
        insights = await asyncio.gather(
            *(
                self._reflect_all(batches, standing, budget, variant)
                for variant in range(self._config.train.candidates)
            )
        )
        return traces, len(rolled) - len(traces), list(insights)

    async def _reflect_all(
        self, batches: Sequence[Minibatch], standing: Standing, budget: int | None, variant: int
    ) -> list[Insight]:
        optimizer, gradient = self._config.optimizer, self._config.gradient
        brief = Brief(
            skill=standing.skill,
            budget=budget,
            memory=standing.memory,
            rejected=render_rejected(standing.rejected.edits),
            skill_aware=optimizer.use_skill_aware_reflection,
            notes_of_success=optimizer.skill_aware_appendix_source == "both",
            trace_tokens=gradient.trace_tokens,
            max_skill_tokens=optimizer.max_skill_tokens,
            show_gold=gradient.show_gold,
            mode=self._mode,
            variant=variant,
        )
        return list(await asyncio.gather(*(reflect(self._optimizer, brief, batch) for batch in batches)))

    async def _choose(
        self, fresh: Sequence[Proposal], traces: Sequence[Trace], plan: Plan, standing: Standing
    ) -> tuple[Proposal | None, tuple[Candidate, ...]]:
        """Return the candidate for the gate, and those that lost the race on the batch."""
        if len(fresh) < 2:
            return (fresh[0] if fresh else None), ()
        by_task = {trace.task.id: trace for trace in reversed(traces)}
        runs = [(trace.task, trace.rollout) for trace in by_task.values()]
        failed = [(task, rollout) for task, rollout in runs if not _passes(rollout)]
        passed = [(task, rollout) for task, rollout in runs if _passes(rollout)]
        random.Random(self._config.train.seed + plan.step).shuffle(passed)  # noqa: S311 - a sample
        contenders = [Contender(skill=p.skill, edits=p.results, reasoning=p.reasoning) for p in fresh]
        first = (plan.epoch - 1) * self._config.train.samples

        async def roll(steps: Sequence[tuple[Task, Skill]]) -> list[Rollout]:
            numbered = [(task, skill, number(Purpose.TRAIN, first)) for task, skill in steps]
            return await self._runner.roll("race", numbered)

        winners, losers = await race(contenders, failed, passed[: self._config.train.race_passes], roll)
        if not winners:
            return None, losers
        best = next(p for p in fresh if p.skill == winners[0].skill)
        return best, losers


class _Clock:
    """Seconds by stage; a lap that is named twice adds up."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name] = round(self.laps.get(name, 0.0) + now - self._last, 3)
        self._last = now

    def total(self) -> float:
        return round(time.monotonic() - self._start, 3)


def _passes(rollout: Rollout) -> bool:
    return rollout.score is not None and rollout.score.hard >= 1.0
