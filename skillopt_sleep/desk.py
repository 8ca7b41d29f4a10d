"""Where proposals are looked at and decided on: what the review and its commands share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skillopt_sleep import applying, deciding
from skillopt_sleep.config import load
from skillopt_sleep.deciding import Change, Desired, name_user
from skillopt_sleep.errors import Busy
from skillopt_sleep.lock import hold_decisions
from skillopt_sleep.paths import Paths
from skillopt_sleep.records import Proposal
from skillopt_sleep.settling import settle
from skillopt_sleep.store.database import connect, explained
from skillopt_sleep.store.intents import read_intents
from skillopt_sleep.store.proposals import Decision, read_decisions, read_proposal, read_proposals
from skillopt_staging.errors import Busy as RepositoryBusy
from skillopt_staging.errors import StagingError
from skillopt_staging.proposals import State

__all__ = ["Change", "Desired", "StoreDesk"]


class StoreDesk:
    """The Desk of the review over the database. Every call opens its own connection: any thread may ask."""

    def __init__(self, paths: Paths, *, by: str = "") -> None:
        """`by` says where decisions are made, for the record: "review", or "" for the command line."""
        self._paths = paths
        self._who = f"{name_user()}, in the {by}" if by else name_user()

    def proposals(self) -> list[Proposal]:
        """Return all proposals, pending ones first."""
        with self._open() as connection:
            self._settle(connection)
            return read_proposals(connection)

    def pending(self) -> list[Proposal]:
        """Return the proposals that wait for a decision."""
        with self._open() as connection:
            self._settle(connection)
            return read_proposals(connection, State.PENDING)

    def history(self, proposal: str) -> list[Decision]:
        """Return who decided what about a proposal, oldest first."""
        with self._open() as connection:
            return read_decisions(connection, proposal)

    def apply(
        self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None, *, merge: bool = True
    ) -> str:
        return self.carry_out("apply", proposal, hunks, text=text, merge=merge).sentence

    def check(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> list[str]:
        from skillopt_sleep.checking import check_proposal

        with self._open() as connection:
            found = read_proposal(connection, proposal)
        deciding.require_state(found, "apply", *deciding.UNDECIDED)
        return check_proposal(found, Desired(hunks=hunks, text=text), os.environ, Path.home())

    def reject(self, proposal: str, reason: str) -> str:
        return self.carry_out("reject", proposal, reason).sentence

    def snooze(self, proposal: str) -> str:
        return self.carry_out("snooze", proposal).sentence

    def gate_again(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> str:
        return self.carry_out("gate", proposal, hunks, text).sentence

    def undo(self, proposal: str) -> str:
        with self._open() as connection:
            state = read_proposal(connection, proposal).state
        if state is State.APPLIED:
            return self.carry_out("revert", proposal).sentence
        return self.carry_out("reopen", proposal).sentence

    def carry_out(self, action: str, name: str, *arguments: Any, **options: Any) -> Change:
        """Decide on one proposal.

        Actions with their arguments: apply (hunks), reject (reason), revert ([reason]), snooze ([days]), gate
        (hunks, text), move (into the client's memory file), move_back (to the skill), reopen. Options of
        apply are those of Desired. Raises UsageError for an unknown proposal or hunk, NeedsDecision when its
        state or the live file does not allow the action, Busy while another decision is made.
        """
        actions: dict[str, Callable[..., Change]] = {
            "apply": self._apply,
            "reject": deciding.reject_proposal,
            "revert": self._revert,
            "reopen": self._reopen,
            "snooze": self._snooze,
            "gate": self._gate,
            "move": self._move,
            "move_back": self._move_back,
        }
        with hold_decisions(self._paths, action), self._open() as connection:
            finished = settle(connection)
            proposal = read_proposal(connection, name)
            for what, change in finished:
                # What was cut off, and is asked for once more.
                if (what, change.proposal) == (action, proposal.id):
                    return change
            return actions[action](connection, proposal, *arguments, who=self._who, **options)

    def _apply(
        self,
        connection: sqlite3.Connection,
        proposal: Proposal,
        hunks: tuple[int, ...] | None,
        *,
        who: str,
        commit: bool | None = None,
        **options: Any,
    ) -> Change:
        if commit is None:
            commit = load(self._paths.config).review.commit
        desired = Desired(hunks=hunks, commit=commit, **options)
        return applying.apply_proposal(connection, proposal, desired, who=who)

    def _revert(
        self, connection: sqlite3.Connection, proposal: Proposal, reason: str = "", *, who: str
    ) -> Change:
        change = applying.revert_proposal(connection, proposal, reason, who=who)
        if proposal.as_skill is None:
            return change
        # It went into a memory file because that was asked for; what is asked for next is another matter.
        reverted = read_proposal(connection, proposal.id)
        try:
            said = self._move_back(connection, reverted, who=who).sentence
        except StagingError as error:
            said = f"it stays one for {proposal.staged.live}: {' '.join(error.message.split())}"
        return replace(change, sentence=f"{change.sentence}; {said}")

    def _reopen(self, connection: sqlite3.Connection, proposal: Proposal, *, who: str) -> Change:
        return deciding.reopen_proposal(connection, self._paths, proposal, who=who)

    def _snooze(
        self, connection: sqlite3.Connection, proposal: Proposal, days: int | None = None, *, who: str
    ) -> Change:
        wanted = load(self._paths.config).review.snooze_days if days is None else days
        return deciding.snooze_proposal(connection, proposal, wanted, who=who)

    def _gate(
        self,
        connection: sqlite3.Connection,
        proposal: Proposal,
        hunks: tuple[int, ...] | None,
        text: str | None,
        *,
        who: str,
    ) -> Change:
        from skillopt_sleep.regating import gate_again

        budget = load(self._paths.config).training.max_skill_tokens
        return gate_again(connection, proposal, hunks, text, who=who, max_tokens=budget)

    def _move(self, connection: sqlite3.Connection, proposal: Proposal, *, who: str) -> Change:
        from skillopt_sleep.memorising import move_to_memory

        return move_to_memory(connection, self._paths, proposal, who=who)

    def _move_back(self, connection: sqlite3.Connection, proposal: Proposal, *, who: str) -> Change:
        from skillopt_sleep.memorising import move_back

        return move_back(connection, self._paths, proposal, who=who)

    def _settle(self, connection: sqlite3.Connection) -> None:
        """Settle what was cut off, unless somebody decides just now: theirs may be what the journal holds."""
        if not read_intents(connection):
            return
        try:
            with hold_decisions(self._paths, "settle"):
                settle(connection)
        except (Busy, RepositoryBusy):
            return

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = connect(self._paths.database)
        try:
            with explained(self._paths.database):
                yield connection
        finally:
            connection.close()
