"""What the gate ruled, night by night: how a verdict came about can be told as long as the database lives."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_gate.verdicts import Policy, Verdict
from skillopt_sleep.clock import now
from skillopt_sleep.errors import UsageError


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate's verdict on one night, as it was stored.

    `place` is the live path of its skill, `candidate` its id, `digest` and `base` those of the two texts,
    `identity` who ran the tasks. `restarted`: the evidence began anew with this night.
    """

    night: str
    skill: str
    place: str
    candidate: str
    digest: str
    base: str
    identity: str
    policy: Policy
    verdict: Verdict
    candidates: int = 1
    number: int | None = None
    restarted: bool = False
    sealed: int = 0
    at: str = ""


def save_ruling(connection: sqlite3.Connection, ruled: Ruled) -> bool:
    """Store it; a night that is repeated from its ledger rules the same again. Returns whether it is new."""
    known = connection.execute(
        "select 1 from rulings where night = ? and candidate = ?", (ruled.night, ruled.candidate)
    ).fetchone()
    at = now()
    connection.execute(
        "insert into rulings (night, skill, place, candidate, identity, at, body)"
        " values (?, ?, ?, ?, ?, ?, ?)"
        " on conflict (night, candidate) do update set identity = excluded.identity, body = excluded.body",
        (
            ruled.night,
            ruled.skill,
            ruled.place,
            ruled.candidate,
            ruled.identity,
            at,
            msgspec.msgpack.encode(msgspec.structs.replace(ruled, at=at)),
        ),
    )
    return known is None


def read_rulings(connection: sqlite3.Connection, candidate: str) -> list[Ruled]:
    """Return the candidate's verdicts, oldest first."""
    rows = connection.execute("select body from rulings where candidate = ? order by id", (candidate,))
    return [msgspec.msgpack.decode(row["body"], type=Ruled) for row in rows]


def find_ruling(connection: sqlite3.Connection, name: str) -> Ruled:
    """Return the verdict that `name` names: a candidate (its last one), a night and a skill, or a proposal.

    A beginning is enough as long as it names one candidate only. Raises UsageError otherwise.
    """
    rows = connection.execute(
        "select id, candidate, night || '-' || skill proposal, body from rulings"
        " where substr(candidate, 1, ?) = ? or substr(night || '-' || skill, 1, ?) = ? order by id desc",
        (len(name), name, len(name), name),
    ).fetchall()
    exact = [row for row in rows if name in (row["candidate"], row["proposal"])]
    found = exact or rows
    if not found or not name:
        raise UsageError(
            f"the gate has no verdict on {name!r}",
            hint="skillopt-sleep status names the last night's; a proposal's id names one too",
        )
    names = {row["proposal"] for row in found}
    if not exact and len(names) > 1 and len({row["candidate"] for row in found}) > 1:
        raise UsageError(f"{name!r} could be {', '.join(sorted(names))}", hint="give more of the id")
    rulings = [msgspec.msgpack.decode(row["body"], type=Ruled) for row in found]
    # Of several candidates on one night the one that was accepted is what a proposal's id means.
    return next((one for one in rulings if one.verdict.decision.value == "accept"), rulings[0])


def find_last_identity(connection: sqlite3.Connection) -> str:
    """Return who ran the tasks that were judged last, "" before the first."""
    row = connection.execute("select identity from rulings order by id desc limit 1").fetchone()
    return str(row["identity"]) if row else ""
