"""Dearer or slower runs, told from noise."""

from __future__ import annotations

from random import Random

import pytest

from skillopt_gate.costs import FEWEST, find_excess, measure_rise, rises
from skillopt_gate.decide import judge
from skillopt_gate.verdicts import Decision, Pair, Policy


def with_costs(task, before, after, *, seconds=(1.0, 1.0)):
    return Pair(
        task=task,
        incumbent=(0.0,),
        candidate=(1.0,),
        incumbent_usd=(before,),
        candidate_usd=(after,),
        incumbent_seconds=(seconds[0],),
        candidate_seconds=(seconds[1],),
    )


def test_a_candidate_that_triples_the_cost_is_rejected_however_good():
    pairs = [with_costs(f"t{at}", 0.1, 0.3) for at in range(10)]
    verdict, _ = judge(pairs, None, Policy(), identity="x")
    assert verdict.decision is Decision.REJECT
    assert "costs 3.0 times as much over 10 tasks, 2 times allowed" in verdict.reason
    assert verdict.cost.ratio == pytest.approx(3.0)
    allowed, _ = judge(pairs, None, Policy(max_cost_ratio=0), identity="x")
    assert allowed.decision is Decision.ACCEPT


def test_a_candidate_that_takes_far_longer_is_rejected_too():
    pairs = [with_costs(f"t{at}", 0.1, 0.1, seconds=(2.0, 9.0)) for at in range(8)]
    verdict, _ = judge(pairs, None, Policy(), identity="x")
    assert verdict.decision is Decision.REJECT
    assert "takes 4.5 times as long" in verdict.reason


def test_one_dear_run_is_noise():
    pairs = [with_costs(f"t{at}", 0.1, 0.1) for at in range(9)] + [with_costs("dear", 0.01, 100.0)]
    cost, time = rises(pairs)
    assert cost.ratio > 2
    assert find_excess(cost, time, Policy()) == ()


def test_noise_of_a_factor_of_two_hardly_ever_vetoes():
    rng = Random(11)
    vetoed = 0
    for _ in range(300):
        before = [[rng.lognormvariate(0, 0.7)] for _ in range(14)]
        after = [[rng.lognormvariate(0, 0.7)] for _ in range(14)]
        rise = measure_rise(before, after)
        vetoed += bool(find_excess(rise, rise, Policy(max_cost_ratio=1.5, max_time_ratio=1.5)))
    assert vetoed / 300 < 0.05


def test_too_few_tasks_and_unknown_costs_say_nothing():
    few = measure_rise([[1.0]] * (FEWEST - 1), [[9.0]] * (FEWEST - 1))
    assert find_excess(few, few, Policy()) == ()
    unknown = measure_rise([[], [0.0], [1.0]], [[1.0], [1.0], [0.0]])
    assert (unknown.ratio, unknown.tasks) == (1.0, 0)


def test_ratios_below_one_are_refused_as_a_bound():
    with pytest.raises(ValueError, match="must be at least 1"):
        Policy(max_cost_ratio=0.5)


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), -1.0, 0.0])
def test_a_cost_that_is_no_price_says_nothing_and_breaks_nothing(odd):
    pairs = [with_costs(f"t{at}", 0.1, 0.1, seconds=(1.0, odd)) for at in range(9)]
    pairs.append(with_costs("odd", odd, 0.1))
    cost, time = rises(pairs)
    assert (cost.tasks, cost.ratio) == (9, pytest.approx(1.0))
    assert time.tasks == 1
    assert judge(pairs, None, Policy(), identity="x")[0].decision is Decision.ACCEPT


def test_ratios_of_any_size_stay_numbers():
    assert measure_rise([[1e-320]], [[1e308]]).ratio > 1e200


@pytest.mark.parametrize(
    "bad",
    [
        {"min_effect": float("nan")},
        {"min_effect": -0.1},
        {"coverage": 1.5},
        {"pass_mark": float("nan")},
        {"max_error_gap": -1.0},
        {"alpha": float("nan")},
        {"futility": float("nan")},
        {"margin": float("nan")},
        {"max_cost_ratio": float("nan")},
        {"max_time_ratio": float("inf")},
        {"min_tasks": -1},
        {"max_nights": 0},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match=r"gate|ratio"):
        Policy(**bad)
