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
    """Remembers which hunks are left out of each proposal, and its text as the user edited it.

    A proposal staged anew starts afresh.
    """

    def __init__(self) -> None:
        self._left_out: dict[tuple[str, str], frozenset[int]] = {}
        self._texts: dict[tuple[str, str], str] = {}

    def left_out(self, proposal: Proposal) -> frozenset[int]:
        """Return the numbers of the hunks that are left out."""
        return self._left_out.get(_key(proposal), frozenset())

    def leave_out(self, proposal: Proposal, hunks: frozenset[int]) -> None:
        """Leave out these hunks and no others."""
        self._left_out[_key(proposal)] = hunks

    def text(self, proposal: Proposal) -> str | None:
        """Return the SKILL.md as the user edited it; None when they did not."""
        return self._texts.get(_key(proposal))

    def edit(self, proposal: Proposal, text: str | None) -> None:
        """Take this text in place of the proposed one (None: the proposed one again), with all its hunks."""
        self._left_out.pop(_key(proposal), None)
        if text is None or text == proposal.text:
            self._texts.pop(_key(proposal), None)
        else:
            self._texts[_key(proposal)] = text

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
        warnings += [f"Not gated as it stands: {reason}." for reason in self.say_ungated(proposal, hunks)]
        if hides(self.text(proposal) or proposal.text):
            warnings.append("The text holds characters that do not show; the diff marks them <U+…> or ␛.")
        return warnings

    def say_ungated(self, proposal: Proposal, hunks: tuple[int, ...] | None) -> list[str]:
        """Return why what is chosen is not what the gate measured; empty when it is."""
        reasons = [proposal.ungated] if proposal.ungated else []
        if self.text(proposal) is not None:
            reasons.append("you edited it")
        if hunks is not None:
            reasons.append("only the whole was tested; a part of it may do better or worse")
        return reasons


def find_next(proposals: Sequence[Proposal], decided: Proposal) -> str | None:
    """Return the id of the next proposal that waits, else of the first that does; None when none does."""
    place = next((index for index, other in enumerate(proposals) if other.id == decided.id), 0)
    waiting = [other.id for other in (*proposals[place + 1 :], *proposals[:place]) if other.state in WAITING]
    return waiting[0] if waiting else None


def find_undoable(
    proposals: Sequence[Proposal], selected: Proposal | None, decided: Sequence[str]
) -> Proposal | None:
    """Return whose decision undo takes back: the selected proposal's, else the last one made here."""
    taken = {State.APPLIED, State.REJECTED, State.SNOOZED, State.RETIRED}
    if selected and selected.state in taken:
        return selected
    known = {proposal.id: proposal for proposal in proposals}
    return next((known[name] for name in reversed(decided) if name in known), None)


def _key(proposal: Proposal) -> tuple[str, str]:
    return proposal.id, proposal.staged.commit
