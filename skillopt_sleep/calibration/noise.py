"""The noise floor: how much tasks run twice with the same skill differ from themselves. Numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import stdev

import msgspec

from skillopt_gate.pairs import compare
from skillopt_gate.verdicts import Pair
from skillopt_sleep.noise import Flips


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """See `skillopt_sleep.noise.Calibration` for what the numbers are."""

    tasks: int
    lost: int
    effect: float
    error: float
    differing: float
    flips: tuple[Flips, ...]


def measure_floor(pairs: Sequence[Pair]) -> Floor:
    """Return the floor of pairs whose two sides are the same skill; tasks without runs of both are lost."""
    differences, missing = compare(pairs)
    values = [float(one.value) for one in differences]
    complete = {one.task for one in differences}
    return Floor(
        tasks=len(values),
        lost=len(missing),
        effect=sum(values) / len(values) if values else 0.0,
        error=stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0,
        differing=sum(value != 0 for value in values) / len(values) if values else 0.0,
        flips=tuple(_flip(pair) for pair in pairs if pair.task in complete),
    )


def _flip(pair: Pair) -> Flips:
    runs = (*pair.incumbent, *pair.candidate)
    differing = sum(one != other for at, one in enumerate(runs) for other in runs[:at])
    return Flips(
        task=pair.task,
        passed=sum(runs) / len(runs),
        runs=len(runs),
        rate=differing / (len(runs) * (len(runs) - 1) / 2),
    )
