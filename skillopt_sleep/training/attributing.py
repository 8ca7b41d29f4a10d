"""Which edit of an accepted bundle did it: the skill is measured without each of them in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.gating import Gate, Measure
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.rounds import run_all


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit is worth within its bundle.

    `effect` is the mean val score of the whole bundle minus that of the bundle without the edit; above 0 the
    edit helps. `runs` are the valid runs without it. None when the others cannot be made without it.
    """

    edit: Edit
    effect: float | None
    runs: int = 0


async def attribute(
    gate: Gate,
    base: Skill,
    results: Sequence[EditResult],
    whole: Measure,
    *,
    max_tokens: int,
    max_file_tokens: int,
) -> tuple[Attribution, ...]:
    """Return what each applied edit is worth, nothing for fewer than two of them.

    Every variant runs on the val tasks once, with the samples the whole bundle was measured with. Raises
    CeilingReached, ServiceRefused.
    """
    edits = [result.edit for result in results if result.applied]
    if len(edits) < 2:
        return ()

    async def weigh(at: int) -> Attribution:
        others = [edit for index, edit in enumerate(edits) if index != at]
        skill, applied = apply_edits(
            base, others, limit=len(others), max_tokens=max_tokens, max_file_tokens=max_file_tokens
        )
        if not all(result.applied for result in applied):
            return Attribution(edit=edits[at], effect=None)
        measure = await gate.measure(skill, whole.index, stage="attribution")
        return Attribution(edit=edits[at], effect=whole.score - measure.score, runs=measure.runs)

    return tuple(await run_all([partial(weigh, at) for at in range(len(edits))]))
