"""Times as clients write them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

# Where a time written as nearly all are has its zone.
_ZONE = len("2026-01-31T22:15:00.000")


def to_utc(time: str | int | float | None) -> str | None:
    """Return a time as ISO 8601 in UTC, to the millisecond; None when it is no time.

    Accepts ISO strings with or without a zone (taken as UTC), and epoch seconds or milliseconds.
    """
    if not time:
        # A clock that was never set; a session would seem to begin in 1970.
        return None
    if isinstance(time, str):
        if len(time) == _ZONE + 1 and time[_ZONE] == "Z" and _is_canonical(time):
            return time
        try:
            moment = datetime.fromisoformat(_fraction_of_six(time.strip().replace("Z", "+00:00")))
        except ValueError:
            return None
    else:
        try:
            moment = datetime.fromtimestamp(time / 1000 if time > 1e11 else time, tz=timezone.utc)
        except (ValueError, OverflowError, OSError):
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    try:
        moment = moment.astimezone(timezone.utc)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def first_and_last(times: Sequence[str | int | float | None]) -> list[str | None]:
    """Return times as `to_utc` does, the first and the last of them among them, perhaps no others."""
    if len(times) > 1 and _are_usual(times):
        # Their order is that of the alphabet.
        ordered = sorted(cast("Sequence[str]", times))
        earliest, latest = ordered[0], ordered[-1]
        if to_utc(earliest) == earliest and to_utc(latest) == latest:
            return [earliest, latest]
    return [to_utc(time) for time in times]


def _are_usual(times: Sequence[Any]) -> bool:
    """Tell whether times are, by their length and their end, written as nearly all are."""
    try:
        together = "".join(times)
    except TypeError:
        return False
    count = len(times)
    return len(together) == count * (_ZONE + 1) and together[_ZONE :: _ZONE + 1] == "Z" * count


def _is_canonical(time: str) -> bool:
    """Tell whether a time is written as nearly all are, which is as we write it, and is one."""
    if not (time[4] == time[7] == "-" and time[10] == "T" and time[19] == "." and time.isascii()):
        return False
    try:
        datetime.fromisoformat(time[:_ZONE])
    except ValueError:
        return False
    return True


def _fraction_of_six(time: str) -> str:
    """Python 3.10 reads fractions of three or six digits only."""
    head, dot, tail = time.partition(".")
    if not dot:
        return time
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return f"{head}.{tail[:digits][:6]:0<6}{tail[digits:]}"
