"""An exact sign test of tasks whose number is fixed beforehand: its power and error, computed, not drawn.

Tasks are run once a side, so that each is won, lost or tied. A third are guards that passed their recorded
run (chance of passing Beta(1.5, .5)), the others failed it (Beta(.5, 1.5)); a lifted task passes with at
least .9.
"""

from __future__ import annotations

from array import array
from functools import cache
from math import comb, cos, pi, sin

STEP = 5
MOST = 400
_CELLS = 4000


def chances(lifted: float, *, guard: bool) -> tuple[float, float]:
    """Return the chances that such a task is won and lost when a share of tasks is lifted."""
    a, b = (1.5, 0.5) if guard else (0.5, 1.5)
    whole = won = lost = 0.0
    for cell in range(_CELLS):
        angle = (cell + 0.5) / _CELLS * pi / 2
        weight = sin(angle) ** (2 * a - 1) * cos(angle) ** (2 * b - 1)
        before = sin(angle) ** 2
        after = max(before, 0.9)
        whole += weight
        won += weight * (1 - before) * ((1 - lifted) * before + lifted * after)
        lost += weight * before * ((1 - lifted) * (1 - before) + lifted * (1 - after))
    return won / whole, lost / whole


@cache
def tails(lifted: float) -> dict[int, list[array[float]]]:
    """Return, for each number of tasks, P(d tasks differ, at least w of them are won) as [d][w]."""
    kinds = [chances(lifted, guard=guard) for guard in (False, True)]
    # now[d][w]: the chance of d tasks that differ and w that are won.
    now: list[list[float]] = [[1.0]]
    found = {}
    for n in range(1, MOST + 1):
        won, lost = kinds[(n - 1) % 3 == 2]
        tied = 1 - won - lost
        grown = [[0.0] * (d + 1) for d in range(len(now) + 1)]
        for d, row in enumerate(now):
            same, more = grown[d], grown[d + 1]
            for w, share in enumerate(row):
                if share > 1e-15:
                    same[w] += share * tied
                    more[w] += share * lost
                    more[w + 1] += share * won
        now = grown
        if n % STEP == 0:
            found[n] = [_add_up(row) for row in now]
    return found


def _add_up(row: list[float]) -> array[float]:
    total = 0.0
    sums = []
    for share in reversed(row):
        total += share
        sums.append(total)
    return array("d", reversed(sums))


@cache
def needed(d: int, level: float) -> int:
    """Return how many of d tasks that differ must be won; d + 1 when not even all suffice."""
    total = 0
    for w in range(d, -1, -1):
        total += comb(d, w)
        if total > level * 2**d:
            return w + 1
    return 0


def power(n: int, lifted: float, level: float) -> float:
    """Return the chance that the test of n tasks accepts at this level."""
    return sum(row[w] for d, row in enumerate(tails(lifted)[n]) if (w := needed(d, level)) <= d)


def smallest(level: float, wanted: float, *, lifted: float = 0.25, attain: bool = False) -> int:
    """Return the fewest tasks with which the test reaches the power `wanted`.

    With `attain` the level is raised until the test really makes an error of `level`: as its outcomes are
    discrete, it would make less.
    """
    low, high = 1, MOST // STEP
    while low < high:
        middle = (low + high) // 2
        n = middle * STEP
        used = raise_level(n, level) if attain else level
        if power(n, lifted, used) >= wanted:
            high = middle
        else:
            low = middle + 1
    return low * STEP


@cache
def raise_level(n: int, error: float) -> float:
    """Return the highest nominal level at which the test of n tasks errs no more often than `error`."""
    low, high = error, min(0.5, 4 * error)
    for _ in range(12):
        middle = (low + high) / 2
        if power(n, 0.0, round(middle, 6)) <= error:
            low = middle
        else:
            high = middle
    return round(low, 6)
