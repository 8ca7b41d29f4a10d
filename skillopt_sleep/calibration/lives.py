"""What would become of candidates that change nothing: the measured runs drawn again, night after night.

Both sides of a task are drawn from all its runs, so they are alike by construction, and every acceptance is
a false one. The gate that decides is the real one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from random import Random

import msgspec

from skillopt_gate.decide import conclude
from skillopt_gate.pairs import compare
from skillopt_gate.standing import weigh
from skillopt_gate.verdicts import Decision, Evidence, Pair, Policy
from skillopt_gate.vetoes import RECHECK_RUNS, suspects
from skillopt_sleep.noise import Rate


class Lives(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the simulated candidates each rule let pass, as shares with intervals."""

    accepts: Rate
    mean_once: Rate
    mean_ever: Rate


def live(
    runs: Sequence[tuple[float, ...]],
    policy: Policy,
    *,
    repeats: int,
    tasks: int,
    nights: int,
    lives: int,
    seed: int,
) -> Lives:
    """Return what became of `lives` candidates over up to `nights` nights of `tasks` tasks each.

    `runs` holds the scores of all runs of each measured task; raises ValueError when there is none. Each
    night draws tasks, and each task `repeats` runs a side, with replacement: fresh tasks of the same kind.
    """
    if not runs:
        raise ValueError("no task was measured, so there is nothing to draw from")
    rng = Random(seed)  # noqa: S311 - resampling
    accepted = once = ever = 0
    for _ in range(lives):
        evidence: Evidence | None = None
        decision = Decision.NOT_ENOUGH
        rises = []
        for night in range(nights):
            drawn = {f"{night}/{at}": rng.choice(runs) for at in range(tasks)}
            pairs = [_draw(task, pool, repeats, rng) for task, pool in drawn.items()]
            rises.append(sum((one.value for one in compare(pairs)[0]), Fraction(0)) > 0)
            if decision is Decision.NOT_ENOUGH:
                doubtful = set(suspects(pairs, policy))
                pairs = [_recheck(p, drawn[p.task], rng) if p.task in doubtful else p for p in pairs]
                standing = weigh(pairs, evidence, policy, identity="")
                decision, _, _ = conclude(standing, policy)
                evidence = standing.after
        accepted += decision is Decision.ACCEPT
        once += rises[0]
        ever += any(rises)
    return Lives(
        accepts=estimate(accepted, lives), mean_once=estimate(once, lives), mean_ever=estimate(ever, lives)
    )


def estimate(hits: int, of: int) -> Rate:
    """Return the share with its 95 % interval (Wilson 1927); the whole range when there is nothing."""
    if not of:
        return Rate(share=0.0, low=0.0, high=1.0)
    share, z = hits / of, 1.96
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return Rate(share=share, low=max(0.0, middle - half), high=min(1.0, middle + half))


def _draw(task: str, pool: Sequence[float], repeats: int, rng: Random) -> Pair:
    incumbent, candidate = (tuple(rng.choices(pool, k=repeats)) for _ in range(2))
    return Pair(task=task, incumbent=incumbent, candidate=candidate, runs=repeats)


def _recheck(pair: Pair, pool: Sequence[float], rng: Random) -> Pair:
    before, after = (tuple(rng.choices(pool, k=RECHECK_RUNS)) for _ in range(2))
    return msgspec.structs.replace(pair, again_incumbent=before, again_candidate=after)
