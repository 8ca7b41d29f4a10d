"""Decisions on proposals: what the review and its commands do, written down as it happens."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from skillopt_sleep.clock import now
from skillopt_sleep.errors import NeedsDecision, UsageError
from skillopt_sleep.lock import hold_decisions
from skillopt_sleep.paths import Paths
from skillopt_sleep.records import Proposal
from skillopt_sleep.store.candidates import forget_rejected_edits, make_rejected, save_rejected_edits
from skillopt_sleep.store.database import connect, explained, transaction
from skillopt_sleep.store.proposals import read_proposal, read_proposals, save_proposal
from skillopt_staging.proposals import State


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision changed: the proposal's new state, the live file if it wrote one, a sentence."""

    proposal: str
    state: State
    sentence: str
    live: str | None = None
    complete: bool = True


class StoreDesk:
    """The Desk of the review over the database. Every call opens its own connection: any thread may ask."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def proposals(self) -> list[Proposal]:
        """Return all proposals, pending ones first."""
        with self._open() as connection:
            return read_proposals(connection)

    def pending(self) -> list[Proposal]:
        """Return the proposals that wait for a decision."""
        with self._open() as connection:
            return read_proposals(connection, State.PENDING)

    def apply(self, proposal: str, hunks: tuple[int, ...] | None) -> str:
        return self.carry_out("apply", proposal, hunks).sentence

    def reject(self, proposal: str, reason: str) -> str:
        return self.carry_out("reject", proposal, reason).sentence

    def undo(self, proposal: str) -> str:
        with self._open() as connection:
            state = read_proposal(connection, proposal).state
        if state is State.APPLIED:
            return self.carry_out("revert", proposal).sentence
        return self.carry_out("reopen", proposal).sentence

    def carry_out(self, action: str, name: str, *arguments: Any) -> Change:
        """Decide on one proposal: apply (hunks), reject (reason), revert or reopen.

        Raises UsageError for an unknown proposal or hunk, NeedsDecision when its state does not allow the
        action, Busy while another decision is made.
        """
        actions: dict[str, Callable[..., Change]] = {
            "apply": self._apply,
            "reject": self._reject,
            "revert": self._revert,
            "reopen": self._reopen,
        }
        with hold_decisions(self._paths, action), self._open() as connection:
            return actions[action](connection, read_proposal(connection, name), *arguments)

    def _apply(
        self, connection: sqlite3.Connection, proposal: Proposal, hunks: tuple[int, ...] | None
    ) -> Change:
        from skillopt_staging.apply import apply
        from skillopt_staging.hunks import hunks as cut_hunks

        _require(proposal, "apply", State.PENDING, State.SNOOZED, State.REVERTED)
        known = len(cut_hunks(proposal.base_text, proposal.text)) if hunks else 0
        if unknown := [number for number in hunks or () if number > known]:
            hint = f"its hunks are 1 to {known}" if known > 1 else "it has one hunk, number 1"
            raise UsageError(f"{proposal.id} has no hunk {unknown[0]}", hint=hint)
        applied = apply(proposal.staged, hunks=hunks)
        part = "" if applied.complete else " (in part, or merged with your changes: not gated as it stands)"
        sentence = f"applied {proposal.id}: {applied.live} is live{part}"
        decided = msgspec.structs.replace(proposal, state=State.APPLIED, decided=now(), applied=applied)
        save_proposal(connection, decided, action="apply", detail=sentence)
        return _change(decided, sentence, applied.live, complete=applied.complete)

    def _reject(self, connection: sqlite3.Connection, proposal: Proposal, reason: str) -> Change:
        from skillopt_staging.branches import discard
        from skillopt_staging.targets import find_repository

        _require(proposal, "reject", State.PENDING, State.SNOOZED, State.REVERTED)
        if not reason.strip():
            raise UsageError("a rejection needs a reason", hint="later nights are told it")
        # A project that was moved or deleted took the branch along; the proposal must not wait for ever.
        there = find_repository(Path(proposal.staged.repository)) is not None
        if there:
            discard(proposal.staged)
        gone = f"its branch {proposal.staged.branch} is gone"
        sentence = f"rejected {proposal.id}; {gone if there else 'its repository is not there any more'}"
        decided = msgspec.structs.replace(
            proposal, state=State.REJECTED, decided=now(), reason=reason.strip()
        )
        edits = make_rejected(proposal.note.edits, f"by the user: {reason.strip()}", by_user=True)
        with transaction(connection):
            save_rejected_edits(connection, proposal.staged.live, edits)
            save_proposal(connection, decided, action="reject", detail=reason.strip())
        return _change(decided, sentence)

    def _revert(self, connection: sqlite3.Connection, proposal: Proposal) -> Change:
        from skillopt_staging.apply import revert

        _require(proposal, "revert", State.APPLIED)
        if proposal.applied is None:
            raise NeedsDecision(f"{proposal.id} has no record of what it replaced")
        reverted = revert(proposal.staged, proposal.applied)
        outcome = "no longer holds the proposal" if reverted.after else "is removed, as there was none before"
        sentence = f"reverted {proposal.id}: {reverted.live} {outcome}"
        decided = msgspec.structs.replace(proposal, state=State.REVERTED, decided=now(), applied=None)
        save_proposal(connection, decided, action="revert", detail=sentence)
        return _change(decided, sentence, reverted.live)

    def _reopen(self, connection: sqlite3.Connection, proposal: Proposal) -> Change:
        from skillopt_sleep.proposing import write_branch

        _require(proposal, "reopen", State.REJECTED)
        staged = write_branch(
            self._paths,
            proposal.note,
            title=proposal.title,
            repository=proposal.staged.repository if proposal.scope == "project" else None,
            live=proposal.staged.live,
            base_text=proposal.base_text,
            text=proposal.text,
        )
        sentence = f"reopened {proposal.id}; its branch {proposal.staged.branch} is back"
        reopened = msgspec.structs.replace(
            proposal, staged=staged, state=State.PENDING, decided=None, reason=None
        )
        with transaction(connection):
            forget_rejected_edits(connection, proposal.staged.live, proposal.note.edits)
            save_proposal(connection, reopened, action="reopen", detail=sentence)
        return _change(reopened, sentence)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = connect(self._paths.database)
        try:
            with explained(self._paths.database):
                yield connection
        finally:
            connection.close()


def _change(proposal: Proposal, sentence: str, live: str | None = None, *, complete: bool = True) -> Change:
    return Change(proposal=proposal.id, state=proposal.state, sentence=sentence, live=live, complete=complete)


def _require(proposal: Proposal, action: str, *states: State) -> None:
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


_PAST = {"apply": "applied", "reject": "rejected", "revert": "reverted", "reopen": "reopened"}
