"""What nights have spent, as the database knows it: pure readings."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.clock import month_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.admission import Amount

_UNTOLD = """\
    select night, kind, case when usd is null then reserved_usd else 0.0 end usd,
    case when tokens is null then reserved_tokens else 0 end tokens
    from calls where (usd is null and reserved_usd > 0 or tokens is null)"""


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


def read_margin(connection: sqlite3.Connection, night: str) -> Amount:
    """Return by how much the night's calls that told nothing may have passed their reserves.

    See `skillopt_replay.admission.find_margin`.
    """
    return _find_margin(connection, connection.execute(f"{_UNTOLD} and night = ?", (night,)).fetchall())


def read_month_margin(connection: sqlite3.Connection) -> float:
    """Return the same in US dollars for all calls since the month began, each by the dearest of its night."""
    rows = connection.execute(f"{_UNTOLD} and started >= ?", (month_start(),)).fetchall()
    return _find_margin(connection, rows).usd


def _find_margin(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> Amount:
    # Not at the top, as above.
    from skillopt_replay.admission import Amount, find_margin

    untold = [((row["night"], row["kind"]), Amount(row["usd"], row["tokens"])) for row in rows]
    dearest = {name: find_dearest(connection, *name) for name, _ in untold}
    return find_margin(untold, dearest.__getitem__)


def read_month(connection: sqlite3.Connection) -> float:
    """Return the US dollars used since the month began, as `read_spend` counts them."""
    row = connection.execute(
        "select coalesce(sum(coalesce(usd, reserved_usd)), 0.0) from calls where started >= ?",
        (month_start(),),
    ).fetchone()
    return float(row[0])
