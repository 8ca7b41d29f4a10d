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

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp, fsum, log, log1p, sqrt

import msgspec

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
        worst=evidence.worst,
        lost_nights=evidence.lost_nights,
    ), tuple(skipped)


def wealth(evidence: Evidence) -> float:
    """Return the e-value: the mean wealth over the stakes, kept within e^-690 and e^690."""
    return _mean_wealth(evidence.log_wealth)


def worst_wealth(evidence: Evidence) -> float:
    """Return the e-value had the runs failed that were lost with the candidate alone."""
    return _mean_wealth(evidence.worst or evidence.log_wealth)


def bet_on_worst(before: Evidence, after: Evidence, supposed: Iterable[Difference]) -> Evidence:
    """Return `after` with its `worst` grown from that of `before` by the `supposed` differences."""
    start_from = msgspec.structs.replace(before, log_wealth=before.worst or before.log_wealth)
    return msgspec.structs.replace(after, worst=bet(start_from, supposed)[0].log_wealth)


def _mean_wealth(logs: Sequence[float]) -> float:
    top = max(logs)
    total = top + log(fsum(exp(value - top) for value in logs)) - log(len(STAKES))
    return exp(max(-_LARGEST_LOG, min(total, _LARGEST_LOG)))


def rules_out(evidence: Evidence, gain: float) -> bool:
    """Tell whether the tasks so far speak against a mean gain of `gain` (see `highest_gain`).

    Not a test that may be read at any time: it only lets a candidate go earlier, which costs power and no
    validity. In simulation it ends useless candidates in half the nights (benchmarks/bench_gate_streams.py).
    """
    highest = highest_gain(evidence)
    return highest is not None and gain > highest


def highest_gain(evidence: Evidence) -> float | None:
    """Return the mean gain plus 1.282 standard errors (one-sided 90 %), None before a dozen tasks."""
    if evidence.tasks < FEWEST_TO_RULE_OUT:
        return None
    # Evidence stored without squares: no square is larger than 1.
    squares = evidence.squares or float(evidence.wins + evidence.losses)
    variance = max(squares / evidence.tasks - evidence.effect**2, SMALLEST_VARIANCE)
    return evidence.effect + ONE_SIDED_90 * sqrt(variance / evidence.tasks)


@lru_cache(maxsize=4096)
def _logs(value: Fraction) -> tuple[float, ...]:
    return tuple(log1p(stake * float(value)) for stake in STAKES)
