"""Lives of a machine against an oracle that knows the clock on the wall, and nothing of our schedule."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from skillopt_sleep.daemon.conditions import find_disturbance, find_obstacle
from skillopt_sleep.daemon.happenings import (
    End,
    account,
    begin,
    finish,
    note_start,
    pause,
    resume,
    skip,
    wait,
)
from skillopt_sleep.daemon.schedule import begin_schedule, find_due, is_paused, mend_clock
from skillopt_sleep.settings import Service

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
STEP = 10 * MINUTE
# Half an hour of summer time; a day that never was; changes at midnight; a pause for a month; the usual ones.
LIVES = {
    "Australia/Lord_Howe": "2026-03-20",
    "Pacific/Apia": "2011-12-10",
    "America/Santiago": "2026-03-25",
    "Africa/Casablanca": "2026-02-05",
    "Europe/Berlin": "2026-10-10",
    "America/New_York": "2026-02-25",
}
WINDOWS = ("01:00-06:00", "23:30-04:00", "02:15-02:45")


class Quiet:
    """A machine that is never in the way."""

    def __getattr__(self, name: str):
        return lambda: None


@pytest.fixture(params=LIVES)
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def find_window(moment: datetime, zone: str, text: str) -> str | None:
    """Return the day on whose hours of the window the clocks stand, by the wall alone."""
    wall = moment.astimezone(ZoneInfo(zone))
    start, end = (int(part[:2]) * 60 + int(part[3:]) for part in text.split("-"))
    minute = wall.hour * 60 + wall.minute
    if start < end:
        return wall.date().isoformat() if start <= minute < end else None
    if minute >= start:
        return wall.date().isoformat()
    return (wall.date() - DAY).isoformat() if minute < end else None


def is_jumped_over(day: str, zone: str, text: str) -> bool:
    """Tell whether the clocks jumped over the beginning of a window, which is worked later then."""
    wall = datetime.fromisoformat(f"{day}T{text[:5]}").replace(tzinfo=ZoneInfo(zone))
    return wall.astimezone(timezone.utc).astimezone(ZoneInfo(zone)).replace(fold=0) != wall


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("catch_up", [True, False], ids=["makes up", "does not"])
@pytest.mark.parametrize("seed", range(3))
def test_no_window_has_two_nights_none_works_at_a_wrong_hour_and_none_is_missed_untold(
    zone: str, window: str, catch_up: bool, seed: int
):
    chance = random.Random(f"{zone} {window} {seed}")
    rules = Service(window=window, catch_up=catch_up, jitter_minutes=5)
    now = begun = datetime.fromisoformat(LIVES[zone]).replace(tzinfo=timezone.utc)
    schedule = begin_schedule(f"{seed}", now)
    left = length = timedelta(minutes=chance.choice([20, 90, 400]))
    ran: Counter[str] = Counter()
    told: Counter[str] = Counter()
    states: dict[str, str] = {}
    passed: set[str] = set()
    off_until = now
    while now < begun + 40 * DAY:
        passed.add(find_window(now, zone, window) or "")
        if now >= off_until and chance.random() < 0.01:
            off_until = now + chance.choice([HOUR, 7 * HOUR, 20 * HOUR, 5 * DAY])
        elif now >= off_until:
            crashed = chance.random() < 0.002
            if crashed:
                schedule, _ = note_start(schedule, now)
            if chance.random() < 0.003:
                asked = (
                    pause(schedule, now + DAY),
                    resume(schedule, rules, now),
                    skip(schedule, rules, now)[0],
                )
                schedule = chance.choice(asked)
            schedule = mend_clock(schedule, now)
            schedule, outcomes = account(schedule, rules, now)
            told.update(outcome.window for outcome in outcomes)
            states.update({outcome.window: outcome.state for outcome in outcomes})
            work = schedule.working
            due = find_due(schedule, rules, now)
            if work is not None:
                over = work.until is not None and now >= work.until
                left_out = schedule.settled is not None and schedule.settled >= work.start
                upset = find_disturbance(rules, Quiet(), now, work.since or now)
                if over:
                    schedule = finish(schedule, End.WINDOW_OVER, now)
                elif left_out or upset or is_paused(schedule, now):
                    schedule = finish(schedule, End.DISTURBED, now, upset or "asked")
                else:
                    wall = find_window(now, zone, window)
                    free = work.catch_up or is_jumped_over(work.window, zone, window)
                    assert free or wall == work.window, (now, work)
                    assert not 8 <= now.astimezone(ZoneInfo(zone)).hour < 18, "quiet hours"
                    left -= STEP
                    if left <= timedelta(0):
                        ran[work.window] += 1
                        left = length
                        schedule = finish(schedule, End.DONE, now)
            elif due is not None:
                assert not ran[due.window], "this window has had its night"
                reason = find_obstacle(rules, Quiet(), now, catch_up=due.catch_up)
                if reason or is_paused(schedule, now):
                    schedule = wait(schedule, due, reason or "paused")
                else:
                    schedule = begin(schedule, due, now)
        now += STEP
    if schedule.working is not None:
        schedule = finish(schedule, End.WINDOW_OVER, now)
    schedule, outcomes = account(mend_clock(schedule, now), rules, now)
    told.update(outcome.window for outcome in outcomes)
    states.update({outcome.window: outcome.state for outcome in outcomes})

    assert max(ran.values(), default=0) <= 1
    assert max(told.values()) == 1, "each window is told about once"
    still = {find_window(now - STEP, zone, window), find_window(now, zone, window)}
    first = find_window(begun, zone, window)
    # A day that the calendar leaves out has no hours.
    assert set(told) >= passed - still - {"", first}
    assert set(states.values()) <= {"ran", "missed", "skipped", "failed", "unfinished"}
