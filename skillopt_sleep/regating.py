"""What the user made of a proposal, handed back to the gate: measured anew, as the text it is now."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from msgspec.structs import replace

from skillopt_replay.skills import Skill
from skillopt_sleep.clock import now
from skillopt_sleep.deciding import GATED_AGAIN, UNDECIDED, Change, drop_branch, require_state
from skillopt_sleep.errors import NeedsDecision
from skillopt_sleep.night.structure import find_objections
from skillopt_sleep.records import EditEvidence, Proposal
from skillopt_sleep.store.candidates import Carried, save_carried
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.proposals import save_proposal
from skillopt_staging.apply import preview
from skillopt_staging.plumbing import decode
from skillopt_staging.proposals import State


def gate_again(
    connection: sqlite3.Connection,
    proposal: Proposal,
    hunks: Sequence[int] | None,
    text: str | None,
    *,
    who: str,
    max_tokens: int,
) -> Change:
    """Make what apply would write now a candidate that the next night measures, and take the proposal back.

    Its evidence begins anew, as nobody has measured this text. Raises NeedsDecision for a text that no gate
    would look at, and what apply would raise.
    """
    require_state(proposal, "gate", *UNDECIDED)
    if proposal.files:
        raise NeedsDecision(
            f"{proposal.id} changes several files, and a night measures one", hint="apply it as it is, or not"
        )
    plan = preview(proposal.staged, hunks=hunks, text=text)
    live = proposal.staged.live
    wanted, base_text = decode(plan.after, live), decode(plan.before or b"", live)
    skill = Skill(proposal.skill, wanted)
    incumbent = Skill(proposal.skill, base_text) if base_text else None
    problems = find_objections(skill, incumbent, max_tokens=max_tokens)
    if problems:
        raise NeedsDecision(f"the gate would not look at it: {'; '.join(problems)}", hint="edit it once more")
    base = incumbent.digest if incumbent else ""
    plain = " ".join(wanted.split())
    carried = Carried(
        id=hashlib.sha256(f"{live}\n{base}\n{plain}".encode()).hexdigest()[:16],
        place=live,
        skill=skill,
        base=base,
        edits=_find_kept(proposal.note.edits, wanted),
        evidence=None,
        wealth=(),
        tasks=(),
        reasoning=proposal.note.reasoning,
    )
    retired = replace(proposal, state=State.RETIRED, decided=now(), reason=GATED_AGAIN)
    with transaction(connection):
        save_carried(connection, carried)
        save_proposal(connection, retired, action="gate again", detail=GATED_AGAIN, who=who)
    left = drop_branch(proposal)
    sentence = f"{proposal.id}: what you chose is measured on the next night, from the start{left}"
    return Change(proposal=proposal.id, state=State.RETIRED, sentence=sentence)


def _find_kept(edits: Sequence[EditEvidence], text: str) -> tuple[EditEvidence, ...]:
    """Return the edits still in the text: those that took something away, or whose words are there."""
    plain = " ".join(text.split())
    return tuple(
        edit for edit in edits if not edit.content.strip() or " ".join(edit.content.split()) in plain
    )
