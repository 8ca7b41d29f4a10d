"""Evidence that grows over nights and may be read at any time.

A betting test (Waudby-Smith & Ramdas 2023, "Estimating means of bounded random variables by betting"):
start with wealth 1 and bet, on each task, the fraction `stake` of it on the candidate being better. With
a difference d in [-1, 1] the wealth becomes wealth * (1 + stake * d). If the candidate is no better
(every expected difference, given the past, at most 0), no way of betting makes money on average, and by
Ville's inequality the chance that wealth ever reaches 1/alpha is at most alpha. The best stake is not
known, so the capital is spread evenly over a grid; the mean of their wealths is again such a wealth.

It stays valid when tasks are chosen by their past, when the night stops early, and when one looks after
every task. It needs each task's difference to be unbiased: both sides run anew, the number of runs not
depending on their results, and no task counted twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import exp, fsum, log, log1p, sqrt

from skillopt_gate.pairs import Difference, count
from skillopt_gate.verdicts import Evidence

# From .1 to .95: small stakes find small steady gains, large ones end a clean sweep after 7 tasks
# (alpha .05). A stake of 1 would be ruined by a single lost task.
STAKES: tuple[float, ...] = tuple(round(0.1 + 0.05 * step, 2) for step in range(18))

FEWEST_TO_RULE_OUT = 12
ONE_SIDED_90 = 1.282
# A dozen ties do not mean that no task can ever differ.
SMALLEST_VARIANCE = 0.02

# JSON has no infinity and a p-value needs 1/wealth; nothing is decided out there.
_LARGEST_LOG = 690.0


def start(identity: str, *, margin: float = 0.0) -> Evidence:
    """Return the evidence before the first task: wealth 1 in every stake."""
    return Evidence(identity=identity, log_wealth=(0.0,) * len(STAKES), margin=margin)


def carry(evidence: Evidence | None, identity: str, *, margin: float = 0.0) -> Evidence:
    """Return what may be carried on: a fresh start when target, client, judge, margin or grid changed."""
    if (
        evidence is None
        or evidence.identity != identity
        or evidence.margin != margin
        or len(evidence.log_wealth) != len(STAKES)
    ):
        return start(identity, margin=margin)
    return evidence


def bet(evidence: Evidence, differences: Iterable[Difference]) -> tuple[Evidence, tuple[str, ...]]:
    """Bet on each task not seen before; return the new evidence and the tasks skipped as seen.

    The order of the differences does not matter. With `evidence.margin` m the bet is on (d + m) / (1 + m),
    so the hypothesis that is refuted reads "worse by m or more". `nights` is left to the caller.
    """
    seen = set(evidence.seen)
    fresh: list[Difference] = []
    skipped: list[str] = []
    for difference in differences:
        if difference.task in seen:
            skipped.append(difference.task)
        else:
            seen.add(difference.task)
            fresh.append(difference)
    margin = Fraction(evidence.margin).limit_denominator(10_000)
    rows = [_logs((difference.value + margin) / (1 + margin)) for difference in fresh]
    columns = zip(*rows, strict=True) if rows else ((),) * len(STAKES)
    values = [difference.value for difference in fresh]
    wins, losses, ties = count(values)
    return Evidence(
        identity=evidence.identity,
        log_wealth=tuple(
            fsum((before, *column)) for before, column in zip(evidence.log_wealth, columns, strict=True)
        ),
        nights=evidence.nights,
        seen=(*evidence.seen, *sorted(difference.task for difference in fresh)),
        wins=evidence.wins + wins,
        losses=evidence.losses + losses,
        ties=evidence.ties + ties,
        gain=fsum((evidence.gain, *map(float, values))),
        margin=evidence.margin,
        squares=fsum((evidence.squares, *(float(value * value) for value in values))),
    ), tuple(skipped)


def wealth(evidence: Evidence) -> float:
    """Return the e-value: the mean wealth over the stakes, kept within e^-690 and e^690."""
    top = max(evidence.log_wealth)
    total = top + log(fsum(exp(value - top) for value in evidence.log_wealth)) - log(len(STAKES))
    return exp(max(-_LARGEST_LOG, min(total, _LARGEST_LOG)))


def rules_out(evidence: Evidence, gain: float) -> bool:
    """Tell whether the tasks so far speak against a mean gain of `gain`: over 1.282 standard errors below it.

    Not a test that may be read at any time: it only lets a candidate go earlier, which costs power and no
    validity. In simulation it ends useless candidates in half the nights (benchmarks/bench_gate_streams.py).
    """
    if evidence.tasks < FEWEST_TO_RULE_OUT:
        return False
    # Evidence stored without squares: no square is larger than 1.
    squares = evidence.squares or float(evidence.wins + evidence.losses)
    variance = max(squares / evidence.tasks - evidence.effect**2, SMALLEST_VARIANCE)
    return gain - evidence.effect > ONE_SIDED_90 * sqrt(variance / evidence.tasks)


@lru_cache(maxsize=4096)
def _logs(value: Fraction) -> tuple[float, ...]:
    return tuple(log1p(stake * float(value)) for stake in STAKES)
