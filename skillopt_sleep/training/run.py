"""A run of training: epochs of steps, each written down before the next begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skillopt_replay.protocols import ChatModel, Ledger
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.batches import count_steps, plan_epoch
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import Environment
from skillopt_sleep.training.epoch_end import EpochEnd
from skillopt_sleep.training.gating import Gate, Measure
from skillopt_sleep.training.memory import Memory
from skillopt_sleep.training.preparing import list_changed, list_settings
from skillopt_sleep.training.promoting import promote
from skillopt_sleep.training.racing import Admit, Racer
from skillopt_sleep.training.reading import dump
from skillopt_sleep.training.rolling import Runner
from skillopt_sleep.training.rounds import Report
from skillopt_sleep.training.run_folder import RunFolder, RunState, check_fingerprint, fingerprint
from skillopt_sleep.training.step_files import Say, tell_step, write_history, write_step
from skillopt_sleep.training.step_parts import Plan, Standing
from skillopt_sleep.training.stepping import Stepper
from skillopt_sleep.training.summary import Summary, summarize
from skillopt_sleep.training.taking import name_final_action, take_step
from skillopt_sleep.training.vouching import Witness


class Run:
    """Takes a run from where its folder says it stands to its end."""

    def __init__(
        self,
        environment: Environment,
        optimizer: ChatModel,
        config: Config,
        folder: RunFolder,
        ledger: Ledger,
        *,
        splits: Mapping[str, Sequence[Task]],
        initial: Skill,
        memory: Memory,
        rewriter: ChatModel | None,
        admit: Admit,
        report: Report | None,
        say: Say,
    ) -> None:
        self._config = config
        self._folder = folder
        self._say = say
        self._splits = splits
        self._initial = initial
        self._memory = memory
        self._optimizer = Optimizer(
            optimizer,
            ledger,
            workers=config.gradient.analyst_workers,
            attempts=config.gradient.attempts,
            reply_tokens=config.gradient.reply_tokens,
            seed=config.train.seed,
            rewriter=rewriter,
            rewrite_tokens=config.model.rewrite_max_completion_tokens,
        )
        self._runner = Runner(
            environment,
            ledger,
            self._optimizer,
            workers=config.env.workers,
            attempts=config.env.attempts,
            most_lost=config.env.most_lost,
            report=report,
        )
        self._gate = Gate(splits["val"], self._runner, config.evaluation)
        racer = Racer(config, self._runner, splits["val"], admit)
        witness = Witness(splits["train"]) if config.gradient.vouched else None
        steps = count_steps(len(splits["train"]), config.train) * config.train.num_epochs
        self._stepper = Stepper(
            config,
            self._optimizer,
            self._runner,
            self._gate,
            racer,
            steps=steps,
            tasks=splits["train"],
            witness=witness,
        )
        self._epoch_end = EpochEnd(
            config,
            folder,
            self._optimizer,
            self._runner,
            self._gate,
            racer,
            splits["train"],
            say,
            witness=witness,
        )
        self._steps = steps
        self._fingerprint = fingerprint(
            list_settings(config),
            splits,
            initial,
            f"{environment.name}/{environment.identity}",
            *(model.identity for model in (optimizer, rewriter) if model is not None),
        )
        self._history: list[dict[str, Any]] = []

    async def run(self) -> Summary:
        state = await self._begin()
        self._history = self._folder.load_history(state.step)
        config = self._config.train
        for epoch in range(1, config.num_epochs + 1):
            for plan in plan_epoch(self._splits["train"], epoch, config):
                if plan.step > state.step and not state.stopped:
                    state = await self._step(state, plan)
            last = epoch * count_steps(len(self._splits["train"]), config)
            if state.epochs_ended < epoch and state.step >= last:
                state = await self._epoch_end.close(state, epoch)
                self._folder.save_state(state)
        return await self._conclude(state)

    async def _begin(self) -> RunState:
        folder = self._folder
        state = folder.load_state()
        if state is not None:
            written = folder.root / "config.yaml"
            check_fingerprint(
                state.fingerprint,
                self._fingerprint,
                folder.root,
                lambda: list_changed(written, self._config),
            )
            self._say(f"goes on after step {state.step} of {self._steps}")
        else:
            folder.write_text(folder.root / "config.yaml", dump(self._config))
            path = folder.save_skill(self._initial, "skill_v0000")
            before = self._memory.before
            state = RunState(
                fingerprint=self._fingerprint,
                skill_name=self._initial.name,
                current=path,
                best=path,
                epoch_start=folder.save_skill(before, "skill_before") if before else path,
                begun_after=before is not None,
                memory=self._memory.notes,
                rejected=self._memory.rejected,
            )
        if state.baseline is None:
            measure = await self._gate.measure(self._initial, 0)
            if measure.runs:
                self._say(f"baseline: {_show(measure)} on {len(self._splits['val'])} val tasks")
            state = msgspec.structs.replace(
                state, baseline=measure, current_measure=measure, best_measure=measure
            )
            folder.write_skill(folder.root / "best_skill", self._initial)
            folder.save_state(state)
        return state

    async def _step(self, state: RunState, plan: Plan) -> RunState:
        folder = self._folder
        current = folder.load_skill(state.current, state.skill_name)
        standing = Standing(
            skill=current,
            measure=state.current_measure,
            rejected=state.rejected,
            memory=state.memory,
            compared=state.compared,
        )
        result = await self._stepper.run(plan, standing)
        state = take_step(state, plan, current, result, config=self._config, folder=folder)
        record = {
            **result.record,
            "action": name_final_action(result.action, state, plan),
            "current_score": state.current_measure.score if state.current_measure else None,
            "best_score": state.best_measure.score if state.best_measure else None,
            "best_step": state.best_step,
            "current_origin": state.current_origin,
            "best_origin": state.best_origin,
            "skill_len": len(folder.load_skill(state.current, state.skill_name).text),
        }
        write_step(folder, plan, result, record)
        self._history = [*self._history[: plan.step - 1], record]
        write_history(folder, self._history)
        folder.save_state(state)
        tell_step(self._say, plan, self._steps, record, result.results)
        return state

    async def _conclude(self, state: RunState) -> Summary:
        if state.stopped:
            self._say(f"stopped early: {state.stopped}")
        state = await promote(state, self._gate, self._folder, self._config.evaluation)
        best = self._folder.load_skill(state.best, state.skill_name)
        self._folder.write_skill(self._folder.root / "best_skill", best)
        summary = await summarize(
            state,
            self._history,
            initial=self._initial,
            best=best,
            tests=self._splits["test"] if self._config.evaluation.eval_test else [],
            runner=self._runner,
            gate=self._gate,
        )
        self._folder.write_json(self._folder.root / "summary.json", summary.as_json())
        return summary


def _show(measure: Measure) -> str:
    return f"{measure.hard:.1%} hard, {measure.soft:.1%} soft"
