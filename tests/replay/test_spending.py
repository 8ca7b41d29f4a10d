"""A run may call its model again until it has used up what it may."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_replay.agents.spending import Meter, count_lost, find_excess, let_grow
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


@pytest.mark.parametrize(
    ("usage", "largest", "lost", "counted"),
    [
        (Usage(100, 10, cost_usd=0.5), Usage(60, 5, cost_usd=0.3), 0, Usage(100, 10, cost_usd=0.5)),
        (Usage(100, 10, cost_usd=0.5), Usage(60, 5, cost_usd=0.3), 2, Usage(220, 20, cost_usd=1.1)),
        (Usage(), Usage(), 1, Usage()),
        (Usage(100, 10), Usage(60, 5), 1, Usage(160, 15)),
        (Usage(100, 10, cost_usd=0.5), Usage(60, 5), 1, Usage(160, 15)),
        (Usage(100, 10), Usage(60, 5, cost_usd=0.3), 1, Usage(160, 15)),
    ],
    ids=["none", "as the largest", "no reply yet", "no price", "a price in all only", "a price of one only"],
)
def test_a_lost_request_counts_as_the_largest_reply_or_leaves_the_cost_unknown(usage, largest, lost, counted):
    found = count_lost(usage, largest, lost)
    assert found == msgspec.structs.replace(counted, cost_usd=found.cost_usd)
    assert found.cost_usd == pytest.approx(counted.cost_usd)


@pytest.mark.parametrize(
    ("largest", "unread", "tokens", "usd"),
    [
        (Usage(60, 40, cost_usd=0.5), 0, 100, 0.5),
        (Usage(60, 40, cost_usd=0.5), 300, 400, 2.0),
        (Usage(60, 40, 900, cost_usd=0.5), 300, 1300, 2.0),
        (Usage(60, 40), 300, 400, None),
        (Usage(60, 40, cost_usd=0.5), 10**9, 5000, 4.0),
        (Usage(60, 40, cost_usd=5.0), 10**9, 5000, 5.0),
        (Usage(), 300, 0, None),
    ],
    ids=["nothing", "text", "none of it cached", "no price", "no end", "dear itself", "no reply yet"],
)
def test_what_a_request_had_to_read_besides_counts_with_it_up_to_what_a_run_may_use(
    largest, unread, tokens, usd
):
    grown = let_grow(largest, unread, Limits(tokens=5000, usd=4.0))
    assert (grown.tokens, grown.cost_usd) == (tokens, usd)


@pytest.mark.parametrize("unpriced", [0, 1, 2])
def test_a_run_some_of_whose_replies_have_no_known_price_has_none_and_its_limit_holds_for_the_others(
    unpriced,
):
    meter = Meter()
    replies = [Usage(10, 5, cost_usd=0.3), Usage(10, 5, cost_usd=0.3), Usage()]
    replies[unpriced] = Usage(900, 50)
    for reply in replies:
        meter.add(reply)
    assert meter.total == msgspec.structs.replace(meter.usage, cost_usd=None)
    assert meter.total.tokens >= 965
    assert find_excess(Limits(usd=0.3), meter.usage) is not None


def test_a_reply_that_took_nothing_needs_no_price():
    meter = Meter()
    meter.add(Usage(10, 5, cost_usd=0.3))
    meter.add(Usage())
    assert meter.total == meter.usage == Usage(10, 5, cost_usd=0.3)


def test_the_largest_of_a_runs_replies_is_kept_whatever_comes_after():
    meter = Meter()
    for reply in (
        Usage(10, 5, cost_usd=0.1),
        Usage(900, 50, cost_usd=0.2),
        Usage(20, 90, cost_usd=0.4),
        Usage(3),
    ):
        meter.add(reply)
    assert (meter.largest.tokens, meter.largest.cost_usd) == (950, 0.4)
