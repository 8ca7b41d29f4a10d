"""Before a night: proposals that grew old are carried over or retired, and outside edits are noticed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
from msgspec.structs import replace

from skillopt_sleep.clock import now
from skillopt_sleep.deciding import drop_branch
from skillopt_sleep.lock import hold_decisions
from skillopt_sleep.paths import Paths
from skillopt_sleep.proposing import make_message
from skillopt_sleep.records import FileChange, Proposal
from skillopt_sleep.settling import settle
from skillopt_sleep.store.proposals import read_proposals, save_proposal
from skillopt_staging.branches import read, read_others
from skillopt_staging.errors import StagingError
from skillopt_staging.proposals import Staged, State
from skillopt_staging.rebasing import Standing, rebase
from skillopt_staging.targets import vault_path
from skillopt_staging.vault import Vault

_OPEN = (State.PENDING, State.SNOOZED)


def tend(connection: sqlite3.Connection, paths: Paths) -> list[str]:
    """Bring all open proposals in line with what is there now; return what is worth telling, a sentence each.

    Of several open ones for a skill the newest stays. A repository that is gone or held costs the others
    nothing: its proposals stay as they are. Raises Busy while a decision is made.
    """
    told = []
    with hold_decisions(paths, "tend"):
        settle(connection)
        told += _notice_edits(connection, paths)
        taken: set[str] = set()
        for proposal in sorted(read_proposals(connection, *_OPEN), key=_newest_first, reverse=True):
            live = proposal.staged.live
            if live in taken:
                told.append(retire(connection, proposal, "a newer proposal for the skill waits"))
                continue
            try:
                said = _tend(connection, proposal)
            except StagingError as error:
                said = f"{proposal.id} was left as it is: {' '.join(error.message.split())}"
            told += [said] if said else []
            taken.add(live)
    return told


def retire(connection: sqlite3.Connection, proposal: Proposal, reason: str) -> str:
    """Take an open proposal off the queue without a decision of the user's; return a sentence."""
    retired = replace(proposal, state=State.RETIRED, decided=now(), reason=reason)
    save_proposal(connection, retired, action="retire", detail=reason)
    return f"{proposal.id} was retired: {reason}{drop_branch(proposal)}"


def _tend(connection: sqlite3.Connection, proposal: Proposal) -> str:
    note = msgspec.json.encode(proposal.note).decode()
    found = rebase(proposal.staged, message=make_message(proposal.title, proposal.note), note=note)
    if found.standing is Standing.CURRENT:
        return ""
    if found.standing is Standing.LIVE:
        return retire(connection, proposal, "the live file holds it already")
    if found.standing is Standing.STALE:
        return retire(connection, proposal, found.reason)
    base_text, text = read(found.staged)
    merged = found.standing is Standing.MERGED
    why = "the skill was changed after it was measured" if merged else proposal.ungated
    moved = replace(
        proposal,
        staged=found.staged,
        base_text=base_text,
        text=text,
        files=_read_files(proposal, found.staged),
        ungated=why,
    )
    detail = f"carried over to {found.staged.base[:12] or 'an empty history'}"
    save_proposal(connection, moved, action="rebase", detail=detail)
    return f"{proposal.id} was carried over to your edits of {proposal.staged.live}" if merged else ""


def _read_files(proposal: Proposal, staged: Staged) -> tuple[FileChange, ...]:
    others = read_others(staged) if proposal.files else ()
    return tuple(
        replace(file, base_text=base_text, text=text)
        for file, (base_text, text) in zip(proposal.files, others, strict=True)
    )


def _notice_edits(connection: sqlite3.Connection, paths: Paths) -> list[str]:
    """Have the vault look at the user's skills that proposals were made for."""
    vault = Vault(paths.vault)
    told = []
    for live in sorted({p.staged.live for p in read_proposals(connection) if p.scope == "user"}):
        path = vault_path(Path(live))
        try:
            before = vault.open().resolve("refs/heads/main")
            if vault.mirror(Path(live), path) != before and before:
                told.append(f"you edited {live} since; the vault has it")
        except StagingError as error:
            told.append(f"{live} could not be looked at: {' '.join(error.message.split())}")
    return told


def _newest_first(proposal: Proposal) -> tuple[str, str]:
    return proposal.created, proposal.id
