"""One step of training: roll out, reflect, aggregate, select, update, gate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from skillopt_replay.skills import Skill, find_problems
from skillopt_replay.tasks import Task
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.attributing import attribute
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import TrainingError
from skillopt_sleep.training.gating import Comparison, Gate
from skillopt_sleep.training.modes import read_control, read_schedule, read_update_mode
from skillopt_sleep.training.plain import say_plainly
from skillopt_sleep.training.proposing import Proposer
from skillopt_sleep.training.racing import Choice, Racer
from skillopt_sleep.training.records import Candidate, Edit, EditResult, RejectedEdit
from skillopt_sleep.training.reflecting import Reflector
from skillopt_sleep.training.rolling import Runner
from skillopt_sleep.training.rounds import run_all
from skillopt_sleep.training.schedules import LearningRate, RateDecision
from skillopt_sleep.training.step_parts import Plan, Proposal, Standing
from skillopt_sleep.training.step_records import (
    begin_record,
    describe_comparison,
    describe_proposal,
    describe_race,
    digest_traces,
    name_action,
    refuse_by_gate,
    refuse_by_race,
)
from skillopt_sleep.training.vouching import Witness


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step came to.

    `action` is accept, reject, force_accept, skip_no_patches, skip_no_rewrite, skip_lost_race,
    skip_not_admitted, or skip_not_enough when too many val runs were lost to decide; `candidate` is None in
    the skips without one. `refused` are edits for the memory of refusals, `notes` what analysts put down as
    reminders, `noted` the same with their sessions. `kept` are the candidate and those that came next to it.
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
    noted: tuple[Edit, ...] = ()
    decision: RateDecision | None = None
    compared: int = 0
    kept: tuple[Candidate, ...] = ()


class Stepper:
    """Makes the steps of one run on its train `tasks`.

    With a `witness` every edit has to rest on the user's words.
    """

    def __init__(
        self,
        config: Config,
        optimizer: Optimizer,
        runner: Runner,
        gate: Gate,
        racer: Racer,
        *,
        steps: int,
        tasks: Sequence[Task] = (),
        witness: Witness | None = None,
    ) -> None:
        self._config = config
        self._racer = racer
        self._tasks = tasks
        self._reflector = Reflector(config, optimizer, runner, witness, tasks)
        self._optimizer = optimizer
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
        self._plain = config.gradient.plain and self._mode == "patch" and witness is None
        autonomous = "autonomous" in (self._rate.control, self._rate.schedule)
        self._proposer = Proposer(config, optimizer, autonomous=autonomous, witness=witness)

    async def run(self, plan: Plan, standing: Standing) -> StepResult:
        """Return what the step came to; nothing is written.

        The same replies give the same result whatever order they come in. Raises TrainingError when the
        infrastructure leaves nothing to learn from, CeilingReached, ServiceRefused.
        """
        self._optimizer.reset()
        clock = _Clock()
        budget = self._rate.at(plan.step)
        micro = await run_all(
            [
                partial(
                    self._reflector.work,
                    standing,
                    tasks,
                    epoch=plan.epoch,
                    seed=seed,
                    budget=budget,
                    rolled_out=partial(clock.lap, "rollout_s"),
                )
                for seed, tasks in plan.batches
            ]
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
        if self._plain and budget != 0:
            variants += [[one] for one in say_plainly(traces, self._tasks)]
        record = begin_record(plan, standing.skill, micro, insights)
        record |= {
            "edit_budget": budget,
            "lr_control_mode": self._rate.control,
            "gate_metric": self._config.evaluation.gate_metric,
        }
        clock.lap("reflect_s")
        proposals = await run_all(
            [partial(self._proposer.propose, own, standing, traces, budget) for own in variants]
        )
        clock.lap("aggregate_s")
        rivals = {p.skill.digest: p for p in reversed(proposals) if p.skill != standing.skill}
        fresh = [p for p in proposals if rivals.get(p.skill.digest) is p]
        choice = await self._racer.choose(fresh, traces, step=plan.step, epoch=plan.epoch)
        chosen = next((p for p in fresh if choice.kept and p.skill == choice.kept[0].skill), None)
        clock.lap("race_s")
        notes = tuple(dict.fromkeys(note for insight in insights for note in insight.notes))
        refused = [edit for candidate in choice.lost for edit in refuse_by_race(candidate)]
        shown = chosen or (fresh or list(proposals))[0]
        record |= describe_proposal(shown, proposals, insights) | describe_race(choice, len(fresh))
        if chosen is None:
            action = self._name_skip(choice, fresh, proposals)
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
            raced = self._config.evaluation.gate_mode == "race"
            action = "accept" if raced else name_action(comparison)
            record |= {} if raced else describe_comparison(comparison)
            if action == "reject":
                refused += refuse_by_gate(chosen.results, comparison)
            elif (
                action == "accept"
                and not raced
                and self._config.evaluation.attribute_edits
                and self._mode == "patch"
            ):
                worth = await attribute(
                    self._gate,
                    standing.skill,
                    chosen.results,
                    comparison.candidate,
                    max_tokens=self._config.optimizer.max_skill_tokens,
                    max_file_tokens=self._config.optimizer.max_file_tokens,
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
            noted=tuple(dict.fromkeys(edit for insight in insights for edit in insight.noted)),
            decision=shown.decision,
            compared=compared,
            kept=choice.kept,
        )

    def _name_skip(self, choice: Choice, fresh: Sequence[Proposal], proposals: Sequence[Proposal]) -> str:
        if choice.lost:
            return "skip_lost_race"
        if fresh:
            return "skip_not_admitted"
        asked = any(proposal.selection.edits for proposal in proposals)
        return "skip_no_rewrite" if self._mode == "rewrite_from_suggestions" and asked else "skip_no_patches"


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
