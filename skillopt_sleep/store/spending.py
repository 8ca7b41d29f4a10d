"""What nights have spent, as the database knows it: pure readings, and what a call told of its cost."""

from __future__ import annotations

import math
import sqlite3
from typing import NamedTuple

import msgspec

from skillopt_replay.rollouts import Usage
from skillopt_sleep.clock import month_start

_MOST_TOKENS = 1 << 40  # more than any call can use


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """What a night has used.

    `reserved_usd` of it is what calls that are under way, or were cut off, may have spent at most.
    """

    calls: int
    tokens: int
    usd: float
    reserved_usd: float = 0.0


def take_told(usage: Usage | None) -> tuple[float | None, int | None]:
    """Return dollars and tokens as they were told, None for what no call can cost: then its reserve counts.

    A run can write into what its client tells us.
    """
    if usage is None:
        return None, None
    usd = usage.cost_usd
    if usd is not None and not 0.0 <= usd < math.inf:
        usd = None
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return usd, sum(counts) if all(0 <= count < _MOST_TOKENS for count in counts) else None


class Dearest(NamedTuple):
    """The most that a call took, in US dollars and tokens; 0 while none has told."""

    usd: float
    tokens: int


def find_dearest(connection: sqlite3.Connection, night: str, kind: str) -> Dearest:
    """Return what the dearest calls of this kind told tonight."""
    row = connection.execute(
        "select coalesce(max(usd), 0.0), coalesce(max(tokens), 0) from calls where night = ? and kind = ?",
        (night, kind),
    ).fetchone()
    return Dearest(float(row[0]), int(row[1]))


def read_spend(connection: sqlite3.Connection, night: str) -> Spend:
    """Return what the night has used; an unknown price counts with its reserve."""
    row = connection.execute(
        "select count(*) calls, coalesce(sum(coalesce(tokens, reserved_tokens)), 0) tokens,"
        " coalesce(sum(coalesce(usd, reserved_usd)), 0.0) usd,"
        " coalesce(sum(case when usd is null then reserved_usd end), 0.0) reserved_usd"
        " from calls where night = ?",
        (night,),
    ).fetchone()
    return Spend(calls=row["calls"], tokens=row["tokens"], usd=row["usd"], reserved_usd=row["reserved_usd"])


def read_month(connection: sqlite3.Connection) -> float:
    """Return the US dollars used since the month began, as `read_spend` counts them."""
    row = connection.execute(
        "select coalesce(sum(coalesce(usd, reserved_usd)), 0.0) from calls where started >= ?",
        (month_start(),),
    ).fetchone()
    return float(row[0])
