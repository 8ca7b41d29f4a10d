"""Carrying out decisions on proposals: apply, revert, reject, reopen and snooze, each with its record."""

from __future__ import annotations

import getpass
import os
import shlex
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
from msgspec.structs import replace

from skillopt_sleep.clock import now
from skillopt_sleep.errors import NeedsDecision, UsageError
from skillopt_sleep.paths import Paths
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.wording import count
from skillopt_sleep.store.candidates import forget_rejected_edits, make_rejected, save_rejected_edits
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.intents import Intent, forget_intent, save_intent
from skillopt_sleep.store.proposals import find_open, save_proposal
from skillopt_staging.errors import Conflict, StagingError
from skillopt_staging.proposals import Applied, State

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


def apply_proposal(
    connection: sqlite3.Connection, proposal: Proposal, desired: Desired, *, who: str
) -> Change:
    """Make the proposal live as desired. Raises NeedsDecision, with a way on, where only the user can."""
    from skillopt_staging.apply import apply
    from skillopt_staging.committing import commit_files, require_committable

    require_state(proposal, "apply", *UNDECIDED)
    _require_hunks(proposal, desired.hunks)
    commit = desired.commit and proposal.scope == "project"
    if commit:
        require_committable(proposal.staged)

    def announce(planned: Applied) -> None:
        intent = Intent(
            proposal=proposal.id,
            action="apply",
            who=who,
            applied=planned,
            hunks=desired.hunks,
            text=desired.text,
        )
        save_intent(connection, intent)

    try:
        applied = apply(
            proposal.staged,
            hunks=desired.hunks,
            text=desired.text,
            require_clean=not desired.merge,
            announce=announce,
        )
    except StagingError as error:
        forget_intent(connection, proposal.id)
        if isinstance(error, Conflict):
            raise find_way_on(proposal, desired, error) from error
        raise
    change = record_applied(connection, proposal, applied, who=who)
    if not commit:
        return change
    return _commit(change, proposal, lambda message: commit_files(proposal.staged, message))


def record_applied(
    connection: sqlite3.Connection, proposal: Proposal, applied: Applied, *, who: str
) -> Change:
    """Write down that the proposal is live."""
    part = (
        "" if applied.complete else " (not gated as it stands: edited, in part, or merged with your changes)"
    )
    others = f" with {count(len(applied.parts), 'other file')}" if applied.parts else ""
    sentence = f"applied {proposal.id}: {applied.live} is live{others}{part}"
    decided = replace(
        proposal,
        state=State.APPLIED,
        decided=now(),
        applied=applied,
        snoozed_until=None,
        reason=None,
        watch="",
    )
    save_proposal(connection, decided, action="apply", detail=sentence, who=who)
    return _change(decided, sentence, applied.live, complete=applied.complete)


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
        _tell_later_nights(connection, proposal, reason)
        save_proposal(connection, decided, action="reject", detail=reason.strip(), who=who)
    return _change(decided, sentence)


def revert_proposal(
    connection: sqlite3.Connection, proposal: Proposal, reason: str = "", *, who: str
) -> Change:
    """Take an applied proposal back, whatever was written since; a reason is told to later nights."""
    from skillopt_staging.apply import revert

    require_state(proposal, "revert", State.APPLIED)
    if proposal.applied is None:
        raise NeedsDecision(f"{proposal.id} has no record of what it replaced")

    def announce(planned: Applied) -> None:
        intent = Intent(proposal=proposal.id, action="revert", who=who, applied=planned, reason=reason)
        save_intent(connection, intent)

    try:
        reverted = revert(proposal.staged, proposal.applied, announce=announce)
    except StagingError:
        forget_intent(connection, proposal.id)
        raise
    return record_reverted(connection, proposal, reverted, reason, who=who)


def record_reverted(
    connection: sqlite3.Connection, proposal: Proposal, reverted: Applied, reason: str, *, who: str
) -> Change:
    """Write down that the proposal is not live any more."""
    outcome = "no longer holds the proposal" if reverted.after else "is removed, as there was none before"
    sentence = f"reverted {proposal.id}: {reverted.live} {outcome}"
    decided = replace(
        proposal, state=State.REVERTED, decided=now(), applied=None, reason=reason or None, watch=""
    )
    with transaction(connection):
        if reason.strip():
            _tell_later_nights(connection, proposal, reason)
        detail = f"{sentence}; {reason.strip()}" if reason.strip() else sentence
        save_proposal(connection, decided, action="revert", detail=detail, who=who)
    return _change(decided, sentence, reverted.live)


def reopen_proposal(connection: sqlite3.Connection, paths: Paths, proposal: Proposal, *, who: str) -> Change:
    """Put a rejected, retired or snoozed proposal back in the queue, its branch and all."""
    from skillopt_sleep.proposing import write_branch

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
        return _change(reopened, sentence)
    staged = write_branch(
        paths,
        proposal.note,
        title=proposal.title,
        repository=proposal.staged.repository if proposal.scope == "project" else None,
        live=proposal.staged.live,
        base_text=proposal.base_text,
        text=proposal.text,
    )
    reopened = replace(reopened, staged=staged)
    sentence = f"reopened {proposal.id}; its branch {staged.branch} is back"
    with transaction(connection):
        forget_rejected_edits(connection, proposal.staged.live, proposal.note.edits)
        save_proposal(connection, reopened, action="reopen", detail=sentence, who=who)
    return _change(reopened, sentence)


def snooze_proposal(connection: sqlite3.Connection, proposal: Proposal, days: int, *, who: str) -> Change:
    """Put the proposal out of the way for some days."""
    require_state(proposal, "snooze", *UNDECIDED)
    if days < 1:
        raise UsageError("a snooze lasts at least one day")
    until = (datetime.now(timezone.utc) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    sentence = f"snoozed {proposal.id} until {until[:10]}"
    snoozed = replace(proposal, state=State.SNOOZED, snoozed_until=until)
    save_proposal(connection, snoozed, action="snooze", detail=sentence, who=who)
    return _change(snoozed, sentence)


def require_state(proposal: Proposal, action: str, *states: State) -> None:
    """Raise NeedsDecision unless the proposal is in one of the states that allow the action."""
    if proposal.state not in states:
        already = proposal.state.value == _PAST[action]
        raise NeedsDecision(
            f"{proposal.id} is already {_PAST[action]}"
            if already
            else f"{proposal.id} is {proposal.state.value}: it cannot be {_PAST[action]}",
            hint="in skillopt-sleep review the key u takes a rejection back"
            if proposal.state is State.REJECTED
            else "skillopt-sleep review --all --plain shows where every proposal stands",
        )


_PAST = {
    "apply": "applied",
    "reject": "rejected",
    "revert": "reverted",
    "reopen": "reopened",
    "snooze": "snoozed",
    "gate": "gated again",
}


def _tell_later_nights(connection: sqlite3.Connection, proposal: Proposal, reason: str) -> None:
    edits = make_rejected(proposal.note.edits, f"by the user: {reason.strip()}", by_user=True)
    save_rejected_edits(connection, proposal.staged.live, edits)


def _require_hunks(proposal: Proposal, hunks: tuple[int, ...] | None) -> None:
    from skillopt_staging.hunks import hunks as cut_hunks

    if not hunks:
        return
    known = len(cut_hunks(proposal.base_text, proposal.text))
    known += sum(len(cut_hunks(file.base_text or "", file.text or "")) for file in proposal.files)
    if unknown := [number for number in hunks if number > known]:
        hint = f"its hunks are 1 to {known}" if known > 1 else "it has one hunk, number 1"
        raise UsageError(f"{proposal.id} has no hunk {unknown[0]}", hint=hint)


def find_way_on(proposal: Proposal, desired: Desired, conflict: Conflict) -> Conflict:
    """Return the conflict with what can be done about it: which hunks fit, and how to settle the others."""
    from skillopt_staging.apply import preview
    from skillopt_staging.hunks import hunks as cut_hunks

    name = shlex.quote(proposal.id)
    ways = []
    if desired.text is None and not proposal.files:
        fitting = []
        wanted = desired.hunks or range(1, len(cut_hunks(proposal.base_text, proposal.text)) + 1)
        for number in wanted:
            try:
                preview(proposal.staged, hunks=(number,))
            except StagingError:
                continue
            fitting.append(str(number))
        if fitting:
            ways.append(f"skillopt-sleep apply {name} --hunks {','.join(fitting)} (those fit)")
    ways += ["edit the text in skillopt-sleep review (key e)", f"git merge {proposal.staged.branch}"]
    hint = "; or ".join(ways if proposal.scope == "project" else ways[:-1])
    return Conflict(conflict.message, hint=hint, marked=conflict.marked)


def _commit(change: Change, proposal: Proposal, commit: Callable[[str], str]) -> Change:
    from skillopt_sleep.proposing import make_message

    try:
        made = commit(make_message(proposal.title, proposal.note))
    except StagingError as error:
        said = " ".join(error.message.split())
        return replace(change, sentence=f"{change.sentence}, not committed", uncommitted=said)
    return replace(change, sentence=f"{change.sentence}, committed as {made[:10]}", committed=made)


def _change(proposal: Proposal, sentence: str, live: str | None = None, *, complete: bool = True) -> Change:
    return Change(proposal=proposal.id, state=proposal.state, sentence=sentence, live=live, complete=complete)
