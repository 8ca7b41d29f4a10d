"""After a proposal was applied: whether the user had to correct the agent more often than before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from skillopt_replay.tasks import Task
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.wording import count
from skillopt_sleep.store.proposals import read_proposals, save_proposal
from skillopt_staging.proposals import State

# The bets on a risen rate, spread evenly: shares of the stake.
_STAKES = (0.1, 0.25, 0.5, 0.75)
NEEDED = 20.0


class Rise(msgspec.Struct, frozen=True, kw_only=True):
    """Corrected asks of all asks, before and after applying; `wealth` is the evidence that the rate rose.

    However often one looks, wealth reaches 20 with a chance of at most 1 in 20 when the rate did not rise
    above what was assumed of the time before.
    """

    corrected_before: int
    asks_before: int
    corrected_after: int
    asks_after: int
    wealth: float

    @property
    def rose(self) -> bool:
        """Tell whether the evidence suffices to say so."""
        return self.wealth >= NEEDED


def measure_rise(before: Sequence[bool], after: Sequence[bool]) -> Rise:
    """Return whether corrections rose from the asks before to those after, each True where corrected.

    A bet against "no more often than before", ask by ask in the order they came (Waudby-Smith and Ramdas,
    2024). Few asks before say little, so that the rate assumed for them is the upper end of what they allow:
    (corrected + 1) / (asks + 2), one standard error added.
    """
    total = len(before)
    share = (sum(before) + 1) / (total + 2)
    rate = min(0.95, share + (share * (1 - share) / (total + 3)) ** 0.5)
    fortunes = [1.0] * len(_STAKES)
    best = 1.0
    for corrected in after:
        # Worth at most nothing on average while the rate is no higher than assumed.
        gain = ((1.0 if corrected else 0.0) - rate) / rate
        fortunes = [fortune * (1 + stake * gain) for fortune, stake in zip(fortunes, _STAKES, strict=True)]
        best = max(best, sum(fortunes) / len(fortunes))
    return Rise(
        corrected_before=sum(before),
        asks_before=total,
        corrected_after=sum(after),
        asks_after=len(after),
        wealth=best,
    )


def watch_applied(connection: sqlite3.Connection, tasks: Iterable[Task]) -> list[str]:
    """Look at the asks since each applied proposal; return a sentence for each whose corrections rose.

    What was found is kept with the proposal, so that the review and the status tell it as well.
    """
    asked = sorted((task for task in tasks if task.started), key=lambda task: (task.started or "", task.id))
    told = []
    for proposal in read_proposals(connection, State.APPLIED):
        since = proposal.decided or ""
        own = [task for task in asked if _is_about(task, proposal)]
        rise = measure_rise(
            [task.failed_before for task in own if (task.started or "") < since],
            [task.failed_before for task in own if (task.started or "") >= since],
        )
        said = say_rise(rise) if rise.rose else ""
        if said != proposal.watch:
            detail = said or "corrections are no more frequent than before"
            save_proposal(connection, replace(proposal, watch=said), action="watch", detail=detail)
        if said:
            told.append(f"{proposal.id}: {said}; to take it back: skillopt-sleep revert {proposal.id}")
    return told


def say_rise(rise: Rise) -> str:
    """Return the rise as words."""
    after = f"{rise.corrected_after} of {count(rise.asks_after, 'ask')}"
    before = f"{rise.corrected_before} of {rise.asks_before}"
    return f"since you applied it you corrected {after}, {before} before"


def _is_about(task: Task, proposal: Proposal) -> bool:
    if task.skill != proposal.skill:
        return False
    return proposal.scope == "user" or (task.root or task.project) == proposal.staged.repository
