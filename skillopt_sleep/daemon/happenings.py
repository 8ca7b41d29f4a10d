"""What happens to a schedule: nights begin and end, the user speaks, windows pass. No I/O."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum

import msgspec

from skillopt_sleep.daemon.schedule import GAP, Remark, Schedule, Work
from skillopt_sleep.hours import Span, find_latest, find_next, list_ended, parse_hours
from skillopt_sleep.settings import Service

FOREVER = datetime(9000, 1, 1, tzinfo=timezone.utc)
OFF = "the machine was off or asleep, or the service did not run"
_ATTEMPTS = 3
_RETRY = timedelta(minutes=15)
_SOON = timedelta(minutes=5)
# After a long time away only so many windows are told about.
_TOLD = 14
_RESTLESS = timedelta(minutes=30)
_STARTS = 12
_CALM_STARTS = 3
_DELAY_S, _DELAY_MAX_S = 10.0, 600.0
_SKIPPED = "skipped"
_INSTANT = timedelta(microseconds=1)


class End(Enum):
    """How a night ended: `DONE` has nothing left to do tonight; the others are gone on with."""

    DONE = "done"
    WINDOW_OVER = "unfinished"
    DISTURBED = "disturbed"
    BUSY = "busy"
    FAILED = "failed"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one window that is over, to be kept."""

    window: str
    state: str
    reason: str


def begin(schedule: Schedule, due: Work, now: datetime) -> Schedule:
    """Note that a night begins, before it does: one that dies is known to have been tried."""
    return msgspec.structs.replace(
        schedule, working=msgspec.structs.replace(due, since=now), wanted=False, retry_at=None
    )


def finish(schedule: Schedule, end: End, now: datetime, reason: str = "") -> Schedule:
    """Note how the night ended, and why.

    A failure is tried again a few times, with more and more time between, then left for the next window.
    """
    work = schedule.working
    calm = msgspec.structs.replace(schedule, working=None)
    if work is None or (work.forced and end is not End.DONE):
        return calm
    if end is End.DONE:
        done = msgspec.structs.replace(
            calm, completed=now, settled=_later(calm.settled, work.start), attempts=0
        )
        return _remark(done, work.window, Remark("ran", "made up for later" if work.catch_up else ""))
    if end is End.WINDOW_OVER:
        return _settle(calm, work, Remark("unfinished", "its window ended; the next night goes on with it"))
    if end is End.FAILED:
        return _fail(calm, work, now, reason)
    state = "unfinished" if end is End.DISTURBED else "missed"
    later = msgspec.structs.replace(calm, retry_at=now + _SOON)
    return later if _is_skipped(calm, work.window) else _remark(later, work.window, Remark(state, reason))


def note_done(schedule: Schedule, ended: datetime) -> Schedule:
    """Note that a night ended well, whoever worked it: one of the user's own counts, too."""
    if ended > schedule.seen or (schedule.completed is not None and ended <= schedule.completed):
        return schedule
    return msgspec.structs.replace(schedule, completed=ended)


def wait(schedule: Schedule, due: Work, reason: str) -> Schedule:
    """Note why the night that is due does not begin. It is told when the window passes without one."""
    return schedule if due.forced else _remark(schedule, due.window, Remark("missed", reason))


def want(schedule: Schedule) -> Schedule:
    """Ask for a night now, whatever the hour; conditions are the asker's own business."""
    return msgspec.structs.replace(schedule, wanted=True, paused_until=None, attempts=0, retry_at=None)


def pause(schedule: Schedule, until: datetime = FOREVER) -> Schedule:
    """Work no night until then."""
    return msgspec.structs.replace(schedule, paused_until=until, wanted=False)


def resume(schedule: Schedule, rules: Service, now: datetime) -> Schedule:
    """Work nights again, those that were to be left out and are not over included."""
    hours = parse_hours(rules.window)
    spans = [span for span in (find_latest(hours, now), find_next(hours, now)) if now < span.end]
    skipped = [span for span in spans if _is_skipped(schedule, span.name)]
    settled = schedule.settled
    if skipped and settled is not None:
        settled = min(settled, skipped[0].start - _INSTANT)
    dropped = {span.name for span in skipped}
    remarks = {name: remark for name, remark in schedule.remarks.items() if name not in dropped}
    return msgspec.structs.replace(
        schedule, paused_until=None, attempts=0, retry_at=None, settled=settled, remarks=remarks
    )


def skip(schedule: Schedule, rules: Service, now: datetime) -> tuple[Schedule, Span]:
    """Leave out the window that is open and not dealt with, or else the next one; return it as well."""
    hours = parse_hours(rules.window)
    span = find_latest(hours, now)
    dealt_with = [moment for moment in (schedule.completed, schedule.settled) if moment is not None]
    if now >= span.end or (dealt_with and max(dealt_with) >= span.start):
        span = find_next(hours, now)
    skipped = msgspec.structs.replace(
        schedule, settled=_later(schedule.settled, span.start), wanted=False, attempts=0, retry_at=None
    )
    return _remark(skipped, span.name, Remark(_SKIPPED, "as you asked")), span


def account(schedule: Schedule, rules: Service, now: datetime) -> tuple[Schedule, list[Outcome]]:
    """Return the outcomes of the windows that ended since the last time, but for one still worked in."""
    outcomes = []
    until = now
    hours = parse_hours(rules.window)
    for span in list_ended(hours, schedule.accounted, now):
        if schedule.working is not None and schedule.working.window == span.name:
            until = span.start
            break
        if span.start >= schedule.since:
            outcomes.append(_judge(schedule, span, find_next(hours, span.start)))
    outcomes = outcomes[-_TOLD:]
    told = {outcome.window for outcome in outcomes}
    remarks = {window: remark for window, remark in schedule.remarks.items() if window not in told}
    recent = dict(sorted(remarks.items())[-_TOLD:])
    accounted = max(schedule.accounted, until)
    return msgspec.structs.replace(schedule, accounted=accounted, remarks=recent), outcomes


def note_start(schedule: Schedule, now: datetime) -> tuple[Schedule, float]:
    """Note that the daemon starts; return how long it had better wait, in seconds, as it keeps dying.

    A night that was under way was cut off, which counts as a failure of it.
    """
    recent = tuple(start for start in schedule.starts if now - start < _RESTLESS)[-_STARTS:]
    restless = len(recent) - _CALM_STARTS
    delay = min(_DELAY_S * 2.0**restless, _DELAY_MAX_S) if restless >= 0 else 0.0
    schedule = msgspec.structs.replace(schedule, starts=(*recent, now))
    if schedule.working is not None:
        schedule = finish(schedule, End.FAILED, now, "the night was cut off: the machine or the service went")
    return schedule, delay


def note_stop(schedule: Schedule) -> Schedule:
    """Note that the daemon ends in an orderly way."""
    return msgspec.structs.replace(schedule, starts=schedule.starts[:-1])


def _fail(schedule: Schedule, work: Work, now: datetime, reason: str) -> Schedule:
    attempts, remark = schedule.attempts + 1, Remark("failed", reason)
    if attempts >= _ATTEMPTS:
        return _settle(schedule, work, remark)
    retry_at = now + _RETRY * 4 ** (attempts - 1)
    failed = msgspec.structs.replace(schedule, attempts=attempts, retry_at=retry_at)
    return _remark(failed, work.window, remark)


def _judge(schedule: Schedule, span: Span, following: Span) -> Outcome:
    remark = schedule.remarks.get(span.name)
    completed = schedule.completed
    has_run = completed is not None and completed >= span.start - GAP
    # One night after a week away makes up for the last of its windows, not for all of them.
    if has_run and completed is not None and completed < following.start - GAP:
        remark = Remark("ran", "")
    elif remark is None or (remark.state == "ran" and not has_run):
        remark = Remark("missed", OFF)
    return Outcome(window=span.name, state=remark.state, reason=remark.reason)


def _settle(schedule: Schedule, work: Work, remark: Remark) -> Schedule:
    settled = msgspec.structs.replace(
        schedule, settled=_later(schedule.settled, work.start), attempts=0, retry_at=None
    )
    return _remark(settled, work.window, remark)


def _is_skipped(schedule: Schedule, window: str) -> bool:
    remark = schedule.remarks.get(window)
    return remark is not None and remark.state == _SKIPPED


def _remark(schedule: Schedule, window: str, remark: Remark) -> Schedule:
    if schedule.remarks.get(window) == remark:
        return schedule
    return msgspec.structs.replace(schedule, remarks={**schedule.remarks, window: remark})


def _later(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else max(one, other)
