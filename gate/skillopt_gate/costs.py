"""Does the candidate make runs dearer or slower? Beyond noise, and by enough to matter."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, fsum, isfinite, log
from random import Random
from statistics import median

from skillopt_gate.exact import sign_flip_test
from skillopt_gate.verdicts import Pair, Policy, Rise

LEVEL = 0.01
# Fewer tasks can never show a rise at this level: the exact test of six gives 1/64 at best.
FEWEST = 7
_LARGEST_LOG = 690.0


def measure_rise(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> Rise:
    """Compare per-task medians; tasks without a positive finite number on both sides say nothing."""
    sides = [(_middle(old), _middle(new)) for old, new in zip(before, after, strict=True)]
    logs = [log(new) - log(old) for old, new in sides if old and new]
    if not logs:
        return Rise()
    steps = [Fraction(round(value * 1000), 1000) for value in logs]
    rng = Random(",".join(map(str, sorted(steps))))  # noqa: S311 - resampling, seeded by the data
    return Rise(
        ratio=exp(min(fsum(logs) / len(logs), _LARGEST_LOG)),
        p_value=float(sign_flip_test(steps, rng=rng)),
        tasks=len(logs),
    )


def _middle(numbers: Sequence[float]) -> float:
    known = [number for number in numbers if number > 0 and isfinite(number)]
    return median(known) if known else 0.0


def rises(pairs: Sequence[Pair]) -> tuple[Rise, Rise]:
    """Return how cost and time changed."""
    ordered = sorted(pairs, key=lambda pair: pair.task)
    return (
        measure_rise([p.incumbent_usd for p in ordered], [p.candidate_usd for p in ordered]),
        measure_rise([p.incumbent_seconds for p in ordered], [p.candidate_seconds for p in ordered]),
    )


def exceeds(rise: Rise, bound: float) -> bool:
    """Say whether it rose by more than `bound` times and beyond noise; a bound of 0 allows anything."""
    return bool(bound) and rise.tasks >= FEWEST and rise.ratio > bound and rise.p_value <= LEVEL


def find_excess(cost: Rise, time: Rise, policy: Policy) -> tuple[str, ...]:
    """Say what rose beyond the policy's bounds; a bound of 0 allows anything."""
    found = []
    for rise, bound, what in (
        (cost, policy.max_cost_ratio, "costs"),
        (time, policy.max_time_ratio, "takes"),
    ):
        if exceeds(rise, bound):
            unit = "as much" if what == "costs" else "as long"
            found.append(
                f"a run {what} {rise.ratio:.1f} times {unit} over {rise.tasks} tasks, {bound:g} times allowed"
            )
    return tuple(found)
