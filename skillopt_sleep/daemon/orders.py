"""What the user can ask of the daemon. No I/O."""

from __future__ import annotations

from datetime import datetime

from skillopt_sleep.daemon.happenings import FOREVER, pause, resume, skip, want
from skillopt_sleep.daemon.schedule import Schedule
from skillopt_sleep.settings import Service

NOW, SKIP, PAUSE, RESUME = "now", "skip", "pause", "resume"


def obey(schedule: Schedule, rules: Service, name: str, argument: str, now: datetime) -> tuple[Schedule, str]:
    """Return the schedule after an order, and what was done, in a sentence. Unknown orders change nothing."""
    if name == NOW:
        return want(schedule), "a night was asked for"
    if name == SKIP:
        schedule, span = skip(schedule, rules, now)
        return schedule, f"the night of {span.name} is left out"
    if name == RESUME:
        return resume(schedule, rules, now), "nights go on"
    if name == PAUSE:
        try:
            until = datetime.fromisoformat(argument) if argument else FOREVER
        except ValueError:
            return schedule, f"{argument!r} is no time"
        return pause(schedule, until), f"paused {f'until {argument}' if argument else 'until resumed'}"
    return schedule, f"there is no order {name!r}"
