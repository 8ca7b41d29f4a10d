"""Times as people write them: local days and hours in, UTC out, and back again.

Local means the zone of this process (TZ, or the machine's). All that is stored and compared is UTC.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone

from skillopt_sleep.errors import UsageError

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?"
)
_SECOND = timedelta(seconds=1)
_HINT = "write 2026-01-31, 2026-01-31T18:30, today, yesterday, 7d or 36h"


def parse_since(text: str, *, now: datetime | None = None) -> str:
    """Return the first moment meant by `text` as ISO 8601 in UTC. Raises UsageError.

    A day begins when the local calendar first shows it. Where a clock time comes twice (the clocks go
    back) the first one is meant; where it never comes (they go forward), the moment of the change.
    """
    return _write(_parse(text, now or datetime.now(timezone.utc))[0])


def parse_until(text: str, *, now: datetime | None = None) -> str:
    """Return the moment after the last one meant by `text` as ISO 8601 in UTC. Raises UsageError.

    A day lasts for as long as the local calendar shows it; of a clock time that comes twice the second is
    meant.
    """
    return _write(_parse(text, now or datetime.now(timezone.utc))[1])


def as_local(stored: str | None) -> str:
    """Return a stored time in the local zone, to the minute, with its offset; "" for None."""
    if stored is None:
        return ""
    try:
        moment = datetime.strptime(stored[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return moment.astimezone().strftime("%Y-%m-%d %H:%M %z")
    except (ValueError, OverflowError, OSError):
        return stored


def _parse(text: str, now: datetime) -> tuple[datetime, datetime]:
    """Return the first moment meant and the one after the last, in UTC."""
    wanted = text.strip()
    try:
        return _read(wanted.lower(), now)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text!r} is not a time", hint=_HINT) from None


def _read(text: str, now: datetime) -> tuple[datetime, datetime]:
    today = now.astimezone().date()
    if text in {"today", "yesterday"}:
        return _bound(today - timedelta(days=text == "yesterday"))
    if found := _AGO.fullmatch(text):
        moment = _before(now, int(found[1]), found[2])
        return moment, moment
    if found := _DAY.fullmatch(text):
        return _bound(date(int(found[1]), int(found[2]), int(found[3])))
    if found := _TIME.fullmatch(text):
        day, hour, minute, second, fraction, zone = found.groups()
        micros = int((fraction or "0")[:6].ljust(6, "0"))
        naive = datetime.fromisoformat(day).replace(
            hour=int(hour), minute=int(minute), second=int(second or 0), microsecond=micros
        )
        if zone is None:
            return find_moments(naive)
        moment = naive.replace(tzinfo=_offset(zone)).astimezone(timezone.utc)
        return moment, moment
    raise ValueError(text)


def _before(now: datetime, number: int, unit: str) -> datetime:
    """Return the moment some time ago: minutes and hours as they pass, days and weeks by the calendar."""
    if unit in "mh":
        return now - timedelta(**{"minutes" if unit == "m" else "hours": number})
    days = number * (7 if unit == "w" else 1)
    return find_moments(now.astimezone().replace(tzinfo=None) - timedelta(days=days))[0]


def _bound(day: date) -> tuple[datetime, datetime]:
    """Return the first moment of a local day and the one after its last: 23, 24 or 25 hours, or others."""
    midnight = datetime.combine(day, time.min)
    return find_moments(midnight)[0], find_moments(midnight + timedelta(days=1))[1]


def find_moments(naive: datetime) -> tuple[datetime, datetime]:
    """Return the first and the last moment, in UTC, at which local clocks show a time without a zone.

    The two differ where clocks go back. A time that is jumped over has the moment of the jump.
    """
    # Not `astimezone`, which in a gap takes the offset of the other side.
    first, last = (
        datetime.fromtimestamp(naive.replace(fold=fold).timestamp(), timezone.utc) for fold in (0, 1)
    )
    if first <= last:
        return first, last
    low, high = last, first
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        if middle.astimezone().replace(tzinfo=None) < naive:
            low = middle
        else:
            high = middle
    jump = high.replace(microsecond=0)
    return jump, jump


def _offset(zone: str) -> timezone:
    if zone == "z":
        return timezone.utc
    digits = zone[1:].replace(":", "").ljust(4, "0")
    span = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-span if zone[0] == "-" else span)


def _write(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
