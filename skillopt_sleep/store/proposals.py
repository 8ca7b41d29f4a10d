"""Proposals and the user's decisions in the database."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_sleep.clock import now
from skillopt_sleep.errors import UsageError
from skillopt_sleep.records import Proposal
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.intents import forget_intent
from skillopt_staging.proposals import State

_proposal = msgspec.msgpack.Decoder(Proposal)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the record: `who` did `action` at `at` (UTC), and `detail` is why or what came of it."""

    action: str
    at: str
    who: str
    detail: str


def save_proposal(
    connection: sqlite3.Connection, proposal: Proposal, *, action: str, detail: str, who: str = "a night"
) -> None:
    """Insert or update the proposal and add the decision to the record of who did what.

    What the journal holds about it is settled by that.
    """
    with transaction(connection):
        forget_intent(connection, proposal.id)
        connection.execute(
            "insert or replace into proposals (id, skill, state, created, body) values (?, ?, ?, ?, ?)",
            (
                proposal.id,
                proposal.skill,
                proposal.state.value,
                proposal.created,
                msgspec.msgpack.encode(proposal),
            ),
        )
        connection.execute(
            "insert into decisions (proposal, action, at, detail, who) values (?, ?, ?, ?, ?)",
            (proposal.id, action, now(), detail, who),
        )


def read_decisions(connection: sqlite3.Connection, proposal: str) -> list[Decision]:
    """Return what was decided about a proposal, oldest first."""
    rows = connection.execute(
        "select action, at, who, detail from decisions where proposal = ? order by id", (proposal,)
    )
    return [Decision(**dict(row)) for row in rows]


def wake(proposal: Proposal, at: str) -> Proposal:
    """Return the proposal as it stands at a time (UTC): one whose snooze is over is pending again."""
    if proposal.state is not State.SNOOZED or not proposal.snoozed_until or at < proposal.snoozed_until:
        return proposal
    return msgspec.structs.replace(proposal, state=State.PENDING, snoozed_until=None)


def read_proposals(connection: sqlite3.Connection, *states: State) -> list[Proposal]:
    """Return proposals in these states (none given: all), pending first, then newest first."""
    rows = connection.execute("select body from proposals order by created desc, id").fetchall()
    at = now()
    proposals = [wake(_proposal.decode(row["body"]), at) for row in rows]
    proposals.sort(key=lambda proposal: proposal.state is not State.PENDING)
    return [p for p in proposals if not states or p.state in states]


def read_proposal(connection: sqlite3.Connection, name: str) -> Proposal:
    """Return the proposal whose id is, or unambiguously begins with, `name`. Raises UsageError else."""
    rows = connection.execute(
        "select body from proposals where id = ? or substr(id, 1, ?) = ? order by id != ?",
        (name, len(name), name, name),
    ).fetchall()
    at = now()
    found = [wake(_proposal.decode(row["body"]), at) for row in rows]
    if not found or not name:
        raise UsageError(
            f"there is no proposal {name!r}", hint="all with their ids: skillopt-sleep review --plain --all"
        )
    if len(found) > 1 and found[0].id != name:
        raise UsageError(f"{name!r} could be {', '.join(p.id for p in found)}", hint="give more of the id")
    return found[0]


def find_proposal(connection: sqlite3.Connection, name: str) -> Proposal | None:
    """Return the proposal with exactly this id, if there is one."""
    row = connection.execute("select body from proposals where id = ?", (name,)).fetchone()
    return _proposal.decode(row["body"]) if row else None


def find_open(connection: sqlite3.Connection, live: str) -> Proposal | None:
    """Return the undecided proposal for the skill that lives at this path, if there is one."""
    undecided = read_proposals(connection, State.PENDING, State.SNOOZED)
    return next((p for p in undecided if p.staged.live == live), None)
