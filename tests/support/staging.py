"""The sample proposal staged for real, as a night does it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from skillopt_sleep.paths import locate
from skillopt_sleep.proposing import write_branch
from skillopt_sleep.records import EditEvidence, Note, Proposal
from skillopt_sleep.store.proposals import save_proposal
from skillopt_staging.proposals import State
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT, proposal

SKILL = "commit-messages"
RULE = 'Use the imperative ("Add", "Fix"), never the past tense.'


def stage(database, live: Path, *, night: str = "2026-01-02", base: str = COMMITS_BASE, **places) -> Proposal:
    """Stage the sample proposal for real, as a night does."""
    sample = proposal(edits=(EditEvidence(op="add", content=RULE, sessions=("s1",)),))
    note: Note = msgspec.structs.replace(sample.note, night=night, skill=SKILL, client="claude")
    repository = places.get("repository", live.parents[3])
    staged = write_branch(
        locate(),
        note,
        title="Write commit messages",
        repository=str(repository) if repository else None,
        live=str(live),
        base_text=base,
        text=COMMITS_TEXT,
    )
    made = msgspec.structs.replace(
        sample,
        id=f"{night}-{SKILL}",
        skill=SKILL,
        scope="project" if repository else "user",
        state=State.PENDING,
        staged=staged,
        base_text=base,
        text=COMMITS_TEXT,
        note=note,
        decided=None,
        reason=None,
        applied=None,
    )
    save_proposal(database, made, action="stage", detail=staged.branch)
    return made
