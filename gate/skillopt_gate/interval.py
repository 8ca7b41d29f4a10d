"""The interval shown beside an effect. It informs the reader; no decision reads it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from random import Random
from statistics import NormalDist

WHOLE = (-1.0, 1.0)
_NORMAL = NormalDist()


def bootstrap_interval(
    values: Sequence[Fraction],
    *,
    rng: Random,
    level: float = 0.95,
    draws: int = 2000,
    within: tuple[float, float] = WHOLE,
) -> tuple[float, float]:
    """Return the BCa bootstrap interval of the mean (Efron 1987) of values that lie in `within`.

    The values are differences, in [-1, 1], unless said otherwise: scores lie in [0, 1]. Tasks are resampled,
    so each value is one observation. No task at all gives the whole range. When all values are equal the
    bootstrap has nothing to resample; the interval then is what n equal draws leave open: at most a share s
    of tasks behaves otherwise, 1 - s = (tail)^(1/n).
    """
    n = len(values)
    least, most = within
    if n == 0:
        return within
    tail = (1 - level) / 2
    # Whole units, so that equal sums tie; a millionth is fine enough where scores share no small unit.
    scale = min(lcm(*(value.denominator for value in values)), 1_000_000)
    units = sorted(round(value * scale) for value in values)
    if len(set(units)) == 1:
        value = float(min(values))
        share = 1 - tail ** (1 / n)
        return value - share * (value - least), value + share * (most - value)
    drawn = rng.choices(units, k=n * draws)
    sums = sorted(sum(drawn[at : at + n]) for at in range(0, n * draws, n))
    observed = sum(units)
    low, high = (_place(sums, observed, units, share) for share in (tail, 1 - tail))
    return sums[low] / scale / n, sums[high] / scale / n


def _place(sums: Sequence[int], observed: int, units: Sequence[int], share: float) -> int:
    """Return the index in the sorted resampled sums that BCa takes for the quantile `share`."""
    draws = len(sums)
    # Sums tie often with few tasks; half of the ties count as below.
    below = sum((total < observed) + 0.5 * (total == observed) for total in sums) / draws
    bias = _NORMAL.inv_cdf(min(max(below, 0.5 / draws), 1 - 0.5 / draws))
    point = bias + _NORMAL.inv_cdf(share)
    adjusted = _NORMAL.cdf(bias + point / (1 - _acceleration(units) * point))
    return min(max(int(adjusted * draws), 0), draws - 1)


def _acceleration(units: Sequence[int]) -> float:
    """Return the jackknife's skewness term; leaving task i out moves the mean by (mean - unit_i)/(n-1)."""
    n = len(units)
    total = sum(units)
    deviations = [n * unit - total for unit in units]
    squares = sum(deviation**2 for deviation in deviations)
    cubes = sum(deviation**3 for deviation in deviations)
    return float(cubes / (6.0 * float(squares) ** 1.5))
