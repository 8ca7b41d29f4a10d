"""What nights have spent, as the database knows it: pure readings."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.clock import month_start

if TYPE_CHECKING:
    from skillopt_replay.admission import Amount


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """What a night has used.

    `reserved_usd` of it is what calls that are under way, or were cut off, may have spent at most.
    """

    calls: int
    tokens: int
    usd: float
    reserved_usd: float = 0.0


def find_dearest(connection: sqlite3.Connection, night: str, kind: str) -> Amount:
    """Return what the dearest calls of this kind told tonight; 0 while none has told."""
    # Not at the top: `status` reads this module, and has no use for what admits calls.
    from skillopt_replay.admission import Amount

    row = connection.execute(
        "select coalesce(max(usd), 0.0), coalesce(max(tokens), 0) from calls where night = ? and kind = ?",
        (night, kind),
    ).fetchone()
    return Amount(float(row[0]), int(row[1]))


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
