"""Hours of the local day, and the spans of real time they are on each day.

Local means the zone of this process, as in `period`. Spans are in UTC: on a day on which the clocks change
they last as long as the clocks on the wall say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache

import msgspec

from skillopt_sleep.period import find_moments

PATTERN = r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$"
_DAY = timedelta(days=1)


class Hours(msgspec.Struct, frozen=True):
    """From one clock time to another; to the next day's when that is not later. Minutes of the day."""

    start: int
    end: int

    @property
    def length(self) -> timedelta:
        """How long they are by the clock: above zero, at most a day."""
        return timedelta(minutes=(self.end - self.start - 1) % 1440 + 1)

    def holds(self, now: datetime) -> bool:
        """Tell whether the clocks here show one of these hours."""
        local = now.astimezone()
        minute = local.hour * 60 + local.minute
        return (minute - self.start) % 1440 < self.length.total_seconds() / 60


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One day's hours, in UTC; `name` is the local date they begin on."""

    name: str
    start: datetime
    end: datetime


@lru_cache
def parse_hours(text: str) -> Hours:
    """Return hours written as HH:MM-HH:MM. Raises ValueError."""
    if not re.match(PATTERN, text):
        raise ValueError(f"{text!r} are no hours, for example 01:00-06:00")
    start, end = (int(part[:2]) * 60 + int(part[3:]) for part in text.split("-"))
    return Hours(start, end)


def find_span(hours: Hours, day: date) -> Span:
    """Return the span that begins on a local day.

    Hours that the clocks jump over have the moment of the jump, and are as long as otherwise.
    """
    began = datetime.combine(day, time(hours.start // 60, hours.start % 60))
    start, end = find_moments(began)[0], find_moments(began + hours.length)[1]
    return Span(name=day.isoformat(), start=start, end=end if end > start else start + hours.length)


def find_latest(hours: Hours, now: datetime) -> Span:
    """Return the span that began last, which may be over."""
    today = now.astimezone().date()
    spans = (find_span(hours, today + days * _DAY) for days in (1, 0, -1, -2))
    return next(span for span in spans if span.start <= now)


def find_next(hours: Hours, now: datetime) -> Span:
    """Return the span that begins next."""
    today = now.astimezone().date()
    spans = (find_span(hours, today + days * _DAY) for days in (-1, 0, 1, 2))
    return next(span for span in spans if span.start > now)


def list_ended(hours: Hours, after: datetime, until: datetime) -> Iterator[Span]:
    """Yield the spans that ended after one moment and no later than another, in their order."""
    # One that began two days before it, by whichever zone, has ended by then.
    day = (after.astimezone() - 2 * _DAY).date()
    while (span := find_span(hours, day)).start <= until:
        if after < span.end <= until:
            yield span
        day += _DAY
