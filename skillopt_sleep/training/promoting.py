"""The last look of a run: whether the skill in force is better than the best one.

They differ where something went into the skill in force unasked: a forced slow update, or every candidate
when the gate is off.
"""

from __future__ import annotations

from typing import Any

import msgspec

from skillopt_sleep.training.config import EvaluationSection
from skillopt_sleep.training.gating import Comparison, Gate
from skillopt_sleep.training.run_folder import RunFolder, RunState


async def promote(state: RunState, gate: Gate, folder: RunFolder, config: EvaluationSection) -> RunState:
    """Return the state with the skill in force as the best one, if the gate lets it; ask once in a run.

    Without a gate a higher score is enough. `final_selection.json` says what came of it. Raises
    CeilingReached, ServiceRefused.
    """
    best = folder.load_skill(state.best, state.skill_name)
    current = folder.load_skill(state.current, state.skill_name)
    if state.final is not None or current == best or config.gate_mode == "race":
        return state
    comparison = await gate.compare(
        best, current, index=(state.compared + 1) * config.samples, known=state.best_measure
    )
    promoted = _is_better(comparison, state)
    final = comparison.candidate
    result: dict[str, Any] = {
        "action": "promote" if promoted else "keep",
        "candidate_hash": current.digest,
        "origin": state.current_origin,
        "selection_hard": final.hard,
        "selection_soft": final.soft,
        "reasoning": comparison.verdict.reason if comparison.verdict else "the gate is off",
    }
    folder.write_json(folder.root / "final_selection.json", result)
    state = msgspec.structs.replace(state, compared=state.compared + 1, final=final)
    if promoted:
        state = msgspec.structs.replace(
            state,
            best=state.current,
            best_measure=final,
            best_origin=state.current_origin,
            best_step=state.step,
        )
    folder.save_state(state)
    return state


def _is_better(comparison: Comparison, state: RunState) -> bool:
    if comparison.verdict is not None:
        return comparison.accepted
    return state.best_measure is None or comparison.candidate.score > state.best_measure.score
