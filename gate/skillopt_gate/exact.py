"""Exact one-sided tests of one night: the sign test and the sign-flip permutation test."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import comb, lcm
from random import Random

# Distinct sums kept per half; past it (about 36 tasks with unlike scores) the test is drawn, not counted.
_MOST_SUMS = 1 << 18


def sign_test(wins: int, losses: int) -> Fraction:
    """Return P(at least `wins` of `wins + losses` fair coins): McNemar's exact test, one-sided.

    Ties carry no information and are left out by the caller. 1 when nothing is discordant.
    """
    if wins < 0 or losses < 0:
        raise ValueError("wins and losses are counts")
    n = wins + losses
    return Fraction(sum(comb(n, i) for i in range(wins, n + 1)), 2**n)


def sign_flip_test(differences: Sequence[Fraction], *, rng: Random, draws: int = 20_000) -> Fraction:
    """Return the share of sign patterns whose sum is at least the observed one (Fisher 1935).

    Counted exactly, meeting in the middle, while the distinct sums of each half stay few: always to 36
    tasks, and far beyond when scores are counts. Otherwise `draws` patterns from `rng`, with the observed
    one counted in (Phipson & Smyth 2010), so that the result is never 0.
    """
    values = [value for value in differences if value]
    scale = lcm(*(value.denominator for value in values))
    units = [int(value * scale) for value in values]
    observed = sum(units)
    left, right = _sums(units[::2]), _sums(units[1::2])
    if left is None or right is None:
        return _drawn(units, observed, rng, draws)
    ordered = sorted(right)
    # below[i] patterns of the right half have one of the i smallest sums.
    below = [0, *accumulate(right[total] for total in ordered)]
    hits = sum(
        ways * (below[-1] - below[bisect_left(ordered, observed - total)]) for total, ways in left.items()
    )
    return Fraction(hits, 2 ** len(units))


def spent(alpha: float, night: int) -> float:
    """Return the level for the `night`-th look (from 1): alpha / (night (night + 1)), which sums to alpha."""
    if night < 1:
        raise ValueError("nights are counted from 1")
    return alpha / (night * (night + 1))


def _sums(units: Sequence[int]) -> dict[int, int] | None:
    """Count sign patterns by their sum; None when there are too many distinct sums."""
    ways = {0: 1}
    for unit in units:
        longer: dict[int, int] = {}
        for total, number in ways.items():
            longer[total + unit] = longer.get(total + unit, 0) + number
            longer[total - unit] = longer.get(total - unit, 0) + number
        if len(longer) > _MOST_SUMS:
            return None
        ways = longer
    return ways


def _drawn(units: Sequence[int], observed: int, rng: Random, draws: int) -> Fraction:
    everything = sum(units)
    hits = 1
    for _ in range(draws):
        flips = rng.getrandbits(len(units))
        flipped = sum(unit for place, unit in enumerate(units) if flips >> place & 1)
        hits += everything - 2 * flipped >= observed
    return Fraction(hits, draws + 1)
