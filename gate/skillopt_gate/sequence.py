"""Replay one task at a time: whether to go on, and with which task."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skillopt_gate.decide import conclude
from skillopt_gate.standing import weigh
from skillopt_gate.stopping import hopeless
from skillopt_gate.verdicts import Decision, Evidence, Pair, Policy
from skillopt_gate.vetoes import suspects


class Waiting(msgspec.Struct, frozen=True):
    """A held-out task that has not run tonight; `guard` says that it passed before, and can veto."""

    task: str
    guard: bool = False


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What to run next on both sides, or None to stop; `why` in one sentence.

    With `again` the task is rerun a side, `vetoes.RECHECK_RUNS` times in all at most, and the scores go into
    `again_*` (see `vetoes.suspects`).
    """

    task: str | None
    why: str
    again: bool = False


def advance(
    pairs: Sequence[Pair],
    waiting: Sequence[Waiting],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    problems: Sequence[str] = (),
    shorter: bool = False,
    rewritten: bool = False,
    level: float | None = None,
) -> Next:
    """Say what to run after the results in `pairs`; `waiting` are the tasks left, in their order.

    A candidate with structural problems is not run at all. In evidence mode the tasks that failed before come
    first, since a gain shows there; guards, which can only veto, run once the evidence suffices, and all of
    them before it is accepted. A night with fewer than `min_tasks` past failures runs its guards as well.
    """
    if problems:
        return Next(task=None, why="the document itself is refused, so nothing needs to run")
    standing = weigh(
        pairs, evidence, policy, identity=identity, shorter=shorter, rewritten=rewritten, level=level
    )
    vetoes = policy.mode in {"evidence", "one-night"}
    doubtful = suspects(pairs, policy) if vetoes else ()
    broken = sorted(set(standing.broken) - set(doubtful)) if vetoes else []
    if broken:
        return Next(task=None, why=f"it breaks {broken[0]} for good")
    outcome, _, _ = conclude(msgspec.structs.replace(standing, broken=()), policy)
    suffices = policy.mode == "evidence" and bool(pairs) and outcome is Decision.ACCEPT
    if waiting and not (suffices and doubtful):
        if hopeless(pairs, len(waiting), evidence, policy, identity=identity, shorter=shorter, level=level):
            return Next(task=None, why="not even a clean sweep of the tasks left would let it pass tonight")
        chosen = _choose(pairs, waiting, policy, suffices=suffices, shorter=shorter)
        if chosen.task is not None or suffices:
            return chosen
    # What the evidence alone turns down needs no second look at what it may have broken.
    if doubtful and outcome is not Decision.REJECT:
        return Next(task=doubtful[0], why="it looks broken, and is run again before it vetoes", again=True)
    why = "every task has run" if not waiting else "guard tasks wait until the evidence suffices"
    return Next(task=None, why=why)


def _choose(
    pairs: Sequence[Pair], waiting: Sequence[Waiting], policy: Policy, *, suffices: bool, shorter: bool
) -> Next:
    """Choose among the waiting tasks; without one the night's first runs are over."""
    guards = [one for one in waiting if one.guard]
    if suffices:
        if not guards:
            return Next(task=None, why="the evidence suffices and no guard task is left")
        return Next(task=guards[0].task, why="a guard task, now that the evidence suffices")
    if policy.mode != "evidence" or shorter:
        return Next(task=waiting[0].task, why="the next task in turn")
    failures = [one for one in waiting if not one.guard]
    if failures:
        return Next(task=failures[0].task, why="a task that failed before, where a gain can show")
    complete = sum(bool(pair.incumbent and pair.candidate) for pair in pairs)
    if complete >= policy.min_tasks:
        return Next(task=None, why="")
    return Next(task=guards[0].task, why="a guard task, for want of tasks that failed before")
