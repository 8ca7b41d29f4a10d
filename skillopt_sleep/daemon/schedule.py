"""When a night is due, and what is remembered of nights from one run of the daemon to the next. No I/O.

A night belongs to a window: the hours of one day in which it may work. It is due once its window has begun
and no night has ended since, so a week away leaves one night to make up for, not seven. Whether the machine
slept, was off, or this program was killed makes no difference: only a night that has ended counts.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

import msgspec

from skillopt_sleep.hours import Span, find_latest, find_next, parse_hours
from skillopt_sleep.settings import Service

# A night worked so shortly before is as good as one in the window, wherever one has travelled meanwhile.
GAP = timedelta(hours=6)
_JITTER_SHARE = 4


class Remark(msgspec.Struct, frozen=True):
    """What became of a window: ran, unfinished, skipped, failed or missed; and why."""

    state: str
    reason: str


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A night under way or due. `until` is when its window ends, None when it is not bound to one.

    `forced` ones were asked for; `catch_up` ones make up for the window that began at `start`.
    """

    window: str
    start: datetime
    until: datetime | None
    catch_up: bool = False
    forced: bool = False
    since: datetime | None = None


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """All that is remembered; times are in UTC.

    Windows that began before `since` are none of ours. `completed` is when a night last ended well; windows
    begun until `settled` are dealt with, windows ended until `accounted` have been told about. `seen` is the
    latest look at the clock. `starts` are those of the daemon that were not followed by an orderly end.
    `announce` is the night to tell about in the morning.
    """

    seed: str
    since: datetime
    accounted: datetime
    seen: datetime
    completed: datetime | None = None
    settled: datetime | None = None
    attempts: int = 0
    retry_at: datetime | None = None
    working: Work | None = None
    paused_until: datetime | None = None
    wanted: bool = False
    remarks: dict[str, Remark] = {}
    starts: tuple[datetime, ...] = ()
    announce: str = ""


def begin_schedule(seed: str, now: datetime) -> Schedule:
    """Return the schedule of a daemon that never ran before."""
    return Schedule(seed=seed, since=now, accounted=now, seen=now)


def find_due(schedule: Schedule, rules: Service, now: datetime) -> Work | None:
    """Return the night that is due, None when none is, or it is not its time yet."""
    span = find_latest(parse_hours(rules.window), now)
    if schedule.wanted:
        return Work(window=span.name, start=span.start, until=None, forced=True)
    if span.start <= _last_dealt_with(schedule) or _is_too_soon(schedule, now):
        return None
    if now >= span.end:
        due = Work(window=span.name, start=span.start, until=None, catch_up=True)
        return due if rules.catch_up else None
    is_time = now >= span.start + _jitter(schedule, rules, span)
    return Work(window=span.name, start=span.start, until=span.end) if is_time else None


def foresee(schedule: Schedule, rules: Service, now: datetime) -> datetime:
    """Return when the next night is due, as things stand: now, or later."""
    hours = parse_hours(rules.window)
    spans = [find_latest(hours, now)]
    for _ in range(3):
        spans.append(find_next(hours, spans[-1].start))
    moments = [span.start + _jitter(schedule, rules, span) for span in spans]
    moments += [moment for moment in (now, schedule.retry_at) if moment is not None]
    if schedule.completed is not None:
        moments.append(schedule.completed + GAP)
    if schedule.paused_until is not None:
        now = max(now, schedule.paused_until)
        moments.append(now)
    due = (moment for moment in sorted(moments) if moment >= now and find_due(schedule, rules, moment))
    return next(due, max(moments))


def is_paused(schedule: Schedule, now: datetime) -> bool:
    """Tell whether the user wants no night now."""
    return schedule.paused_until is not None and now < schedule.paused_until


def mend_clock(schedule: Schedule, now: datetime) -> Schedule:
    """Return the schedule as of `now`. What was noted while the clock was ahead is taken for just done."""
    if now >= schedule.seen:
        return msgspec.structs.replace(schedule, seen=now)
    far = now + timedelta(days=2)
    return msgspec.structs.replace(
        schedule,
        since=min(schedule.since, now),
        accounted=min(schedule.accounted, now),
        seen=now,
        completed=_no_later(schedule.completed, now),
        # The next window may be dealt with already: it was skipped.
        settled=now if schedule.settled is not None and schedule.settled > far else schedule.settled,
        retry_at=_no_later(schedule.retry_at, now),
        starts=tuple(min(start, now) for start in schedule.starts),
    )


def _last_dealt_with(schedule: Schedule) -> datetime:
    known = (schedule.since, schedule.completed, schedule.settled)
    return max(moment for moment in known if moment is not None)


def _is_too_soon(schedule: Schedule, now: datetime) -> bool:
    moments = (schedule.retry_at, schedule.completed and schedule.completed + GAP)
    return any(moment is not None and now < moment for moment in moments)


def _jitter(schedule: Schedule, rules: Service, span: Span) -> timedelta:
    """Return how much later than its window a night begins: the same for a window whenever it is asked."""
    digest = hashlib.blake2b(f"{schedule.seed}\0{span.name}".encode(), digest_size=8).digest()
    most = min(timedelta(minutes=rules.jitter_minutes), (span.end - span.start) / _JITTER_SHARE)
    return most * (int.from_bytes(digest, "big") / 2**64)


def _no_later(moment: datetime | None, now: datetime) -> datetime | None:
    return None if moment is None else min(moment, now)
