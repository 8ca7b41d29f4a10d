"""Decisions that were cut off: what the files hold says how far they came, and the record follows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from skillopt_sleep import applying, deciding
from skillopt_sleep.deciding import Change
from skillopt_sleep.errors import NeedsDecision
from skillopt_sleep.records import Proposal
from skillopt_sleep.store.intents import Intent, forget_intent, read_intents
from skillopt_sleep.store.proposals import find_proposal
from skillopt_staging.errors import Busy, StagingError
from skillopt_staging.proposals import Applied, Written


def settle(connection: sqlite3.Connection) -> list[tuple[str, Change]]:
    """Finish or give up every decision in the journal; return what was finished, each with its action.

    What had reached the live files is recorded, what had not is as if it was never asked for; of several
    files of which some were written, the rest is written too. Needs the decisions' lock. Raises Busy when a
    repository is held: the journal keeps the decision.
    """
    finished = []
    for intent in read_intents(connection):
        proposal = find_proposal(connection, intent.proposal)
        change = _settle(connection, proposal, intent) if proposal else None
        if change:
            finished.append((intent.action, change))
        else:
            forget_intent(connection, intent.proposal)
    return finished


def _settle(connection: sqlite3.Connection, proposal: Proposal, intent: Intent) -> Change | None:
    try:
        if intent.action == "reject":
            return deciding.reject_proposal(connection, proposal, intent.reason, who=intent.who)
        applied = intent.applied
        if applied is None:
            return None
        written = [_hold(file) for file in _list_files(applied)]
        if not any(written) and not _is_in(proposal, applied):
            return None
        if all(written) or len(written) == 1:
            return _record(connection, proposal, intent, applied)
        return _repeat(connection, proposal, intent)
    except Busy:
        raise
    except (StagingError, NeedsDecision):
        return None


def _record(connection: sqlite3.Connection, proposal: Proposal, intent: Intent, applied: Applied) -> Change:
    if intent.action == "apply":
        return applying.record_applied(connection, proposal, applied, who=intent.who)
    return applying.record_reverted(connection, proposal, applied, intent.reason, who=intent.who)


def _repeat(connection: sqlite3.Connection, proposal: Proposal, intent: Intent) -> Change:
    if intent.action == "apply":
        desired = deciding.Desired(hunks=intent.hunks, text=intent.text, merge=True)
        return applying.apply_proposal(connection, proposal, desired, who=intent.who)
    return applying.revert_proposal(connection, proposal, intent.reason, who=intent.who)


def _is_in(proposal: Proposal, applied: Applied) -> bool:
    """Say whether a file that was edited since had been written: it is more like what came after."""
    from skillopt_staging.files import digest, read_live
    from skillopt_staging.plumbing import Repository

    now = read_live(Path(applied.live))
    if now is None or digest(now) == applied.before:
        return False
    repo = Repository(Path(proposal.staged.repository))
    before, after = (
        repo.read_blob(blob).splitlines() if blob else [] for blob in (applied.backup, applied.written)
    )
    lines = now.splitlines()
    return _liken(lines, after) > _liken(lines, before)


def _liken(one: list[bytes], other: list[bytes]) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _hold(file: Written | Applied) -> bool:
    from skillopt_staging.files import digest, read_live

    return digest(read_live(Path(file.live))) == file.after


def _list_files(applied: Applied) -> Iterator[Written | Applied]:
    yield applied
    yield from applied.parts
