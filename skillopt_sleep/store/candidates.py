"""Candidates that wait for evidence, and edits that were turned down."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from skillopt_gate.verdicts import Evidence
from skillopt_replay.skills import Skill
from skillopt_sleep.clock import now
from skillopt_sleep.records import EditEvidence, TaskEvidence
from skillopt_sleep.training.records import RejectedEdit


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate with its evidence so far. `base` is the digest of the incumbent it is measured against.

    `rivals` is how many candidates of its skill reached the gate on its first night, itself included: they
    share the chance of error for as long as it waits. `aside` is what other agents or models showed: it goes
    on when they run the tasks again, so that going back and forth between two gives no new tries.
    """

    id: str
    place: str
    skill: Skill
    base: str
    edits: tuple[EditEvidence, ...]
    evidence: Evidence | None
    wealth: tuple[float, ...]
    tasks: tuple[TaskEvidence, ...]
    reasoning: str = ""
    rivals: int = 1
    aside: tuple[Evidence, ...] = ()


def save_carried(connection: sqlite3.Connection, carried: Carried) -> None:
    """Keep the candidate for the next night."""
    connection.execute(
        "insert or replace into candidates (id, skill, place, state, created, body)"
        " values (?, ?, ?, 'waiting', ?, ?)",
        (carried.id, carried.skill.name, carried.place, now(), msgspec.msgpack.encode(carried)),
    )


def read_carried(connection: sqlite3.Connection, place: str) -> Carried | None:
    """Return the candidate that waits at this place (the live path of its skill), if there is one."""
    row = connection.execute(
        "select body from candidates where place = ? and state = 'waiting' order by created desc limit 1",
        (place,),
    ).fetchone()
    return msgspec.msgpack.decode(row["body"], type=Carried) if row else None


def find_candidate(connection: sqlite3.Connection, candidate: str) -> Carried | None:
    """Return the candidate as it was kept last, whatever became of it; None when it never was."""
    row = connection.execute("select body from candidates where id = ?", (candidate,)).fetchone()
    return msgspec.msgpack.decode(row["body"], type=Carried) if row else None


class _Settled(msgspec.Struct, frozen=True, kw_only=True):
    base: str
    tasks: tuple[str, ...]


def save_settled(connection: sqlite3.Connection, place: str, base: str, tasks: Sequence[str]) -> None:
    """Remember that the skill of digest `base` passes all these train tasks: there is nothing to learn."""
    body = msgspec.msgpack.encode(_Settled(base=base, tasks=tuple(tasks)))
    connection.execute(
        "insert or replace into candidates (id, skill, place, state, created, body)"
        " values ('settled ' || ?, '', ?, 'settled', ?, ?)",
        (place, place, now(), body),
    )


def is_settled(connection: sqlite3.Connection, place: str, base: str, tasks: Sequence[str]) -> bool:
    """Say whether an earlier night found that the skill of this digest passes all of these train tasks."""
    row = connection.execute(
        "select body from candidates where place = ? and state = 'settled'", (place,)
    ).fetchone()
    if row is None:
        return False
    settled = msgspec.msgpack.decode(row["body"], type=_Settled)
    return settled.base == base and set(tasks) <= set(settled.tasks)


def retire(connection: sqlite3.Connection, candidate: str, state: str) -> None:
    """Take the candidate out of the queue: state is accepted, rejected, outdated or passed over."""
    connection.execute("update candidates set state = ? where id = ?", (state, candidate))


def save_rejected_edits(
    connection: sqlite3.Connection, skill: str, contents: list[str], reason: str, effect: float | None
) -> None:
    """Remember edits that were turned down, and why; saying so again changes nothing."""
    connection.executemany(
        "insert into rejected_edits (skill, content, reason, effect, at) select ?, ?, ?, ?, ?"
        " where not exists (select 1 from rejected_edits where skill = ? and content = ? and reason = ?)",
        [(skill, content, reason, effect, now(), skill, content, reason) for content in contents],
    )


def read_rejected_edits(connection: sqlite3.Connection, skill: str, *, limit: int = 20) -> list[RejectedEdit]:
    """Return what was turned down for this skill, newest first."""
    rows = connection.execute(
        "select content, reason from rejected_edits where skill = ? order by id desc limit ?", (skill, limit)
    )
    return [RejectedEdit(row["content"], row["reason"]) for row in rows]


def forget_rejected_edits(connection: sqlite3.Connection, skill: str, contents: list[str]) -> None:
    """Forget rejections the user took back."""
    connection.executemany(
        "delete from rejected_edits where skill = ? and content = ?", [(skill, c) for c in contents]
    )
