"""Every setting, by section: its kind, its default and what it does.

The descriptions are the documentation: `config show` prints them.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from skillopt_sleep.settings.days import Night, Review, Service
from skillopt_sleep.settings.learning import Gate, Harvest, Mine, Training
from skillopt_sleep.settings.runs import Ceilings, Judge, Optimizer, Replay, Target

__all__ = [
    "Ceilings",
    "Gate",
    "Harvest",
    "Judge",
    "Mine",
    "Night",
    "Optimizer",
    "Replay",
    "Review",
    "Service",
    "Settings",
    "Target",
    "Training",
]

# US dollars per million tokens: input, output, and if need be cache read and cache write.
Prices = dict[
    str,
    Annotated[tuple[Annotated[float, Meta(ge=0)], ...], Meta(min_length=2, max_length=4)],
]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings; a missing key has its default."""

    target: Target = Target()
    optimizer: Optimizer = Optimizer()
    judge: Judge = Judge()
    replay: Replay = Replay()
    ceilings: Ceilings = Ceilings()
    training: Training = Training()
    gate: Gate = Gate()
    mine: Mine = Mine()
    night: Night = Night()
    harvest: Harvest = Harvest()
    service: Service = Service()
    review: Review = Review()
    prices: Prices = {}
