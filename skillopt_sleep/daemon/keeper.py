"""The schedule, kept in the database as it changes."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from skillopt_sleep.daemon.happenings import Outcome
from skillopt_sleep.daemon.schedule import Schedule, begin_schedule
from skillopt_sleep.store.service import read_schedule, save_schedule

# That time goes by is worth writing down so often.
_OFTEN = timedelta(minutes=15)


class Keeper:
    """Holds the schedule; what `change` was given is on disk when it returns."""

    def __init__(self, connection: sqlite3.Connection, now: datetime) -> None:
        self._connection = connection
        self.schedule = read_schedule(connection, Schedule) or begin_schedule(secrets.token_hex(8), now)
        self._written = self.schedule

    def change(self, schedule: Schedule, outcomes: Sequence[Outcome] = ()) -> None:
        """Adopt a schedule and keep it. Raises sqlite3.Error, and then nothing has changed."""
        if outcomes or self._differs(schedule):
            rows = [(outcome.window, outcome.state, outcome.reason) for outcome in outcomes]
            save_schedule(self._connection, schedule, rows)
            self._written = schedule
        self.schedule = schedule

    def _differs(self, schedule: Schedule) -> bool:
        before = self._written
        if abs(schedule.seen - before.seen) >= _OFTEN:
            return True
        return schedule != msgspec.structs.replace(before, seen=schedule.seen, accounted=schedule.accounted)
