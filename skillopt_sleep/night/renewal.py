"""Evidence that another agent or model gathered starts anew, and what it had counted is fresh again."""

from __future__ import annotations

import msgspec

from skillopt_sleep.night.identity import is_of
from skillopt_sleep.night.planned import NOTHING_FRESH, Plan, SkillPlan, Skipped


def renew(plan: Plan, *, agent: str | None, answering: str = "") -> Plan:
    """Return the plan for a night on which this agent runs the tasks; None when that is not known.

    `answering` is the identity, model included, that ran the tasks judged last. A skill whose candidate
    has nothing left to be measured on is left alone.
    """
    skills = []
    skipped = []
    for skill in plan.skills:
        gathered = skill.carried.evidence.identity if skill.carried and skill.carried.evidence else ""
        stale = agent is not None and gathered and is_stale(gathered, agent, answering)
        if stale:
            again = (*skill.gate, *skill.renewed)
            skills.append(msgspec.structs.replace(skill, gate=again, renewed=()))
        elif skill.gate:
            skills.append(skill)
        else:
            skipped.append(_leave(skill))
    return msgspec.structs.replace(plan, skills=tuple(skills), skipped=(*plan.skipped, *skipped))


def is_stale(gathered: str, agent: str, answering: str) -> bool:
    """Say whether evidence of the identity `gathered` is another agent's, or that of a model long gone."""
    if not is_of(gathered, agent):
        return True
    return bool(answering) and is_of(answering, agent) and answering != gathered


def _leave(skill: SkillPlan) -> Skipped:
    known = len(skill.train) + len(skill.renewed)
    return Skipped(skill=skill.skill, title=skill.title, tasks=known, reason=NOTHING_FRESH)
