"""The files of a step, and the lines a run says about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.run_folder import RunFolder
from skillopt_sleep.training.step_parts import Plan
from skillopt_sleep.training.stepping import StepResult
from skillopt_sleep.training.words import say_number

Say = Callable[[str], None]
_TOLD = 3
_LONGEST = 80


def write_step(folder: RunFolder, plan: Plan, result: StepResult, record: dict[str, Any]) -> None:
    """Write what a step made; the record comes last."""
    path = folder.step(plan.step)
    folder.write_json(path / "merged_patch.json", result.merged)
    folder.write_json(path / "ranked_edits.json", result.selected)
    folder.write_json(path / "edit_apply_report.json", result.results)
    if result.decision is not None:
        folder.write_json(path / "lr_decision.json", result.decision)
    if result.notes:
        folder.write_json(path / "appendix_notes.json", result.noted or result.notes)
    if result.kept:
        folder.write_json(path / "kept.json", result.kept)
    if result.candidate is not None:
        folder.write_skill(path / "candidate_skill", result.candidate)
    folder.write_json(path / "trajectory_digest.json", {"step": plan.step, **result.digest})
    folder.write_json(path / "step_record.json", record)


def write_history(folder: RunFolder, history: Sequence[Mapping[str, Any]]) -> None:
    """Write the records of all steps, and the learning rates that the optimizer set, one a line."""
    folder.write_json(folder.root / "history.json", history)
    rates = [
        {"step": record["step"], "epoch": record["epoch"], **record["lr_decision"]}
        for record in history
        if "lr_decision" in record
    ]
    if rates:
        lines = "".join(f"{msgspec.json.encode(rate).decode()}\n" for rate in rates)
        folder.write_text(folder.root / "lr_history.jsonl", lines)


def tell_step(
    say: Say, plan: Plan, steps: int, record: dict[str, Any], results: Sequence[EditResult] = ()
) -> None:
    """Say in a line for each stage how the step went, and which of the edits were dropped and why."""
    lost = f", {record['rollout_lost']} lost" if record["rollout_lost"] else ""
    said = f"step {plan.step}/{steps} (epoch {plan.epoch})"
    say(f"{said} rollout: {record['rollout_hard']:.1%} of {record['rollout_n']} runs passed{lost}")
    patches = say_number(record["n_patches"], "patch", "patches")
    say(f"{said} reflect: {patches}, {say_number(record['n_edits_merged'], 'edit')} merged")
    summary = record["edit_apply_summary"]
    say(f"{said} update: {summary['applied']} of {say_number(summary['total'], 'selected edit')} applied")
    for result in [result for result in results if not result.applied][:_TOLD]:
        say(f'{said} update: dropped "{_shorten(result.edit)}": {result.detail}')
    gate = record.get("gate")
    score = record.get("candidate_gate_score")
    why = f": {gate['reason']}" if gate else "" if score is None else f" with {score:.1%}"
    why = why or (": no edit is left to try" if record["action"] == "skip_no_patches" else "")
    say(f"{said} gate: {record['action']}{why}")
    for problem in record["problems"][:_TOLD]:
        say(f"{said} note: {problem}")


def _shorten(edit: Edit) -> str:
    text = " ".join((edit.content or edit.target).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
