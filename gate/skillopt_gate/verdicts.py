"""Pairs of scores in, a Verdict out. Numbers only: no files, no clock, no model."""

from __future__ import annotations

from enum import Enum

import msgspec


class Decision(str, Enum):
    """Accept and reject are final; not enough evidence means: go on tomorrow with fresh tasks."""

    ACCEPT = "accept"
    REJECT = "reject"
    NOT_ENOUGH = "not enough evidence yet"


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One held-out task run with both skills; each tuple holds the scores in [0, 1] of its valid runs.

    An empty tuple is missing data (infrastructure), never a zero.
    """

    task: str
    incumbent: tuple[float, ...]
    candidate: tuple[float, ...]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What earlier nights showed: one log-wealth per stake, in the order of the policy's stakes.

    `identity` names target, client version and judge; evidence restarts when it changes.
    `seen` are the tasks already bet on, so that each counts once.
    """

    identity: str
    log_wealth: tuple[float, ...]
    nights: int = 0
    seen: tuple[str, ...] = ()
    wins: int = 0
    losses: int = 0
    ties: int = 0


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How the gate decides.

    `alpha`: chance of ever accepting a skill that is no better. `min_effect`: smallest mean gain worth
    having. `min_tasks`: fewer usable pairs decide nothing. `coverage`: share of pairs that must be
    complete. `futility`: wealth below which a candidate is dropped. `max_nights`: then it is dropped too.
    `mode`: "evidence" (e-process over nights) or "one-night" (exact test of tonight alone).
    """

    mode: str = "evidence"
    alpha: float = 0.05
    min_effect: float = 0.05
    min_tasks: int = 5
    coverage: float = 0.6
    futility: float = 0.2
    max_nights: int = 10


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision and every number behind it; `reason` is one sentence for a person.

    `n` usable pairs tonight, `k` runs per side (the smallest), `effect` the mean difference with its
    `interval` (95 %), `wealth` the e-value over all nights, `p_value` the exact one-sided test of
    tonight, `broken` the tasks that vetoed.
    """

    decision: Decision
    reason: str
    mode: str
    n: int
    k: int
    wins: int
    losses: int
    ties: int
    effect: float
    interval: tuple[float, float]
    wealth: float
    p_value: float
    nights: int
    broken: tuple[str, ...] = ()
    vetoes: tuple[str, ...] = ()
