"""What the user has chosen so far, and which proposal comes next."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_gate.verdicts import Decision
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.difference import Difference
from skillopt_sleep.review.visible import hides
from skillopt_sleep.review.wording import WAITING
from skillopt_staging.proposals import State


class Choices:
    """Remembers which hunks are left out of each proposal; a proposal staged anew starts afresh."""

    def __init__(self) -> None:
        self._left_out: dict[tuple[str, str], frozenset[int]] = {}

    def left_out(self, proposal: Proposal) -> frozenset[int]:
        """Return the numbers of the hunks that are left out."""
        return self._left_out.get(_key(proposal), frozenset())

    def leave_out(self, proposal: Proposal, hunks: frozenset[int]) -> None:
        """Leave out these hunks and no others."""
        self._left_out[_key(proposal)] = hunks

    def pick(self, proposal: Proposal, difference: Difference) -> tuple[int, ...] | None:
        """Return the chosen hunks in order; None when nothing is left out."""
        left_out = self.left_out(proposal)
        if not left_out:
            return None
        return tuple(part.number for part in difference.parts if part.number not in left_out)

    def warn(self, proposal: Proposal, hunks: tuple[int, ...] | None) -> list[str]:
        """Return what the user should know before these hunks are applied."""
        warnings = []
        if proposal.note.verdict.decision is not Decision.ACCEPT:
            warnings.append(f"The gate did not accept this: {proposal.note.verdict.decision.value}.")
        if hunks is not None:
            warnings.append("Only the whole was tested; a part of it may do better or worse.")
        if hides(proposal.text):
            warnings.append("The text holds characters that do not show; the diff marks them <U+…> or ␛.")
        return warnings


def find_next(proposals: Sequence[Proposal], decided: Proposal) -> str | None:
    """Return the id of the next proposal that waits, else of the first that does; None when none does."""
    place = next((index for index, other in enumerate(proposals) if other.id == decided.id), 0)
    waiting = [other.id for other in (*proposals[place + 1 :], *proposals[:place]) if other.state in WAITING]
    return waiting[0] if waiting else None


def find_undoable(
    proposals: Sequence[Proposal], selected: Proposal | None, decided: Sequence[str]
) -> Proposal | None:
    """Return whose decision undo takes back: the selected proposal's, else the last one made here."""
    if selected and selected.state in {State.APPLIED, State.REJECTED}:
        return selected
    known = {proposal.id: proposal for proposal in proposals}
    return next((known[name] for name in reversed(decided) if name in known), None)


def _key(proposal: Proposal) -> tuple[str, str]:
    return proposal.id, proposal.staged.commit
