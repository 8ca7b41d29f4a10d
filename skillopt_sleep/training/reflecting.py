"""One micro-batch: roll it out with the skill in force, cut the runs into minibatches, ask the analysts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

from skillopt_replay.tasks import Task
from skillopt_sleep.training.analyst_prompts import Brief, Minibatch
from skillopt_sleep.training.analysts import cut, reflect
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import is_lost
from skillopt_sleep.training.insights import Insight
from skillopt_sleep.training.listening import listen
from skillopt_sleep.training.modes import read_update_mode
from skillopt_sleep.training.rejected import render_rejected
from skillopt_sleep.training.rolling import Purpose, Runner, number, raise_lost
from skillopt_sleep.training.rounds import run_all
from skillopt_sleep.training.step_parts import Standing
from skillopt_sleep.training.traces import Trace
from skillopt_sleep.training.vouching import Witness

_VARIANT = 100_000  # apart from the seeds of all batches


class Reflector:
    """Works on the micro-batches of a run on train `tasks`.

    With a `witness` the analysts listen to the user alone.
    """

    def __init__(
        self,
        config: Config,
        optimizer: Optimizer,
        runner: Runner,
        witness: Witness | None,
        tasks: Sequence[Task],
    ) -> None:
        self._kin = tuple(tasks)
        self._config = config
        self._optimizer = optimizer
        self._runner = runner
        self._witness = witness
        self._mode = read_update_mode(config.optimizer.skill_update_mode)

    async def work(
        self,
        standing: Standing,
        tasks: Sequence[Task],
        *,
        epoch: int,
        seed: int,
        budget: int | None,
        rolled_out: Callable[[], None],
    ) -> tuple[list[Trace], int, list[list[Insight]]]:
        """Return the traces of the tasks, how many runs were lost, and the insights of each variant.

        `rolled_out` is called when the runs have ended. Raises TrainingError when the infrastructure left
        none of them, CeilingReached, ServiceRefused.
        """
        samples = self._config.train.samples
        first = (epoch - 1) * samples
        steps = [
            (task, standing.skill, number(Purpose.TRAIN, first + sample))
            for task in tasks
            for sample in range(samples)
        ]
        rolled = await self._runner.roll("rollout", steps)
        rolled_out()
        traces = [
            Trace(task, rollout, at % samples)
            for at, ((task, _, _), rollout) in enumerate(zip(steps, rolled, strict=True))
            if not is_lost(rollout)
        ]
        if not traces:
            raise_lost(rolled, len(rolled))
        by_variant = [self._cut(traces, seed, variant) for variant in range(self._config.train.candidates)]
        jobs = [
            partial(self._reflect, self._make_brief(standing, budget, variant), batch)
            for variant, batches in enumerate(by_variant)
            for batch in batches
        ]
        insights = await run_all(jobs, stage="reflect", report=self._runner.report)
        ends = list(accumulate(len(batches) for batches in by_variant))
        starts = [0, *ends[:-1]]
        own = [insights[start:end] for start, end in zip(starts, ends, strict=True)]
        return traces, len(rolled) - len(traces), own

    def _cut(self, traces: Sequence[Trace], seed: int, variant: int) -> list[Minibatch]:
        """Return the minibatches of a variant: each cuts the runs in an order of its own."""
        gradient = self._config.gradient
        alone = gradient.failure_only or self._witness is not None
        shown = traces if self._witness is None else self._witness.leave_backed(traces)
        mixed = seed + variant * _VARIANT
        batches = cut(shown, size=gradient.minibatch_size, seed=mixed, failure_only=alone)
        return batches[: gradient.minibatches] if gradient.minibatches else batches

    async def _reflect(self, brief: Brief, batch: Minibatch) -> Insight:
        if self._witness is not None:
            return await listen(self._optimizer, brief, batch, self._witness)
        return await reflect(self._optimizer, brief, batch)

    def _make_brief(self, standing: Standing, budget: int | None, variant: int) -> Brief:
        optimizer, gradient = self._config.optimizer, self._config.gradient
        return Brief(
            skill=standing.skill,
            budget=budget,
            memory=standing.memory,
            rejected=render_rejected(standing.rejected.edits),
            skill_aware=optimizer.use_skill_aware_reflection,
            notes_of_success=optimizer.skill_aware_appendix_source == "both",
            trace_tokens=gradient.trace_tokens,
            show_gold=gradient.show_gold,
            show_form=gradient.show_form,
            kin=self._kin,
            mode=self._mode,
            variant=variant,
            temperature=gradient.temperature,
        )
