"""Small drawings of numbers that read without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence


def draw_interval(effect: float, interval: tuple[float, float], width: int) -> str:
    """Return a scale from -1 to +1 of `width` (odd) cells with the interval, its mean and the zero.

    Looks like `────┼──├─●──┤────`; just the scale when a number is not finite.
    """
    cells = ["─"] * width
    zero = width // 2
    cells[zero] = "┼"
    low, high = interval
    if all(math.isfinite(value) for value in (effect, low, high)):
        left, middle, right = (_place(value, width) for value in (low, effect, high))
        for index in range(left, right + 1):
            cells[index] = "═" if index != zero else "╪"
        cells[left], cells[right] = "╞", "╡"
        cells[middle] = "●"
    return "".join(cells)


def draw_tallies(wins: int, losses: int, ties: int, width: int) -> tuple[str, str, str]:
    """Return a mark per task (▲ better, ▼ worse, · same), scaled down to at most `width` in all."""
    counts = (wins, losses, ties)
    total = sum(counts)
    scale = min(1.0, width / total) if total else 1.0
    # What happened at least once is always seen.
    lengths = [max(1, round(number * scale)) if number else 0 for number in counts]
    return "▲" * lengths[0], "▼" * lengths[1], "·" * lengths[2]


def draw_growth(values: Sequence[float], needed: float, width: int) -> list[str]:
    """Return a bar per e-value on a logarithmic scale, each with a mark where `needed` lies.

    The scale runs from 0.1 to whichever is larger, three times `needed` or the largest value; a bar that
    reaches past the mark has won.
    """
    finite = [value for value in values if math.isfinite(value)]
    top = max([needed * 3, *finite])
    mark = _log_place(needed, top, width)
    bars = []
    for value in values:
        length = _log_place(value, top, width) if not math.isnan(value) else 0
        cells = ["━" if index < length else " " for index in range(width)]
        cells[mark] = "╋" if value >= needed else "┆"
        bars.append("".join(cells))
    return bars


def _place(value: float, width: int) -> int:
    return max(0, min(width - 1, round((value + 1) / 2 * (width - 1))))


def _log_place(value: float, top: float, width: int) -> int:
    floor = 0.1
    lowest = math.log(floor)
    share = (math.log(max(min(value, top), floor)) - lowest) / (math.log(max(top, 1)) - lowest)
    return max(0, min(width - 1, round(share * (width - 1))))
