"""One step of training: roll out, reflect, aggregate, select, update, gate."""

from __future__ import annotations

import asyncio
import functools
import random
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt_gate.verdicts import Decision
from skillopt_replay.protocols import Message
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill, find_problems
from skillopt_replay.tasks import Task
from skillopt_sleep.training.analysts import Brief, Insight, Minibatch, cut, reflect
from skillopt_sleep.training.asking import Optimizer, StageUse, Unreachable, make_object
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import TrainingError, is_lost
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.gating import Comparison, Gate, Measure
from skillopt_sleep.training.merging import Merged, dedupe, merge
from skillopt_sleep.training.modes import read_control, read_schedule
from skillopt_sleep.training.race import Contender, race
from skillopt_sleep.training.records import Candidate, Edit, EditResult, RejectedEdit
from skillopt_sleep.training.rejected import RejectedEdits, render_rejected
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.rolling import Purpose, Runner, number
from skillopt_sleep.training.schedules import LearningRate, RateDecision, decide_rate
from skillopt_sleep.training.select import Selection, list_edits, order_edits, select_edits
from skillopt_sleep.training.traces import Trace
from skillopt_sleep.training.words import count_tokens


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a step works on. `step` counts from 1 over the run, `batches` are its micro-batches with seeds."""

    step: int
    epoch: int
    step_in_epoch: int
    batches: tuple[tuple[int, tuple[Task, ...]], ...]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What a step begins with."""

    skill: Skill
    measure: Measure | None
    rejected: RejectedEdits
    memory: str
    compared: int


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate of a step on its way: what was merged, selected and applied."""

    merged: Merged
    selection: Selection
    results: tuple[EditResult, ...]
    skill: Skill
    decision: RateDecision | None = None
    reasoning: str = ""
    problems: tuple[str, ...] = ()


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step came to.

    `action` is accept, reject, force_accept, skip_no_patches, skip_lost_race, or skip_not_enough when too many
    val runs were lost to decide; `candidate` is None in the skips without one. `refused` are edits for the memory of refusals, `notes` what analysts put down as
    reminders.
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

    def __init__(self, config: Config, optimizer: Optimizer, runner: Runner, gate: Gate, *, steps: int) -> None:
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
        self._autonomous = "autonomous" in (self._rate.control, self._rate.schedule)

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
        record = self._begin_record(plan, standing, micro, insights, budget)
        clock.lap("reflect_s")
        proposals = await asyncio.gather(*(self._propose(own, standing, traces, budget) for own in variants))
        clock.lap("aggregate_s")
        rivals = {p.skill.digest: p for p in reversed(proposals) if p.skill != standing.skill}
        fresh = [p for p in proposals if rivals.get(p.skill.digest) is p]
        chosen, lost = await self._choose(fresh, traces, plan, standing)
        clock.lap("race_s")
        notes = tuple(dict.fromkeys(note for insight in insights for note in insight.notes))
        refused = [edit for candidate in lost for edit in _refuse(candidate)]
        shown = chosen or (fresh or list(proposals))[0]
        record |= self._describe(shown, proposals, insights)
        if chosen is None:
            action = "skip_lost_race" if fresh else "skip_no_patches"
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
            action = _name(comparison)
            record |= _describe_comparison(comparison)
            if action == "reject":
                refused += _refuse_all(chosen, comparison)
        clock.lap("evaluate_s")
        record |= {"action": action, "timing": clock.laps, "wall_time_s": clock.total()}
        record["tokens"] = {stage: _as_dict(use) for stage, use in sorted(self._optimizer.uses.items())}
        return StepResult(
            action=action,
            candidate=chosen.skill if chosen else None,
            comparison=comparison,
            record=record,
            digest=_digest(traces, insights, action),
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
        batches = cut(
            traces, size=gradient.minibatch_size, seed=seed, failure_only=gradient.failure_only
        )
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
            variant=variant,
        )
        return list(await asyncio.gather(*(reflect(self._optimizer, brief, batch) for batch in batches)))

    async def _propose(
        self, insights: Sequence[Insight], standing: Standing, traces: Sequence[Trace], budget: int | None
    ) -> Proposal:
        merged = await merge(
            self._optimizer,
            standing.skill,
            insights,
            batch_size=self._config.gradient.merge_batch_size,
            memory=standing.memory,
            rejected=render_rejected(standing.rejected.edits),
        )
        new = dedupe([edit for edit in merged.edits if not standing.rejected.knows(edit)])
        problems = list(merged.problems)
        if len(new) < len(merged.edits):
            problems.append(f"{len(merged.edits) - len(new)} edits were turned down before")
        decision = None
        if self._autonomous and new:
            decision, problem = await self._decide_rate(standing, new, traces, budget)
            budget = decision.learning_rate
            problems += [problem] if problem else []
        selection, problem = await self._select(standing, new, budget)
        problems += [problem] if problem else []
        skill, results = apply_edits(
            standing.skill,
            selection.edits,
            limit=len(selection.edits),
            max_tokens=self._config.optimizer.max_skill_tokens,
        )
        return Proposal(
            merged=merged,
            selection=selection,
            results=results,
            skill=skill,
            decision=decision,
            reasoning=" ".join(dict.fromkeys(i.reasoning for i in insights if i.reasoning)),
            problems=(*problems, *selection.faults),
        )

    async def _select(
        self, standing: Standing, edits: Sequence[Edit], budget: int | None
    ) -> tuple[Selection, str]:
        if budget is None or len(edits) <= budget or budget == 0:
            return select_edits(edits, budget), ""
        parts = [f"The skill as it is:\n\n{standing.skill.body.strip()}"]
        parts += [f"Your own notes from earlier epochs:\n{standing.memory}"] * bool(standing.memory)
        rejected = render_rejected(standing.rejected.edits)
        parts += [f"What was tried before and turned down:\n{rejected}"] * bool(rejected)
        parts.append(f"The edits:\n{list_edits(edits)}\n\nName the best {budget}, best first.")
        schema = make_object(
            {
                "reasoning": {"type": "string"},
                "selected_indices": {"type": "array", "items": {"type": "integer"}, "maxItems": budget},
            }
        )
        messages = [Message("system", _RANKING), Message("user", "\n\n".join(parts))]
        try:
            reply = await self._optimizer.ask("ranking", messages, schema, key="selected_indices")
        except (Unreachable, ReplyMalformed) as error:
            return select_edits(edits, budget), f"the edits were ranked by their support alone: {error}"
        ranking = reply.value["selected_indices"]
        return select_edits(edits, budget, ranking=ranking if isinstance(ranking, list) else []), ""

    async def _decide_rate(
        self, standing: Standing, edits: Sequence[Edit], traces: Sequence[Trace], cap: int | None
    ) -> tuple[RateDecision, str]:
        count = max(len(traces), 1)
        hard = sum(trace.hard for trace in traces) / count
        parts = [f"The skill as it is:\n\n{standing.skill.body.strip()}"]
        parts += [f"Your own notes from earlier epochs:\n{standing.memory}"] * bool(standing.memory)
        rejected = render_rejected(standing.rejected.edits)
        parts += [f"What was tried before and turned down:\n{rejected}"] * bool(rejected)
        parts.append(f"Of {len(traces)} runs {hard:.0%} passed. The edits:\n{list_edits(edits)}")
        text = {"type": "string"}
        schema = make_object(
            {
                "reasoning": text,
                "learning_rate": {"type": "integer", "minimum": 0},
                "confidence": {"type": "number"},
                "risk_notes": {"type": "array", "items": text},
            }
        )
        messages = [Message("system", _RATE), Message("user", "\n\n".join(parts))]
        try:
            reply = await self._optimizer.ask("lr_autonomous", messages, schema, key="learning_rate")
        except (Unreachable, ReplyMalformed) as error:
            return decide_rate({}, available=len(edits), cap=cap), f"no learning rate was chosen: {error}"
        return decide_rate(reply.value, available=len(edits), cap=cap), ""

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

    def _begin_record(
        self,
        plan: Plan,
        standing: Standing,
        micro: Sequence[tuple[list[Trace], int, list[list[Insight]]]],
        insights: Sequence[Insight],
        budget: int | None,
    ) -> dict[str, Any]:
        batches = []
        for index, ((seed, tasks), (traces, lost, by_variant)) in enumerate(zip(plan.batches, micro, strict=True)):
            own = [insight for variant in by_variant for insight in variant if insight.edits]
            batches.append(
                {
                    "batch_idx": index,
                    "batch_seed": seed,
                    "n_envs": len(tasks),
                    "n_lost": lost,
                    **_mean(traces, "hard", "soft"),
                    "n_failure_patches": sum(insight.kind != "success" for insight in own),
                    "n_success_patches": sum(insight.kind == "success" for insight in own),
                }
            )
        traces = [trace for own_traces, _, _ in micro for trace in own_traces]
        patches = [insight for insight in insights if insight.edits]
        return {
            "step": plan.step,
            "epoch": plan.epoch,
            "step_in_epoch": plan.step_in_epoch,
            **_mean(traces, "rollout_hard", "rollout_soft"),
            "rollout_n": len(traces),
            "rollout_lost": sum(batch["n_lost"] for batch in batches),
            "accumulation_batches": batches,
            "n_patches": len(patches),
            "n_failure_patches": sum(insight.kind != "success" for insight in patches),
            "n_success_patches": sum(insight.kind == "success" for insight in patches),
            "edit_budget": budget,
            "lr_control_mode": self._rate.control,
            "incumbent_hash": standing.skill.digest,
            "gate_metric": self._config.evaluation.gate_metric,
        }

    def _describe(
        self, shown: Proposal, proposals: Sequence[Proposal], insights: Sequence[Insight]
    ) -> dict[str, Any]:
        problems = [i.problem for i in insights if i.problem] + [x for p in proposals for x in p.problems]
        applied = sum(result.applied for result in shown.results)
        return {
            "n_candidates": len(proposals),
            "n_edits_merged": len(shown.merged.edits),
            "n_edits_ranked": len(shown.selection.edits),
            "support_counts": [edit.support for edit in shown.selection.edits],
            "merge_levels": shown.merged.levels,
            "candidate_hash": shown.skill.digest,
            "candidate_skill_len": len(shown.skill.text),
            "candidate_skill_tokens": count_tokens(shown.skill.text),
            "edit_apply_summary": {
                "total": len(shown.results),
                "applied": applied,
                "skipped": len(shown.results) - applied,
                "errors": 0,
            },
            "problems": list(dict.fromkeys(problems)),
            **({"lr_decision": msgspec.to_builtins(shown.decision)} if shown.decision else {}),
        }


_RANKING = """\
You choose which edits of a skill document to make first. What counts, in this order: that it mends what many \
runs had in common; that the chosen edits do not repeat each other; that it holds for every task of the kind; \
that an agent can act on it. Reply with JSON: "reasoning" (a sentence) and "selected_indices"."""
_RATE = """\
You set the learning rate of a step: how many of the edits, best first, are made to the skill document. Take \
few when the evidence is thin or the skill works; 0 when none is worth its risk. Reply with JSON: "reasoning", \
"learning_rate", "confidence" (0 to 1), "risk_notes" (a list)."""


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


def _name(comparison: Comparison) -> str:
    if comparison.verdict is None:
        return "force_accept"
    if comparison.verdict.decision is Decision.NOT_ENOUGH:
        return "skip_not_enough"
    return "accept" if comparison.accepted else "reject"


def _describe_comparison(comparison: Comparison) -> dict[str, Any]:
    candidate, incumbent, verdict = comparison.candidate, comparison.incumbent, comparison.verdict
    shown: dict[str, Any] = {
        "selection_hard": candidate.hard,
        "selection_soft": candidate.soft,
        "candidate_gate_score": candidate.score,
        "selection_n": candidate.runs,
        "selection_lost": candidate.lost,
        "incumbent_gate_score": incumbent.score,
    }
    if verdict is not None:
        shown["gate"] = {
            "decision": verdict.decision.value,
            "reason": verdict.reason,
            "effect": verdict.effect,
            "interval": list(verdict.interval),
            "p_value": verdict.p_value,
            "wins": verdict.wins,
            "losses": verdict.losses,
            "ties": verdict.ties,
            "broken": list(verdict.broken),
        }
    return shown


def _refuse(candidate: Candidate) -> list[RejectedEdit]:
    applied = [result.edit for result in candidate.edits if result.applied]
    if not candidate.raced:
        return []
    effect = candidate.train_hard - candidate.base_hard
    return [
        RejectedEdit(
            content=edit.content,
            target=edit.target if edit.op == "delete" else "",
            reason="it lost the race on train tasks",
            effect=effect,
            shared=len(applied) > 1,
        )
        for edit in applied
    ]


def _refuse_all(proposal: Proposal, comparison: Comparison) -> list[RejectedEdit]:
    verdict = comparison.verdict
    applied = [result.edit for result in proposal.results if result.applied]
    if verdict is None:
        return []
    return [
        RejectedEdit(
            content=edit.content,
            target=edit.target if edit.op == "delete" else "",
            reason="the gate turned it down",
            effect=verdict.effect,
            shared=len(applied) > 1,
        )
        for edit in applied
    ]


def _mean(traces: Sequence[Trace], hard: str, soft: str) -> dict[str, float]:
    scores = [trace.rollout.score for trace in traces if trace.rollout.score is not None]
    count = max(len(scores), 1)
    return {hard: sum(s.hard for s in scores) / count, soft: sum(s.soft for s in scores) / count}


def _as_dict(use: StageUse) -> dict[str, int]:
    return dict(msgspec.to_builtins(use))


def _digest(traces: Sequence[Trace], insights: Sequence[Insight], action: str) -> dict[str, Any]:
    return {
        "action": action,
        "n_total": len(traces),
        "n_fail": sum(not trace.passed for trace in traces),
        "failure_patterns": [
            msgspec.to_builtins(pattern)
            for insight in insights
            if insight.kind != "success"
            for pattern in insight.patterns
        ],
        "success_patterns": [
            msgspec.to_builtins(pattern)
            for insight in insights
            if insight.kind == "success"
            for pattern in insight.patterns
        ],
        "tasks": [
            {
                "id": trace.task.id,
                "sample": trace.sample,
                "hard": trace.hard,
                "soft": trace.rollout.score.soft if trace.rollout.score else None,
                "outcome": trace.rollout.outcome.value,
            }
            for trace in traces
        ],
    }
