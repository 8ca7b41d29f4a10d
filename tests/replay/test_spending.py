"""A run may call its model again until it has used up what it may."""

from __future__ import annotations

import pytest

from skillopt_replay.agents.spending import find_excess
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Usage


@pytest.mark.parametrize(
    ("limits", "usage", "turns", "words"),
    [
        (Limits(turns=3), Usage(), 2, None),
        (Limits(turns=3), Usage(), 3, "3 turns"),
        (Limits(tokens=100), Usage(50, 20, 29), 1, None),
        (Limits(tokens=100), Usage(50, 20, 20, 10), 1, "100 tokens"),
        (Limits(tokens=None), Usage(10**9), 1, None),
        (Limits(usd=0.5), Usage(cost_usd=0.4999), 1, None),
        (Limits(usd=0.5), Usage(cost_usd=0.5), 1, "$0.5000"),
        (Limits(usd=0.5), Usage(10**9, cost_usd=None), 1, None),
        (Limits(usd=None), Usage(cost_usd=10.0), 1, None),
    ],
)
def test_each_limit_holds_by_itself(limits, usage, turns, words):
    excess = find_excess(limits, usage, turns)
    assert (excess is None) == (words is None)
    assert (words or "") in (excess or "")
