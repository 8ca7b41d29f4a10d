"""What a night comes down to in the morning: what became of each skill, and what there is to do now."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from skillopt_gate.verdicts import Decision
from skillopt_sleep.night.report import NightReport, SkillReport
from skillopt_sleep.review.wording import count, say_effect, tell_reason
from skillopt_sleep.store.proposals import read_proposals
from skillopt_staging.proposals import State

_WORDS = {
    Decision.ACCEPT: "learned",
    Decision.REJECT: "turned down",
    Decision.NOT_ENOUGH: "not enough evidence yet",
}


def tell_outcomes(report: NightReport) -> list[tuple[str, str, str]]:
    """Return (skill, what became of it, why) for every skill that was worked on."""
    return [(skill.skill, *_tell(skill)) for skill in report.skills]


def _tell(skill: SkillReport) -> tuple[str, str]:
    verdict = skill.verdict
    if verdict is None:
        return "nothing to judge", skill.note
    effect = f"{say_effect(verdict.effect)} per task; " if verdict.n else ""
    return _WORDS[verdict.decision], effect + tell_reason(verdict)


def list_next_steps(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return what the user can do now, most urgent first, each a sentence with its command."""
    return tuple(_list(connection))


def _list(connection: sqlite3.Connection) -> Iterator[str]:
    proposals = read_proposals(connection)
    for proposal in proposals:
        if proposal.state is State.APPLIED and proposal.watch:
            back = f"To take it back: `skillopt-sleep revert {proposal.id}`."
            yield f"{proposal.skill}: {proposal.watch}. {back}"
    waiting = [proposal for proposal in proposals if proposal.state is State.PENDING]
    if waiting:
        number = count(len(waiting), "proposal")
        yield f"{number} {'waits' if len(waiting) == 1 else 'wait'} for you: `skillopt-sleep review`."
    snoozed = [proposal for proposal in proposals if proposal.state is State.SNOOZED]
    if snoozed:
        yield f"{count(len(snoozed), 'proposal')} snoozed: `skillopt-sleep review --all`."
    if not waiting:
        yield "Nothing waits for you; the next night goes on with what comes in."
