"""A skill must not carry what the gate will ask: text of held-out tasks that nothing else explains."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_gate.leaks import find_leaks
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Exact, Task


def find_leaked(
    candidate: Skill, incumbent: Skill | None, held_out: Sequence[Task], train: Sequence[Task]
) -> list[str]:
    """Return one problem per held-out text found in the candidate.

    Words that train tasks share with held-out ones (the fixed part of a recurring ask), that the user
    wrote in a correction, or that the incumbent already has, are no leak.
    """
    known = [task.prompt for task in train]
    known += [origin.quote for task in train for origin in task.corrections]
    if incumbent:
        known.append(incumbent.text)
    secrets = [task.prompt for task in held_out]
    secrets += [check.text for task in held_out for check in task.checks if isinstance(check, Exact)]
    return find_leaks(candidate.text, secrets, known=known)
