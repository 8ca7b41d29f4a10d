"""What the best skill of a run is made of: the edits of every step and epoch end that led to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.records import Candidate, Edit, EditResult
from skillopt_sleep.training.run_folder import RunFolder, RunState

_ENDS = ("slow_update", "appendix")


class _Record(msgspec.Struct):
    action: str = ""


class _End(msgspec.Struct):
    rules: list[Edit] = []


def collect_candidates(folder: RunFolder) -> tuple[Candidate, ...]:
    """Return the best skill of a finished run, and after it what was kept beside it in its last step.

    Each has the edits of all accepted steps it stands on. Empty when nothing was accepted.
    Raises RunUnusable.
    """
    state = folder.load_state()
    if state is None or state.best_origin == "initial":
        return ()
    accepted = [n for n in range(1, state.best_step + 1) if _is_accepted(folder, n)]
    steps = [_read_kept(folder.step(n), folder) for n in accepted]
    best = folder.load_skill(state.best, state.skill_name)
    steps = steps or [_find_kept_end(folder, state) or (_as_unraced(best),)]
    earlier = [result for kept in steps[:-1] for result in kept[0].edits]
    first, *others = steps[-1]
    first = msgspec.structs.replace(first, skill=best)
    ends = _read_ends(folder, state)
    return (
        _stand_on(first, [*earlier, *first.edits, *ends]),
        *(_stand_on(other, [*earlier, *other.edits]) for other in others),
    )


def _stand_on(candidate: Candidate, results: Iterable[EditResult]) -> Candidate:
    """Return the candidate with those of the edits whose text is still in it, and the ones not made."""
    told = tuple(r for r in results if not r.applied or _stands(r.edit, candidate.skill))
    return msgspec.structs.replace(candidate, edits=told)


def _stands(edit: Edit, skill: Skill) -> bool:
    """Say whether the edit shows in the skill: its first line is there, or it took something away."""
    lines = [line for line in edit.content.splitlines() if line.strip()]
    if not lines:
        return True
    there = {fold(line) for line in skill.body.splitlines()}
    return any(fold(line) in there for line in lines) or fold(edit.content) in fold(skill.body)


def _is_accepted(folder: RunFolder, step: int) -> bool:
    return "accept" in folder.read_as(folder.step(step) / "step_record.json", _Record).action


def _read_kept(place: Path, folder: RunFolder) -> tuple[Candidate, ...]:
    return folder.read_as(place / "kept.json", tuple[Candidate, ...])


def _find_kept_end(folder: RunFolder, state: RunState) -> tuple[Candidate, ...]:
    """Return the last slow update that won its race, where no step was accepted."""
    for epoch in range(state.epochs_ended, 0, -1):
        place = folder.epoch_end("slow_update", epoch)
        if (place / "kept.json").is_file() and (kept := _read_kept(place, folder)):
            return kept
    return ()


def _as_unraced(skill: Skill) -> Candidate:
    return Candidate(skill=skill, edits=(), train_hard=0.0, train_soft=0.0)


def _read_ends(folder: RunFolder, state: RunState) -> list[EditResult]:
    """Return the rules that slow updates and reminders brought, as edits."""
    results: list[EditResult] = []
    for epoch in range(1, state.epochs_ended + 1):
        for kind in _ENDS:
            path = folder.epoch_end(kind, epoch) / "slow_result.json"
            if path.is_file():
                rules = folder.read_as(path, _End).rules
                results += [EditResult(edit=rule, applied=True, detail=f"by the {kind}") for rule in rules]
    return results
