"""What the review needs of the rest of the app."""

from __future__ import annotations

from typing import Protocol

from skillopt_sleep.records import Proposal


class Desk(Protocol):
    """Where proposals lie and decisions are carried out.

    The review calls it from worker threads, one call at a time. A method that cannot do what is asked
    raises an error with a message and a hint (see skillopt_sleep.errors.Explained) and changes nothing;
    the review shows both and goes on. `hunks` are numbers from 1 (None: all), `text` is the user's own
    version of the SKILL.md, in place of the proposed one.
    """

    def proposals(self) -> list[Proposal]:
        """Return all proposals, those waiting for a decision first."""
        ...

    def check(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> list[str]:
        """Return what the user should know before this is applied, a sentence each.

        Raises what apply would raise, so that a conflict is told before anything is asked.
        """
        ...

    def apply(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> str:
        """Write the proposal with this id, or only its hunks with these numbers (from 1).

        Edits of the user's in the live file stay, merged. Returns a sentence that says what changed where.
        """
        ...

    def reject(self, proposal: str, reason: str) -> str:
        """Reject the proposal with this id for a reason the next nights learn from; returns a sentence."""
        ...

    def snooze(self, proposal: str) -> str:
        """Put the proposal out of the way for some days; returns a sentence."""
        ...

    def gate_again(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> str:
        """Take the proposal back and have what was chosen of it gated next; returns a sentence."""
        ...

    def undo(self, proposal: str) -> str:
        """Take back the last decision on the proposal with this id; returns a sentence.

        A rejection is reopened, an apply is reverted.
        """
        ...
