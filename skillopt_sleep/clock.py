"""The one place that asks what time it is."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """Return the time in UTC as ISO 8601 with seconds, for example 2026-01-31T22:15:00Z."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def today() -> str:
    """Return the local date as ISO 8601: a night is named for the evening it begins in."""
    return datetime.now(timezone.utc).astimezone().strftime("%Y-%m-%d")


def month_start() -> str:
    """Return when the calendar month began in local time, as `now` tells times."""
    local = datetime.now().astimezone()
    # Without its offset, which may have been another one then.
    first = datetime(local.year, local.month, 1).astimezone()
    return first.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_between(earlier: str, later: str) -> float:
    """Return the seconds from one time of `now` to another."""
    return (parse(later) - parse(earlier)).total_seconds()


def parse(text: str) -> datetime:
    """Return a time of `now`, in UTC."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
