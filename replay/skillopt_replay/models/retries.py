"""When to try a request again, and how long to wait before: pure functions over status and headers."""

from __future__ import annotations

import random
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

# 501 and 505 say that the server will never do it; everything else from 500 on may pass.
_TRANSIENT = frozenset({408, 409, 425, 429})
_PERMANENT = frozenset({501, 505})


class Patience(msgspec.Struct, frozen=True):
    """How often and how long to try: attempts in all, first and longest wait in seconds."""

    attempts: int = 5
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    def wait(self, attempt: int, rng: random.Random) -> float:
        """Return the seconds to wait after the failed attempt number `attempt` (from 0).

        Exponential backoff with equal jitter: half of the wait is fixed, half is drawn, so that many
        clients that failed together do not come back together.
        """
        full = min(self.first_wait_s * 2.0**attempt, self.longest_wait_s)
        return full / 2 + rng.random() * full / 2


def is_transient(status: int) -> bool:
    """Tell whether the same request may succeed later, as far as the status says."""
    return status in _TRANSIENT or (status >= 500 and status not in _PERMANENT)


def requested_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds the server asks to wait (retry-after-ms, or retry-after as seconds or date)."""
    milliseconds = _to_seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _to_seconds(value)
    if seconds is not None or not value:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max((date - (now or datetime.now(timezone.utc))).total_seconds(), 0.0)


def _to_seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
