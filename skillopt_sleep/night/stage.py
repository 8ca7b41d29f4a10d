"""An accepted candidate becomes a branch and a proposal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.clock import now
from skillopt_sleep.night.plan import SkillPlan
from skillopt_sleep.records import Note, Proposal
from skillopt_sleep.store.candidates import Carried
from skillopt_sleep.store.proposals import save_proposal
from skillopt_staging import branches
from skillopt_staging.proposals import Staged, State
from skillopt_staging.targets import project_target
from skillopt_staging.vault import Vault

if TYPE_CHECKING:
    from skillopt_sleep.night.skill import Bench


def stage_candidate(plan: SkillPlan, carried: Carried, note: Note, bench: Bench) -> Proposal:
    """Write the branch, then the proposal. Doing it again after a crash finds the same branch."""
    name = f"{bench.night}-{plan.skill}"
    message = make_message(plan, note)
    staged = _write_branch(plan, carried.skill.text, f"skillopt/{name}", message, note, bench)
    proposal = Proposal(
        id=name,
        skill=plan.skill,
        client=plan.client,
        scope=plan.place.scope,
        state=State.PENDING,
        staged=staged,
        base_text=plan.place.text,
        text=carried.skill.text,
        note=note,
        created=now(),
    )
    save_proposal(bench.connection, proposal, action="stage", detail=staged.branch)
    return proposal


def make_message(plan: SkillPlan, note: Note) -> str:
    """Return the commit message: what changed in a line, why, and the evidence as trailers."""
    verdict = note.verdict
    sessions = sorted({session for edit in note.edits for session in edit.sessions})
    low, high = verdict.interval
    return branches.add_trailers(
        f"Teach {plan.skill}: {plan.title}\n\n{verdict.reason}",
        {
            "Night": note.night,
            "Gate": verdict.mode,
            "Effect": f"{verdict.effect:+.2f} [{low:+.2f}, {high:+.2f}]",
            "Evidence": f"{verdict.wealth:.1f} over {verdict.nights} nights",
            "Tasks": f"{verdict.wins} fixed, {verdict.losses} broken, {verdict.ties} same",
            "Cost-USD": f"{note.usage.cost_usd or 0:.2f}",
            "Sessions": " ".join(sessions),
        },
    )


def _write_branch(plan: SkillPlan, text: str, branch: str, message: str, note: Note, bench: Bench) -> Staged:
    live = Path(plan.place.live)
    body = msgspec.json.encode(note).decode()
    if plan.place.repository:
        target = project_target(Path(plan.place.repository), plan.skill, plan.client)
        return branches.stage(
            target.repository,
            branch=branch,
            path=target.path,
            text=text,
            message=message,
            note=body,
            live=live,
        )
    vault = Vault(bench.paths.vault)
    return vault.stage(
        live,
        branch=branch,
        path=f"{plan.client}/{plan.skill}/SKILL.md",
        text=text,
        message=message,
        note=body,
    )
