"""Decisions that write live files: apply and revert, with the journal before and the record after."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable

from msgspec.structs import replace

from skillopt_sleep.clock import now
from skillopt_sleep.deciding import (
    UNDECIDED,
    Change,
    Desired,
    make_change,
    require_state,
    tell_later_nights,
)
from skillopt_sleep.errors import NeedsDecision, UsageError
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.wording import count
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.intents import Intent, forget_intent, save_intent
from skillopt_sleep.store.proposals import save_proposal
from skillopt_staging.errors import Conflict, StagingError
from skillopt_staging.proposals import Applied, State


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
    why = proposal.ungated or ("" if applied.complete else "edited, in part, or merged with your changes")
    part = f" (not gated as it stands: {why})" if why else ""
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
    return make_change(decided, sentence, applied.live, complete=not why)


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
            tell_later_nights(connection, proposal, reason)
        detail = f"{sentence}; {reason.strip()}" if reason.strip() else sentence
        save_proposal(connection, decided, action="revert", detail=detail, who=who)
    return make_change(decided, sentence, reverted.live)


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
