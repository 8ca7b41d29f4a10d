"""The interval for display."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.interval import WHOLE, bootstrap_interval

values = st.lists(st.fractions(min_value=-1, max_value=1, max_denominator=9), min_size=1, max_size=25)


@given(values)
def test_it_lies_within_the_scores_range_and_is_ordered(numbers):
    low, high = bootstrap_interval(numbers, rng=Random(1), draws=200)
    assert -1 <= low <= high <= 1


@given(values)
def test_the_same_seed_gives_the_same_interval_in_any_order(numbers):
    there = bootstrap_interval(numbers, rng=Random(1), draws=200)
    assert bootstrap_interval(numbers[::-1], rng=Random(1), draws=200) == there


def test_it_agrees_with_scipys_bca():
    import numpy
    from scipy.stats import bootstrap

    # One large gain among small ones: there the corrections for bias and skewness matter.
    numbers = [Fraction(unit, 100) for unit in (97, 3, 1, 7, 11, 5, 2, 13, 4, 9, -6, 8)]
    ours = bootstrap_interval(numbers, rng=Random(1), draws=20_000)
    theirs = bootstrap(
        (numpy.array([float(number) for number in numbers]),),
        numpy.mean,
        n_resamples=20_000,
        method="BCa",
        rng=numpy.random.default_rng(1),
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_one_task_leaves_almost_everything_open():
    low, high = bootstrap_interval([Fraction(1)], rng=Random(1))
    assert low < -0.9
    assert high == 1


def test_equal_differences_still_leave_room_that_shrinks_with_tasks():
    few = bootstrap_interval([Fraction(0)] * 5, rng=Random(1))
    many = bootstrap_interval([Fraction(0)] * 50, rng=Random(1))
    assert few[0] == pytest.approx(-few[1])
    assert 0 < many[1] < few[1] < 1
    assert many[1] == pytest.approx(1 - 0.025 ** (1 / 50))


def test_of_scores_the_room_left_open_is_that_of_scores():
    twelve = [Fraction(1)] * 12
    low, high = bootstrap_interval(twelve, rng=Random(1), within=(0.0, 1.0))
    assert (low, high) == (pytest.approx(0.025 ** (1 / 12)), 1.0)  # as Clopper and Pearson have it
    assert low > bootstrap_interval(twelve, rng=Random(1))[0]


def test_no_task_is_the_whole_range():
    assert bootstrap_interval([], rng=Random(1)) == WHOLE
    assert bootstrap_interval([], rng=Random(1), within=(0.0, 1.0)) == (0.0, 1.0)


def test_scores_without_a_small_common_unit_do_not_overflow():
    numbers = [Fraction(1, 9000 + place) for place in range(1, 300, 7)]
    low, high = bootstrap_interval(numbers, rng=Random(1), draws=200)
    assert 0 < low <= high < 0.001


def test_values_that_differ_by_less_than_can_be_told_count_as_equal():
    there = bootstrap_interval([Fraction(1, 9_999), Fraction(1, 10_000)], rng=Random(1))
    assert there == pytest.approx(bootstrap_interval([Fraction(1, 10_000)] * 2, rng=Random(1)))


def test_it_covers_the_true_mean_most_of_the_time():
    rng = Random("coverage")
    covered = 0
    for _ in range(200):
        numbers = [Fraction(rng.choices((-1, 0, 1), (1, 6, 3))[0]) for _ in range(30)]
        low, high = bootstrap_interval(numbers, rng=rng, draws=400)
        covered += low <= 0.2 <= high
    assert covered >= 176
