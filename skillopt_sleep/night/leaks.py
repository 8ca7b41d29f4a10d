"""A skill must not carry what the gate will ask: text of held-out tasks that nothing else explains."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_gate.leaks import find_leaks
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import (
    Check,
    CommandMatched,
    Contains,
    Exact,
    FileContains,
    JsonSchema,
    Matches,
    Pairwise,
    Task,
)


def find_leaked(
    candidate: Skill,
    incumbent: Skill | None,
    held_out: Sequence[Task],
    train: Sequence[Task],
    hidden: Sequence[str] = (),
) -> list[str]:
    """Return one problem per held-out text found in the candidate: prompts, and what checks look for.

    Words that train tasks share with held-out ones (the fixed part of a recurring ask, a check of the whole
    family), that the user wrote in a correction, or that the incumbent already has, are no leak. `hidden`
    are the prompts of held-out tasks that do not run tonight.
    """
    known = [task.prompt for task in train]
    known += [origin.quote for task in train for origin in task.corrections]
    known += [_look_for(check) for task in train for check in task.checks]
    if incumbent:
        known.append(incumbent.text)
    secrets = [task.prompt for task in held_out]
    secrets += [_look_for(check) for task in held_out for check in task.checks]
    return find_leaks(candidate.text, [*secrets, *hidden], known=known)


def _look_for(check: Check) -> str:
    """Return what would satisfy the check if a skill gave it away, "" when no text would."""
    if isinstance(check, Exact | Contains | FileContains):
        return check.text
    if isinstance(check, Matches):
        return check.pattern
    if isinstance(check, JsonSchema):
        return check.schema
    if isinstance(check, Pairwise):
        return check.reference
    return check.command if isinstance(check, CommandMatched) else ""
