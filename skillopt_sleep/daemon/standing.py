"""How the service stands, as `status` tells it: read from what is stored, without asking any program."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta, timezone

import msgspec

from skillopt_sleep.daemon.happenings import FOREVER
from skillopt_sleep.daemon.schedule import Schedule, begin_schedule, foresee, is_paused
from skillopt_sleep.errors import AppError
from skillopt_sleep.holder import find_holder
from skillopt_sleep.paths import Paths
from skillopt_sleep.service.record import read_record
from skillopt_sleep.settings import Service
from skillopt_sleep.store.service import WindowRow, read_schedule, read_telling, read_windows

_FORTNIGHT = 14


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Times are ISO 8601 in UTC. `next` is None where nothing would begin a night.

    `windows` are the latest that are over, newest first; `paused_until` is "" for "until resumed".
    """

    installed: bool
    manager: str
    mode: str
    running: bool
    pid: int | None
    since: str | None
    doing: str
    waiting: str
    next: str | None
    completed: str | None
    paused: bool
    paused_until: str | None
    window: str
    windows: tuple[WindowRow, ...]

    @property
    def missed(self) -> tuple[WindowRow, ...]:
        """The nights of the last two weeks that did not come to their end."""
        return tuple(row for row in self.windows if row.state != "ran")


def find_standing(
    connection: sqlite3.Connection, paths: Paths, rules: Service, now: datetime | None = None
) -> Standing:
    """Return how the service stands."""
    now = now or datetime.now(timezone.utc)
    try:
        installed = read_record(paths)
    except AppError:
        installed = None  # the check-up tells about it
    holder = find_holder(paths)
    schedule = read_schedule(connection, Schedule)
    telling = read_telling(connection) if holder else None
    timed = installed is not None and installed.mode == "timer"
    begins = holder is not None or timed
    until = schedule.paused_until if schedule else None
    paused = schedule is not None and is_paused(schedule, now)
    for_ever = paused and until is not None and until >= FOREVER
    foreseen = schedule
    if foreseen is None and timed:
        # Its timer has not gone off yet; what it will then begin with is known but for the jitter.
        foreseen, rules = begin_schedule("", now), msgspec.structs.replace(rules, jitter_minutes=0.0)
    tomorrow = (now.astimezone() + timedelta(days=1)).date().isoformat()
    return Standing(
        installed=installed is not None,
        manager=installed.manager if installed else "",
        mode=installed.mode if installed else "",
        running=holder is not None,
        pid=holder.pid if holder else None,
        since=holder.since if holder else None,
        doing=telling.doing if telling else "",
        waiting=telling.waiting if telling else "",
        next=_write(foresee(foreseen, rules, now)) if foreseen and begins and not for_ever else None,
        completed=_write(schedule.completed) if schedule else None,
        paused=paused,
        paused_until="" if for_ever else _write(until) if paused else None,
        window=rules.window,
        windows=tuple(read_windows(connection, _FORTNIGHT, until=tomorrow)),
    )


def _write(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")
