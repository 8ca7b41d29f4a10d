"""What a step makes of the state of its run."""

from __future__ import annotations

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.gating import Measure
from skillopt_sleep.training.rejected import remember_rejected
from skillopt_sleep.training.run_folder import RunFolder, RunState
from skillopt_sleep.training.step_parts import Plan
from skillopt_sleep.training.stepping import StepResult

_ACCEPTING = {"accept", "accept_new_best", "force_accept"}


def take_step(
    state: RunState,
    plan: Plan,
    current: Skill,
    result: StepResult,
    *,
    config: Config,
    folder: RunFolder,
) -> RunState:
    """Return the state after the step; the skill in force after it is written."""
    accepted = result.action in _ACCEPTING and result.candidate is not None
    skill = result.candidate if accepted and result.candidate else current
    path = folder.save_skill(skill, f"skill_v{plan.step:04d}")
    state = msgspec.structs.replace(
        state,
        step=plan.step,
        current=path,
        compared=state.compared + result.compared,
        notes=(*state.notes, *(note for note in result.notes if note not in state.notes)),
        noted=(*state.noted, *(edit for edit in result.noted if edit not in state.noted)),
        idle=0 if accepted else state.idle + 1,
    )
    if config.optimizer.use_rejected_buffer:
        state = msgspec.structs.replace(state, rejected=remember_rejected(state.rejected, result.refused))
    comparison = result.comparison
    if comparison is not None and comparison.verdict is not None and not accepted:
        # The incumbent was measured once more: chance that favoured it at its acceptance evens out.
        state = _remeasure(state, comparison.incumbent, config.evaluation.remeasure)
    if accepted and comparison is not None:
        state = msgspec.structs.replace(
            state, current_measure=comparison.candidate, current_origin=f"step {plan.step}"
        )
        # Better than the skill in force is better than the best one only where they are the same.
        best = folder.load_skill(state.best, state.skill_name)
        raced = config.evaluation.gate_mode == "race"
        beats_best = (comparison.verdict is not None or raced) and best == current
        if beats_best or _score(comparison.candidate) > _score(state.best_measure):
            state = msgspec.structs.replace(
                state,
                best=path,
                best_measure=comparison.candidate,
                best_step=plan.step,
                best_origin=f"step {plan.step}",
            )
            folder.write_skill(folder.root / "best_skill", skill)
    patience = config.train.patience
    if patience and state.idle >= patience:
        state = msgspec.structs.replace(state, stopped=f"no edit was accepted in {state.idle} steps in a row")
    return state


def _remeasure(state: RunState, measured: Measure, anew: bool) -> RunState:  # noqa: FBT001
    if not anew:
        return state
    before = state.current_measure
    pooled = measured if before is None else before.plus(measured)
    changed = msgspec.structs.replace(state, current_measure=pooled)
    if state.best == state.current or state.best_origin == state.current_origin:
        changed = msgspec.structs.replace(changed, best_measure=pooled)
    return changed


def name_final_action(action: str, state: RunState, plan: Plan) -> str:
    return "accept_new_best" if action == "accept" and state.best_step == plan.step else action


def _score(measure: Measure | None) -> float:
    return measure.score if measure is not None else -1.0
