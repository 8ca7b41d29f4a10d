"""What a step begins with, and what it makes on its way."""

from __future__ import annotations

import msgspec

from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.gating import Measure
from skillopt_sleep.training.merging import Merged
from skillopt_sleep.training.records import EditResult
from skillopt_sleep.training.rejected import RejectedEdits
from skillopt_sleep.training.schedules import RateDecision
from skillopt_sleep.training.select import Selection


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
    change_summary: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
