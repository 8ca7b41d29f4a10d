"""Replay one task at a time: whether to go on, and with which task."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skillopt_gate.stopping import decided, hopeless
from skillopt_gate.verdicts import Evidence, Pair, Policy
from skillopt_gate.vetoes import suspects


class Waiting(msgspec.Struct, frozen=True):
    """A held-out task that has not run tonight; `guard` says that it passed before, and can veto."""

    task: str
    guard: bool = False


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What to run next on both sides, or None to stop; `why` in one sentence.

    With `again` the task is rerun `vetoes.RECHECK_RUNS` times a side, and the scores go into `again_*`.
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
    level: float | None = None,
) -> Next:
    """Say what to run after the results in `pairs`; `waiting` are the tasks left, in their order.

    A candidate with structural problems is not run at all. Stopping early is fair in evidence mode only,
    and never skips a guard: what is left when it is as good as accepted are past failures.
    """
    if problems:
        return Next(task=None, why="the document itself is refused, so nothing needs to run")
    if waiting:
        if hopeless(pairs, len(waiting), evidence, policy, identity=identity, shorter=shorter, level=level):
            return Next(task=None, why="not even a clean sweep of the tasks left would let it pass tonight")
        guards = [one for one in waiting if one.guard]
        if pairs and decided(
            pairs,
            evidence,
            policy,
            identity=identity,
            shorter=shorter,
            guards_left=len(guards),
            level=level,
        ):
            return Next(task=None, why="the evidence suffices and no guard task is left")
        without_guards = pairs and decided(
            pairs, evidence, policy, identity=identity, shorter=shorter, level=level
        )
        # Once the evidence suffices only the guards can change the verdict.
        chosen = guards[0] if without_guards else waiting[0]
        return Next(task=chosen.task, why="a guard task" if chosen.guard else "a task that failed before")
    doubtful = suspects(pairs, policy)
    if doubtful:
        return Next(task=doubtful[0], why="it looks broken, and is run again before it vetoes", again=True)
    return Next(task=None, why="every task has run")
