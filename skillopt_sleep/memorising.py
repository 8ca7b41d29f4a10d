"""A proposal for a client's memory file instead of a skill: in a marked region, the rest untouched."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from msgspec.structs import replace

from skillopt_replay.skills import Skill
from skillopt_sleep.deciding import UNDECIDED, Change, drop_branch, require_state
from skillopt_sleep.errors import NeedsDecision
from skillopt_sleep.paths import Paths
from skillopt_sleep.proposing import restage
from skillopt_sleep.records import AsSkill, Proposal
from skillopt_sleep.store.proposals import save_proposal
from skillopt_staging.branches import branch_name
from skillopt_staging.files import read_live
from skillopt_staging.memory import lint_memory, project_memory, user_memory
from skillopt_staging.plumbing import decode
from skillopt_staging.proposals import Staged
from skillopt_staging.regions import write_region
from skillopt_staging.targets import FILE, vault_path

REASON = "it was measured as a skill, and goes into a memory file"


def move_to_memory(connection: sqlite3.Connection, paths: Paths, proposal: Proposal, *, who: str) -> Change:
    """Stage the proposal anew for the memory file its client reads, in the project or of the user.

    Its branch, base and text are then those of that file, with the skill in a region of its name. One that
    is there already stays as it is. Raises NeedsDecision for a skill of several files.
    """
    require_state(proposal, "apply", *UNDECIDED)
    if Path(proposal.staged.live).name != FILE:
        return Change(proposal=proposal.id, state=proposal.state, sentence=f"{proposal.id} is there already")
    if proposal.files:
        raise NeedsDecision(
            f"{proposal.id} has several files", hint="a memory file is one: apply it as a skill"
        )
    if proposal.scope == "project":
        root, path, live = project_memory(Path(proposal.staged.repository), proposal.client)
    else:
        live = user_memory(proposal.client)
        root, path = paths.vault, vault_path(live)
    base_text = decode(read_live(live) or b"", str(live))
    text = write_region(base_text, proposal.skill, make_entry(proposal.skill, proposal.text))
    place = Staged(
        repository=str(root),
        branch=branch_name(proposal.note.night, f"{proposal.skill}-memory"),
        commit="",
        base="",
        path=path,
        live=str(live),
    )
    kept = AsSkill(
        staged=proposal.staged, base_text=proposal.base_text, text=proposal.text, ungated=proposal.ungated
    )
    moved = replace(proposal, staged=place, base_text=base_text, text=text, ungated=REASON, as_skill=kept)
    moved = replace(moved, staged=restage(paths, moved))
    sentence = f"{proposal.id} goes into {live}"
    told = lint_memory(text, client=proposal.client)
    if told:
        sentence += f" ({told[0].message})"
    save_proposal(connection, moved, action="move", detail=sentence, who=who)
    sentence += drop_branch(proposal)
    return Change(
        proposal=proposal.id, state=proposal.state, sentence=sentence, live=str(live), complete=False
    )


def move_back(connection: sqlite3.Connection, paths: Paths, proposal: Proposal, *, who: str) -> Change:
    """Stage a proposal that went into a memory file for its skill again, as it was; others stay."""
    kept = proposal.as_skill
    if kept is None or proposal.state not in UNDECIDED:
        return Change(proposal=proposal.id, state=proposal.state, sentence=f"{proposal.id} stays where it is")
    moved = replace(
        proposal,
        staged=kept.staged,
        base_text=kept.base_text,
        text=kept.text,
        ungated=kept.ungated,
        as_skill=None,
    )
    moved = replace(moved, staged=restage(paths, moved))
    sentence = f"{proposal.id} is for {kept.staged.live} again"
    save_proposal(connection, moved, action="move", detail=sentence, who=who)
    sentence += drop_branch(proposal)
    return Change(proposal=proposal.id, state=proposal.state, sentence=sentence, live=kept.staged.live)


def make_entry(name: str, text: str) -> str:
    """Return a skill as a memory file has it: a heading, when it holds, and its body."""
    skill = Skill(name, text)
    return f"## {name}\n\n{skill.description.strip()}\n\n{skill.body.strip()}\n"
