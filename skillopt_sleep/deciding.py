"""Decisions that touch no live file: reject, reopen and snooze; and what all decisions share."""

from __future__ import annotations

import getpass
import os
import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
from msgspec.structs import replace

from skillopt_sleep.clock import now
from skillopt_sleep.errors import NeedsDecision, UsageError
from skillopt_sleep.paths import Paths
from skillopt_sleep.records import Proposal
from skillopt_sleep.store.candidates import (
    forget_rejected_edits,
    make_rejected,
    read_carried,
    retire,
    save_rejected_edits,
)
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.intents import Intent, forget_intent, save_intent
from skillopt_sleep.store.proposals import find_open, save_proposal
from skillopt_staging.errors import StagingError
from skillopt_staging.proposals import State

GATED_AGAIN = "it goes to the gate again, as you chose it"
UNDECIDED = (State.PENDING, State.SNOOZED, State.REVERTED)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision changed: the proposal's new state, the live file if it wrote one, a sentence.

    `committed` is the commit made of it, "" for none; `uncommitted` says why git refused one.
    """

    proposal: str
    state: State
    sentence: str
    live: str | None = None
    complete: bool = True
    committed: str = ""
    uncommitted: str = ""


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """What apply is asked for: these hunks (None: all), or `text` in place of the proposed SKILL.md.

    `merge` goes on where the live file has edits that are not committed; `commit` commits a project's skill.
    """

    hunks: tuple[int, ...] | None = None
    text: str | None = None
    merge: bool = False
    commit: bool = False


def name_user() -> str:
    """Return who decides, as the system names them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def reject_proposal(connection: sqlite3.Connection, proposal: Proposal, reason: str, *, who: str) -> Change:
    """Turn the proposal down; its branch goes, and later nights are told the reason."""
    from skillopt_staging.branches import discard
    from skillopt_staging.targets import find_repository

    require_state(proposal, "reject", *UNDECIDED)
    if not reason.strip():
        raise UsageError("a rejection needs a reason", hint="later nights are told it")
    save_intent(connection, Intent(proposal=proposal.id, action="reject", who=who, reason=reason))
    try:
        # A project that was moved or deleted took the branch along; the proposal must not wait for ever.
        there = find_repository(Path(proposal.staged.repository)) is not None
        if there:
            discard(proposal.staged)
    except StagingError:
        forget_intent(connection, proposal.id)
        raise
    gone = f"its branch {proposal.staged.branch} is gone"
    sentence = f"rejected {proposal.id}; {gone if there else 'its repository is not there any more'}"
    decided = replace(proposal, state=State.REJECTED, decided=now(), reason=reason.strip())
    with transaction(connection):
        tell_later_nights(connection, proposal, reason)
        save_proposal(connection, decided, action="reject", detail=reason.strip(), who=who)
    return make_change(decided, sentence)


def reopen_proposal(connection: sqlite3.Connection, paths: Paths, proposal: Proposal, *, who: str) -> Change:
    """Put a rejected, retired or snoozed proposal back in the queue, its branch and all."""
    from skillopt_sleep.proposing import restage

    require_state(proposal, "reopen", State.REJECTED, State.RETIRED, State.SNOOZED)
    other = find_open(connection, proposal.staged.live)
    if other and other.id != proposal.id:
        raise NeedsDecision(
            f"another proposal for this skill waits: {other.id}", hint="decide on that one first"
        )
    reopened = replace(proposal, state=State.PENDING, decided=None, reason=None, snoozed_until=None)
    if proposal.state is State.SNOOZED:
        sentence = f"{proposal.id} waits again"
        save_proposal(connection, reopened, action="reopen", detail=sentence, who=who)
        return make_change(reopened, sentence)
    staged = restage(paths, proposal)
    reopened = replace(reopened, staged=staged)
    sentence = f"reopened {proposal.id}; its branch {staged.branch} is back"
    candidate = read_carried(connection, proposal.staged.live) if proposal.reason == GATED_AGAIN else None
    with transaction(connection):
        if candidate:
            retire(connection, candidate.id, "passed over")
        forget_rejected_edits(connection, proposal.staged.live, proposal.note.edits)
        save_proposal(connection, reopened, action="reopen", detail=sentence, who=who)
    return make_change(reopened, sentence)


def snooze_proposal(connection: sqlite3.Connection, proposal: Proposal, days: int, *, who: str) -> Change:
    """Put the proposal out of the way for some days."""
    require_state(proposal, "snooze", *UNDECIDED)
    if days < 1:
        raise UsageError("a snooze lasts at least one day")
    until = (datetime.now(timezone.utc) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    sentence = f"snoozed {proposal.id} until {until[:10]}"
    snoozed = replace(proposal, state=State.SNOOZED, snoozed_until=until)
    save_proposal(connection, snoozed, action="snooze", detail=sentence, who=who)
    return make_change(snoozed, sentence)


def drop_branch(proposal: Proposal) -> str:
    """Delete the branch of a proposal that is recorded as done with; return what to add when it stays."""
    from skillopt_staging.branches import discard

    try:
        discard(proposal.staged)
    except StagingError as error:
        return f" (its branch stays: {' '.join(error.message.split())})"
    return ""


def require_state(proposal: Proposal, action: str, *states: State) -> None:
    """Raise NeedsDecision unless the proposal is in one of the states that allow the action."""
    if proposal.state not in states:
        already = proposal.state.value == _PAST[action]
        raise NeedsDecision(
            f"{proposal.id} is already {_PAST[action]}"
            if already
            else f"{proposal.id} is {proposal.state.value}: it cannot be {_PAST[action]}",
            hint="the key u takes a rejection back, in: skillopt-sleep review"
            if proposal.state is State.REJECTED
            else "where every proposal stands: skillopt-sleep review --plain --all",
        )


_PAST = {
    "apply": "applied",
    "reject": "rejected",
    "revert": "reverted",
    "reopen": "reopened",
    "snooze": "snoozed",
    "gate": "gated again",
    "move": "moved",
}


def tell_later_nights(connection: sqlite3.Connection, proposal: Proposal, reason: str) -> None:
    """Remember that the user turned the proposal's edits down, and why."""
    edits = make_rejected(proposal.note.edits, f"by the user: {reason.strip()}", by_user=True)
    save_rejected_edits(connection, proposal.staged.live, edits)


def make_change(
    proposal: Proposal, sentence: str, live: str | None = None, *, complete: bool = True
) -> Change:
    """Return what a decision changed, for whoever asked for it."""
    return Change(proposal=proposal.id, state=proposal.state, sentence=sentence, live=live, complete=complete)
