"""What the review needs of the rest of the app."""

from __future__ import annotations

from typing import Protocol

from skillopt_sleep.records import Proposal


class Desk(Protocol):
    """Where proposals lie and decisions are carried out.

    The review calls it from worker threads, one call at a time. A method that cannot do what is asked
    raises an error with a message and a hint (see skillopt_sleep.errors.Explained) and changes nothing;
    the review shows both and goes on.
    """

    def proposals(self) -> list[Proposal]:
        """Return all proposals, those waiting for a decision first."""
        ...

    def apply(self, proposal: str, hunks: tuple[int, ...] | None) -> str:
        """Write the proposal with this id, or only its hunks with these numbers (from 1).

        Returns a sentence that says what changed where.
        """
        ...

    def reject(self, proposal: str, reason: str) -> str:
        """Reject the proposal with this id for a reason the next nights learn from; returns a sentence."""
        ...

    def undo(self, proposal: str) -> str:
        """Take back the last decision on the proposal with this id; returns a sentence.

        A rejection is reopened, an apply is reverted.
        """
        ...
