"""The exact tests against brute force, scipy and known tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate import exact
from skillopt_gate.exact import sign_flip_test, sign_test, spent

fractions = st.fractions(min_value=-1, max_value=1, max_denominator=12)


def by_enumeration(values: list[Fraction]) -> Fraction:
    observed = sum(values)
    patterns = list(product((1, -1), repeat=len(values)))
    hits = sum(
        sum(sign * value for sign, value in zip(signs, values, strict=True)) >= observed for signs in patterns
    )
    return Fraction(hits, len(patterns))


@given(st.lists(fractions, max_size=10))
def test_sign_flip_equals_enumeration_of_every_pattern(values):
    assert sign_flip_test(values, rng=Random(0)) == by_enumeration(values)


def test_sign_flip_equals_enumeration_for_twelve_tasks():
    rng = Random(12)
    for _ in range(3):
        values = [Fraction(rng.randint(-6, 6), 6) for _ in range(12)]
        assert sign_flip_test(values, rng=rng) == by_enumeration(values)


@pytest.mark.parametrize("n", range(13))
def test_sign_test_equals_enumeration_of_every_outcome(n):
    outcomes = [sum(outcome) for outcome in product((0, 1), repeat=n)]
    for wins in range(n + 1):
        expected = Fraction(sum(total >= wins for total in outcomes), len(outcomes))
        assert sign_test(wins, n - wins) == expected


def test_sign_test_needs_the_known_number_of_wins_at_five_percent():
    needed = {5: 5, 6: 6, 7: 7, 8: 7, 9: 8, 10: 9, 11: 9, 12: 10, 13: 10, 14: 11, 15: 12, 20: 15}
    for n, least in needed.items():
        assert sign_test(least, n - least) <= Fraction(1, 20) < sign_test(least - 1, n - least + 1)


def test_four_discordant_tasks_can_never_reach_five_percent():
    assert sign_test(4, 0) == Fraction(1, 16)


@given(st.lists(st.sampled_from([Fraction(-1), Fraction(0), Fraction(1)]), max_size=60))
def test_sign_flip_of_pass_and_fail_is_the_sign_test_on_discordant_tasks(values):
    wins, losses = values.count(Fraction(1)), values.count(Fraction(-1))
    assert sign_flip_test(values, rng=Random(0)) == sign_test(wins, losses)


def test_sign_test_agrees_with_scipy_on_large_counts():
    from scipy.stats import binomtest

    for wins, losses in ((30, 20), (3, 50), (120, 90)):
        expected = binomtest(wins, wins + losses, 0.5, alternative="greater").pvalue
        assert float(sign_test(wins, losses)) == pytest.approx(expected, rel=1e-9)


def test_sign_flip_agrees_with_scipy():
    import numpy
    from scipy.stats import permutation_test

    values = [Fraction(unit, 4) for unit in (4, 3, -1, 2, -2, 1, 1, -3, 4, 2)]
    expected = permutation_test(
        (numpy.array([float(value) for value in values]),),
        numpy.sum,
        permutation_type="samples",
        alternative="greater",
        n_resamples=numpy.inf,
    ).pvalue
    assert float(sign_flip_test(values, rng=Random(0))) == pytest.approx(expected, abs=1e-12)


def test_sixty_tasks_with_three_runs_are_counted_and_not_drawn():
    rng = Random(60)
    values = [Fraction(rng.randint(-3, 3), 3) for _ in range(60)]
    state = rng.getstate()
    sign_flip_test(values, rng=rng)
    assert rng.getstate() == state


def test_what_is_too_much_to_count_is_drawn_close_to_the_exact_value(monkeypatch):
    values = [Fraction(unit, 97) for unit in (90, 71, -13, 41, -29, 57, 5, -61, 83, 19)]
    counted = sign_flip_test(values, rng=Random(1))
    monkeypatch.setattr(exact, "_MOST_SUMS", 4)
    drawn = sign_flip_test(values, rng=Random(1))
    assert drawn != counted
    assert abs(drawn - counted) < 0.01
    assert sign_flip_test(values, rng=Random(1)) == drawn


def test_drawn_patterns_that_tie_with_the_observed_one_count(monkeypatch):
    monkeypatch.setattr(exact, "_MOST_SUMS", 1)
    assert sign_flip_test([Fraction(1, 2)] * 3, rng=Random(1)) == pytest.approx(1 / 8, abs=0.02)


def test_a_drawn_p_value_is_never_zero(monkeypatch):
    monkeypatch.setattr(exact, "_MOST_SUMS", 4)
    assert sign_flip_test([Fraction(1)] * 60 + [Fraction(1, 7)] * 9, rng=Random(1), draws=99) == Fraction(
        1, 100
    )


def test_nothing_and_ties_give_no_evidence():
    assert sign_flip_test([], rng=Random(0)) == 1
    assert sign_flip_test([Fraction(0)] * 9, rng=Random(0)) == 1
    assert sign_test(0, 0) == 1


def test_equal_sums_in_floats_that_differ_do_not_decide():
    # 0.1 + 0.2 exceeds 0.3 in floats; here the pattern that ties with the observed sum is counted.
    values = [Fraction(1, 10), Fraction(2, 10), Fraction(-3, 10)]
    assert sign_flip_test(values, rng=Random(0)) == by_enumeration(values) == Fraction(5, 8)


def test_levels_spent_over_nights_sum_to_alpha_at_most():
    assert spent(0.05, 1) == pytest.approx(0.025)
    assert sum(spent(0.05, night) for night in range(1, 2000)) < 0.05
    with pytest.raises(ValueError, match="counted from 1"):
        spent(0.05, 0)
