"""Train a skill: epochs of steps, each written down before the next begins, so that a kill costs no step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from skillopt_replay.protocols import ChatModel, Ledger
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.errors import Busy
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.batches import count_steps, plan_epoch
from skillopt_sleep.training.config import Config, check
from skillopt_sleep.training.contract import Environment
from skillopt_sleep.training.epoch_end import EpochEnd
from skillopt_sleep.training.gating import Gate, Measure
from skillopt_sleep.training.preparing import list_settings, load_splits, make_initial
from skillopt_sleep.training.reading import dump
from skillopt_sleep.training.rejected import remember_rejected
from skillopt_sleep.training.rolling import Runner
from skillopt_sleep.training.rounds import Report
from skillopt_sleep.training.run_folder import RunFolder, RunState, check_fingerprint, fingerprint
from skillopt_sleep.training.run_ledger import RunLedger
from skillopt_sleep.training.step_files import Say, tell_step, write_step
from skillopt_sleep.training.step_parts import Plan, Standing
from skillopt_sleep.training.stepping import Stepper, StepResult
from skillopt_sleep.training.summary import Summary, summarize

_ACCEPTING = {"accept", "accept_new_best", "force_accept"}


class Trainer:
    """Trains skills in an environment, each run in a folder of its own.

    `environment` runs the tasks, `optimizer` is the model that writes the edits. A run that was killed or
    stopped goes on when it is started again with the same folder, and pays for nothing twice. `ledger`
    replaces the run's own `calls.db`, and with it the ceilings of `config.model`. `rewriter` is asked for
    whole documents (None: the optimizer). `report` is called with (stage, done, total), `say` with one line
    for each stage that ended.
    """

    def __init__(
        self,
        environment: Environment,
        optimizer: ChatModel,
        config: Config | None = None,
        *,
        out: Path | str,
        ledger: Ledger | None = None,
        rewriter: ChatModel | None = None,
        report: Report | None = None,
        say: Say | None = None,
    ) -> None:
        self._environment = environment
        self._optimizer = optimizer
        self._config = check(config or Config())
        self._folder = RunFolder(Path(out))
        self._ledger = ledger
        self._rewriter = rewriter
        self._report = report
        self._say: Say = say or (lambda _line: None)

    async def train(self, skill: Skill | Path | str | None = None) -> Summary:
        """Train the skill (None: an empty one) and return what came of it; `best` is the skill to use.

        A path is that of a SKILL.md, or of a folder that is trained whole. Text without front matter becomes
        the body of a skill named after the environment. Raises
        TrainingError, UsageError, CeilingReached, ServiceRefused, Busy when another process works on the
        same folder; started again, the run goes on.
        """
        self._folder.root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._folder.lock)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise Busy(f"another process trains in {self._folder.root}") from None
        try:
            if self._ledger is not None:
                return await self._train(skill, self._ledger)
            own = self._open_ledger()
            try:
                return await self._train(skill, own)
            finally:
                own.close()
        finally:
            lock.release()

    def _open_ledger(self) -> RunLedger:
        model = self._config.model
        return RunLedger(
            self._folder.ledger,
            max_usd=model.max_usd,
            max_tokens=model.max_tokens,
            max_calls=model.max_calls,
        )

    async def _train(self, skill: Skill | Path | str | None, ledger: Ledger) -> Summary:
        splits = load_splits(self._environment, self._config)
        run = _Run(self, splits, make_initial(skill, self._environment.name, self._config), ledger)
        return await run.run()


class _Run:
    def __init__(
        self, trainer: Trainer, splits: dict[str, list[Task]], initial: Skill, ledger: Ledger
    ) -> None:
        config = self._config = trainer._config
        self._folder = trainer._folder
        self._say = trainer._say
        self._splits = splits
        self._initial = initial
        self._optimizer = Optimizer(
            trainer._optimizer,
            ledger,
            workers=config.gradient.analyst_workers,
            attempts=config.gradient.attempts,
            reply_tokens=config.gradient.reply_tokens,
            seed=config.train.seed,
            rewriter=trainer._rewriter,
            rewrite_tokens=config.model.rewrite_max_completion_tokens,
        )
        self._runner = Runner(
            trainer._environment,
            ledger,
            self._optimizer,
            workers=config.env.workers,
            attempts=config.env.attempts,
            report=trainer._report,
        )
        self._gate = Gate(splits["val"], self._runner, config.evaluation)
        steps = count_steps(len(splits["train"]), config.train) * config.train.num_epochs
        self._stepper = Stepper(config, self._optimizer, self._runner, self._gate, steps=steps)
        self._epoch_end = EpochEnd(
            config, self._folder, self._optimizer, self._runner, self._gate, splits["train"], self._say
        )
        self._steps = steps
        self._fingerprint = fingerprint(
            list_settings(config),
            splits,
            initial,
            f"{trainer._environment.name}/{trainer._environment.identity}",
            *(model.identity for model in (trainer._optimizer, trainer._rewriter) if model is not None),
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
            check_fingerprint(state.fingerprint, self._fingerprint, folder.root)
            self._say(f"goes on after step {state.step} of {self._steps}")
        else:
            folder.write_text(folder.root / "config.yaml", dump(self._config))
            path = folder.save_skill(self._initial, "skill_v0000")
            state = RunState(
                fingerprint=self._fingerprint,
                skill_name=self._initial.name,
                current=path,
                best=path,
                epoch_start=path,
            )
        if state.baseline is None:
            measure = await self._gate.measure(self._initial, 0)
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
        state = self._take(state, plan, current, result)
        record = {
            **result.record,
            "action": _final_action(result.action, state, plan),
            "current_score": state.current_measure.score if state.current_measure else None,
            "best_score": state.best_measure.score if state.best_measure else None,
            "best_step": state.best_step,
            "current_origin": state.current_origin,
            "best_origin": state.best_origin,
            "skill_len": len(folder.load_skill(state.current, state.skill_name).text),
        }
        write_step(folder, plan, result, record)
        self._history = [*self._history[: plan.step - 1], record]
        folder.write_json(folder.root / "history.json", self._history)
        folder.save_state(state)
        tell_step(self._say, plan, self._steps, record)
        return state

    def _take(self, state: RunState, plan: Plan, current: Skill, result: StepResult) -> RunState:
        """Return the state after the step; the skill in force after it is written."""
        accepted = result.action in _ACCEPTING and result.candidate is not None
        skill = result.candidate if accepted and result.candidate else current
        path = self._folder.save_skill(skill, f"skill_v{plan.step:04d}")
        state = msgspec.structs.replace(
            state,
            step=plan.step,
            current=path,
            compared=state.compared + result.compared,
            notes=(*state.notes, *(note for note in result.notes if note not in state.notes)),
            idle=0 if accepted else state.idle + 1,
        )
        if self._config.optimizer.use_rejected_buffer:
            state = msgspec.structs.replace(state, rejected=remember_rejected(state.rejected, result.refused))
        comparison = result.comparison
        if comparison is not None and comparison.verdict is not None and not accepted:
            # The incumbent was measured once more: chance that favoured it at its acceptance evens out.
            state = _remeasure(state, comparison.incumbent, self._config.evaluation.remeasure)
        if accepted and comparison is not None:
            state = msgspec.structs.replace(
                state, current_measure=comparison.candidate, current_origin=f"step {plan.step}"
            )
            # Better than the skill in force is better than the best one only where they are the same.
            best = self._folder.load_skill(state.best, state.skill_name)
            beats_best = comparison.verdict is not None and best == current
            if beats_best or _score(comparison.candidate) > _score(state.best_measure):
                state = msgspec.structs.replace(
                    state,
                    best=path,
                    best_measure=comparison.candidate,
                    best_step=plan.step,
                    best_origin=f"step {plan.step}",
                )
                self._folder.write_skill(self._folder.root / "best_skill", skill)
        patience = self._config.train.patience
        if patience and state.idle >= patience:
            state = msgspec.structs.replace(
                state, stopped=f"no edit was accepted in {state.idle} steps in a row"
            )
        return state

    async def _conclude(self, state: RunState) -> Summary:
        if state.stopped:
            self._say(f"stopped early: {state.stopped}")
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


def _remeasure(state: RunState, measured: Measure, anew: bool) -> RunState:  # noqa: FBT001
    if not anew:
        return state
    before = state.current_measure
    pooled = measured if before is None else before.plus(measured)
    changed = msgspec.structs.replace(state, current_measure=pooled)
    if state.best == state.current or state.best_origin == state.current_origin:
        changed = msgspec.structs.replace(changed, best_measure=pooled)
    return changed


def _final_action(action: str, state: RunState, plan: Plan) -> str:
    return "accept_new_best" if action == "accept" and state.best_step == plan.step else action


def _score(measure: Measure | None) -> float:
    return measure.score if measure is not None else -1.0


def _show(measure: Measure) -> str:
    return f"{measure.hard:.1%} hard, {measure.soft:.1%} soft"
