"""An accepted candidate becomes a branch and a proposal."""

from __future__ import annotations

import sqlite3

from skillopt_sleep.clock import now
from skillopt_sleep.lock import hold_decisions
from skillopt_sleep.night.planned import SkillPlan
from skillopt_sleep.night.ruling import Ruling, require
from skillopt_sleep.paths import Paths
from skillopt_sleep.proposing import write_branch
from skillopt_sleep.records import Note, Proposal
from skillopt_sleep.store.proposals import find_open, find_proposal, save_proposal
from skillopt_sleep.tending import retire
from skillopt_staging.proposals import State


def stage_candidate(
    connection: sqlite3.Connection, paths: Paths, plan: SkillPlan, text: str, note: Note, ruling: Ruling
) -> Proposal:
    """Write the branch, then the proposal. Doing it again after a crash finds what is there.

    `ruling` is the gate's on exactly this text, measured against what is live; NotRuled otherwise. A
    proposal that was stored stays as it is: the user may have decided on it before the night went on.
    """
    require(ruling, text=text, base_text=plan.place.text)
    name = f"{note.night}-{plan.skill}"
    known = find_proposal(connection, name)
    if known:
        return known
    place = plan.place
    older = find_open(connection, place.live)
    if older:
        # Put back in the queue while the night worked.
        with hold_decisions(paths, "retire"):
            retire(connection, older, "a newer proposal for the skill waits")
    staged = write_branch(
        paths,
        note,
        title=plan.title,
        repository=place.repository,
        live=place.live,
        base_text=place.text,
        text=text,
    )
    proposal = Proposal(
        id=name,
        skill=plan.skill,
        title=plan.title,
        client=plan.client,
        scope=place.scope,
        state=State.PENDING,
        staged=staged,
        base_text=place.text,
        text=text,
        note=note,
        created=now(),
    )
    save_proposal(connection, proposal, action="stage", detail=staged.branch)
    return proposal
