"""What calls of a kind typically cost, from those that were paid for lately."""

from __future__ import annotations

import sqlite3
import statistics

import msgspec

from skillopt_sleep.clock import seconds_between

_LATELY = 100


class Typical(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the last calls of one kind; `usd` is None when the price of none of them is known."""

    calls: int
    usd: float | None
    tokens: float
    seconds: float


def read_typical(connection: sqlite3.Connection, kind: str) -> Typical | None:
    """Return what the last hundred calls of this kind that ended well were like, None without any."""
    rows = connection.execute(
        "select usd, tokens, started, ended from calls where kind = ? and state = 'done'"
        " order by ended desc limit ?",
        (kind, _LATELY),
    ).fetchall()
    if not rows:
        return None
    known = [row["usd"] for row in rows if row["usd"] is not None]
    return Typical(
        calls=len(rows),
        usd=statistics.fmean(known) if known else None,
        tokens=statistics.fmean(row["tokens"] or 0 for row in rows),
        seconds=statistics.fmean(seconds_between(row["started"], row["ended"]) for row in rows),
    )
