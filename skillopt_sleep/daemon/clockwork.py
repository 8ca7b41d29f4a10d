"""Regular calls by APScheduler. Only this module knows it.

It only ever says "look now": whether a night is due follows from what is stored, so a call that comes late,
once instead of often, or not at all changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

TICK_S = 60.0
LOOK_S = 2.0


# Without a handler of its own the library would write into our log's stream.
logging.getLogger("apscheduler").addHandler(logging.NullHandler())


class Clockwork:
    """Calls `tick` and `look` from a thread of its own, at once to begin with, until stopped."""

    def __init__(self, tick: Callable[[], None], look: Callable[[], None], *, tick_s: float = TICK_S) -> None:
        from apscheduler.executors.debug import DebugExecutor
        from apscheduler.schedulers.background import BackgroundScheduler

        self._scheduler = BackgroundScheduler(
            timezone=timezone.utc,
            # The calls take no time, so the scheduler's thread makes them itself.
            executors={"default": DebugExecutor()},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._jobs = [
            self._scheduler.add_job(call, "interval", seconds=seconds, next_run_time=_now())
            for call, seconds in ((tick, tick_s), (look, LOOK_S))
        ]

    def start(self) -> None:
        self._scheduler.start()

    def set_right(self) -> None:
        """Go on from now: when the clock was set back, the next call would be as far away as that."""
        for job in self._jobs:
            job.modify(next_run_time=_now() + timedelta(seconds=1))

    def stop(self) -> None:
        self._scheduler.shutdown(wait=False)


def _now() -> datetime:
    return datetime.now(timezone.utc)
