"""Proposals and the user's decisions in the database."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_sleep.clock import now
from skillopt_sleep.errors import UsageError
from skillopt_sleep.records import Proposal
from skillopt_sleep.store.database import transaction
from skillopt_staging.proposals import State

_proposal = msgspec.msgpack.Decoder(Proposal)


def save_proposal(connection: sqlite3.Connection, proposal: Proposal, *, action: str, detail: str) -> None:
    """Insert or update the proposal and add the decision to the record of who did what."""
    with transaction(connection):
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
            "insert into decisions (proposal, action, at, detail) values (?, ?, ?, ?)",
            (proposal.id, action, now(), detail),
        )


def read_proposals(connection: sqlite3.Connection, *states: State) -> list[Proposal]:
    """Return proposals in these states (none given: all), pending first, then newest first."""
    rows = connection.execute(
        "select body from proposals order by state != 'pending', created desc, id"
    ).fetchall()
    proposals = [_proposal.decode(row["body"]) for row in rows]
    return [p for p in proposals if not states or p.state in states]


def read_proposal(connection: sqlite3.Connection, name: str) -> Proposal:
    """Return the proposal whose id is, or unambiguously begins with, `name`. Raises UsageError else."""
    rows = connection.execute(
        "select body from proposals where id = ? or substr(id, 1, ?) = ? order by id != ?",
        (name, len(name), name, name),
    ).fetchall()
    found = [_proposal.decode(row["body"]) for row in rows]
    if not found or not name:
        raise UsageError(
            f"there is no proposal {name!r}", hint="skillopt-sleep review --plain lists them with their ids"
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
