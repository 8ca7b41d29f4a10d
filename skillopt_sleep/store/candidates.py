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
from skillopt_sleep.training.rejected import CAPACITY


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


def make_rejected(
    edits: Sequence[EditEvidence], reason: str, *, effect: float | None = None, by_user: bool = False
) -> list[RejectedEdit]:
    """Return the edits of one candidate as turned down together."""
    return [
        RejectedEdit(
            edit.content,
            reason,
            effect=effect,
            by_user=by_user,
            shared=len(edits) > 1,
            target=_target(edit),
        )
        for edit in edits
    ]


def _target(edit: EditEvidence) -> str:
    return edit.target if edit.op == "delete" else ""


def save_rejected_edits(connection: sqlite3.Connection, skill: str, edits: Sequence[RejectedEdit]) -> None:
    """Remember edits that were turned down, and why; saying so again changes nothing."""
    connection.executemany(
        "insert into rejected_edits (skill, content, target, reason, effect, by_user, shared, at)"
        " select :skill, :content, :target, :reason, :effect, :by_user, :shared, :at where not exists"
        " (select 1 from rejected_edits where skill = :skill and content = :content and target = :target"
        " and reason = :reason)",
        [{"skill": skill, "at": now(), **msgspec.structs.asdict(edit)} for edit in edits],
    )


def read_rejected_edits(
    connection: sqlite3.Connection, skill: str, *, limit: int = CAPACITY
) -> list[RejectedEdit]:
    """Return what was turned down for this skill, newest first."""
    rows = connection.execute(
        "select content, reason, effect, by_user, shared, target from rejected_edits where skill = ?"
        " order by id desc limit ?",
        (skill, limit),
    )
    return [
        RejectedEdit(
            row["content"],
            row["reason"],
            effect=row["effect"],
            by_user=bool(row["by_user"]),
            shared=bool(row["shared"]),
            target=row["target"],
        )
        for row in rows
    ]


def forget_rejected_edits(connection: sqlite3.Connection, skill: str, edits: Sequence[EditEvidence]) -> None:
    """Forget rejections the user took back."""
    connection.executemany(
        "delete from rejected_edits where skill = ? and content = ? and target = ?",
        [(skill, edit.content, _target(edit)) for edit in edits],
    )
