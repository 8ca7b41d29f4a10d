"""The betting evidence: fair under an identical skill, quick under a better one, and counted once."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log1p
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.eprocess import STAKES, bet, carry, start, wealth
from skillopt_gate.pairs import Difference

values = st.fractions(min_value=-1, max_value=1, max_denominator=10)


def as_differences(numbers, night=0):
    return [Difference(f"{night}/{place}", Fraction(number), 1) for place, number in enumerate(numbers)]


def wealth_of(*numbers):
    return wealth(bet(start("x"), as_differences(numbers))[0])


@given(st.lists(values, max_size=40))
def test_wealth_is_the_mean_of_products_and_never_negative(numbers):
    expected = 0.0
    for stake in STAKES:
        product = 1.0
        for number in numbers:
            product *= 1 + stake * float(number)
        expected += product / len(STAKES)
    assert wealth_of(*numbers) == pytest.approx(expected, rel=1e-9)
    assert wealth_of(*numbers) > 0


@given(values)
def test_a_fair_task_leaves_the_expected_wealth_at_one(number):
    assert (wealth_of(number) + wealth_of(-number)) / 2 == pytest.approx(1)


@given(st.lists(values, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(numbers, random):
    differences = as_differences(numbers)
    shuffled = list(differences)
    random.shuffle(shuffled)
    assert bet(start("x"), differences) == bet(start("x"), shuffled)


@given(st.lists(values, max_size=20), st.integers(min_value=0, max_value=20))
def test_two_nights_weigh_as_much_as_one_with_all_their_tasks(numbers, cut):
    differences = as_differences(numbers)
    first, _ = bet(start("x"), differences[:cut])
    second, skipped = bet(first, differences[cut:])
    at_once, _ = bet(start("x"), differences)
    assert skipped == ()
    assert second.log_wealth == pytest.approx(at_once.log_wealth, abs=1e-12)
    assert (second.wins, second.losses, second.ties) == (at_once.wins, at_once.losses, at_once.ties)
    assert second.effect == pytest.approx(at_once.effect)


def test_a_clean_sweep_of_seven_convinces_at_five_percent_and_of_five_at_ten():
    assert wealth_of(*[1] * 6) < 20 <= wealth_of(*[1] * 7)
    assert wealth_of(*[1] * 4) < 10 <= wealth_of(*[1] * 5)


def test_a_task_seen_before_is_not_counted_again():
    first, _ = bet(start("x"), as_differences([1, 1, -1]))
    again, skipped = bet(first, as_differences([1, 1, 1]))
    assert again == first
    assert skipped == ("0/0", "0/1", "0/2")


def test_a_task_that_comes_twice_in_one_night_is_counted_once():
    evidence, skipped = bet(start("x"), as_differences([1]) * 3)
    assert evidence.tasks == 1
    assert skipped == ("0/0", "0/0")


def test_evidence_starts_anew_when_target_or_judge_changes():
    evidence, _ = bet(start("agent 1"), as_differences([1] * 7))
    assert carry(evidence, "agent 1") is evidence
    renewed = carry(evidence, "agent 2")
    assert wealth(renewed) == pytest.approx(1)
    assert renewed.seen == ()
    assert renewed.nights == renewed.tasks == 0


def test_evidence_kept_under_another_grid_of_stakes_is_not_carried_on():
    old = msgspec.structs.replace(start("x"), log_wealth=(1.0, 2.0), nights=3)
    assert carry(old, "x") == start("x")


def test_evidence_for_another_hypothesis_is_not_carried_on():
    evidence, _ = bet(start("x", margin=0.1), as_differences([0] * 9))
    assert carry(evidence, "x", margin=0.1) is evidence
    assert carry(evidence, "x") == start("x")


def test_evidence_survives_json():
    evidence, _ = bet(start("x"), as_differences([1, Fraction(-1, 3), 0]))
    assert msgspec.json.decode(msgspec.json.encode(evidence), type=type(evidence)) == evidence


def test_thousands_of_wins_or_losses_stay_finite():
    assert 1e299 < wealth_of(*[1] * 5000) < float("inf")
    assert 0 < wealth_of(*[-1] * 20000) < 1e-299


def test_ties_leave_wealth_at_one():
    assert wealth_of(*[0] * 50) == pytest.approx(1)


def test_with_a_margin_ties_speak_for_the_candidate_and_a_loss_of_the_margin_does_not():
    evidence, _ = bet(start("x", margin=0.1), as_differences([0] * 60))
    assert wealth(evidence) > 20
    assert evidence.effect == 0
    lost, _ = bet(start("x", margin=0.1), as_differences([Fraction(-1, 10)] * 60))
    assert wealth(lost) == pytest.approx(1)


def test_identical_skills_are_accepted_within_alpha_over_ten_nights_and_the_strict_rule_is_not():
    rng = Random("a/a")
    repeats, alpha, runs = 400, 0.1, 3
    rows = {
        d: [log1p(stake * d / runs) for stake in STAKES] for d in range(-runs, runs + 1)
    }  # the simulation's own arithmetic, checked against the gate's at the end
    ours = strict = 0
    for _ in range(repeats):
        logs = [0.0] * len(STAKES)
        numbers: list[Fraction] = []
        crossed = fooled = False
        for _night in range(10):
            tonight = 0
            for _task in range(14):
                p = rng.betavariate(0.5, 0.5)
                d = sum((rng.random() < p) - (rng.random() < p) for _ in range(runs))
                tonight += d
                numbers.append(Fraction(d, runs))
                logs = [a + b for a, b in zip(logs, rows[d], strict=True)]
                crossed = crossed or sum(map(exp, logs)) / len(STAKES) >= 1 / alpha  # read after every task
            fooled = fooled or tonight > 0
        ours += crossed
        strict += fooled
    assert wealth_of(*numbers) == pytest.approx(sum(map(exp, logs)) / len(STAKES))
    assert ours / repeats <= alpha + 3 * (alpha * (1 - alpha) / repeats) ** 0.5
    assert ours > 0, "a bound that is never touched would also hold for a gate that accepts nothing"
    assert strict / repeats > 0.95


def test_a_real_gain_on_past_failures_convinces_within_five_nights():
    rng = Random("power")
    convinced = 0
    for _ in range(100):
        evidence = start("x")
        for night in range(5):
            numbers = []
            for _task in range(14):
                p = rng.betavariate(0.5, 1.5)
                q = max(p, 0.9) if rng.random() < 0.25 else p
                numbers.append(Fraction(sum((rng.random() < q) - (rng.random() < p) for _ in range(3)), 3))
            evidence, _ = bet(evidence, as_differences(numbers, night))
            if wealth(evidence) >= 20:
                convinced += 1
                break
    assert convinced >= 65
