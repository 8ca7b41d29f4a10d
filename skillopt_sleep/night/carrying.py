"""A candidate as it is kept from night to night."""

from __future__ import annotations

import hashlib

import msgspec

from skillopt_gate.verdicts import Evidence
from skillopt_replay.tasks import Origin
from skillopt_sleep.night.measure import Measurement
from skillopt_sleep.night.planned import SkillPlan
from skillopt_sleep.records import EditEvidence, TaskEvidence
from skillopt_sleep.store.candidates import Carried
from skillopt_sleep.training.records import Candidate


def carry(plan: SkillPlan, candidate: Candidate, *, rivals: int) -> Carried:
    """Return a trained candidate as one that waits for its first evidence."""
    quotes = {(o.session, o.turn): o for task in plan.train for o in task.corrections}
    edits = tuple(
        EditEvidence(
            op=result.edit.op,
            content=result.edit.content,
            target=result.edit.target,
            sessions=result.edit.sessions,
            quotes=_quotes(result.edit.sessions, quotes),
        )
        for result in candidate.edits
        if result.applied
    )
    # Blanks make no other text: one that was turned down does not come back with a space more.
    text = " ".join(candidate.skill.text.split())
    name = hashlib.sha256(f"{plan.place.live}\n{plan.base}\n{text}".encode()).hexdigest()[:16]
    return Carried(
        id=name,
        place=plan.place.live,
        skill=candidate.skill,
        base=plan.base,
        edits=edits,
        evidence=None,
        wealth=(),
        tasks=(),
        reasoning=candidate.reasoning,
        rivals=rivals,
    )


def grow(carried: Carried, measured: Measurement) -> Carried:
    """Return the candidate with tonight's evidence; what another agent or model showed is put aside."""
    before = () if measured.restarted else carried.wealth
    return msgspec.structs.replace(
        carried,
        evidence=measured.evidence,
        wealth=(*before, measured.verdict.wealth),
        aside=_put_aside(carried, measured),
        tasks=_merge_tasks(() if measured.restarted else carried.tasks, measured.tasks),
    )


def _put_aside(carried: Carried, measured: Measurement) -> tuple[Evidence, ...]:
    """Return the last evidence of every other agent and model."""
    known = {one.identity: one for one in carried.aside}
    if carried.evidence:
        known[carried.evidence.identity] = carried.evidence
    known.pop(measured.evidence.identity, None)
    return tuple(known.values())


def _merge_tasks(
    known: tuple[TaskEvidence, ...], tonight: tuple[TaskEvidence, ...]
) -> tuple[TaskEvidence, ...]:
    """Return each task once: as it ran tonight, else as it ran before, else as not run."""
    ran = {task.task for task in tonight if task.change != "not run"}
    kept = tuple(task for task in known if task.task not in ran)
    names = {task.task for task in kept}
    return kept + tuple(task for task in tonight if task.task not in names)


def _quotes(sessions: tuple[str, ...], quotes: dict[tuple[str, int], Origin]) -> tuple[Origin, ...]:
    return tuple(origin for (session, _), origin in quotes.items() if session in sessions)
