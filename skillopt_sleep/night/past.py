"""How did the recorded attempt at a task go? Where it went wrong a gain can show, where well only harm."""

from __future__ import annotations

from skillopt_replay.tasks import Task


def went_wrong(task: Task) -> bool:
    """Say whether the user corrected the recorded attempt, or a check says that it failed."""
    return task.failed_before or any(check.met_before is False for check in task.checks)


def went_well(task: Task) -> bool:
    """Say whether something tells that the recorded attempt passed; nobody's complaint is not enough."""
    return not went_wrong(task) and any(check.met_before for check in task.checks)
