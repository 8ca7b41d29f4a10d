"""The learning rate follows the published formulas, and 0 means no edit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.training.modes import read_control, read_schedule, read_update_mode
from skillopt_sleep.training.schedules import LearningRate, decide_rate


def rates(count, **more):
    rate = LearningRate(steps=count, **more)
    return [rate.at(step) for step in range(1, count + 1)]


@pytest.mark.parametrize(
    ("schedule", "steps", "expected"),
    [
        ("constant", 4, [4, 4, 4, 4]),
        ("linear", 4, [4, 3, 2, 2]),
        ("cosine", 4, [4, 3, 2, 2]),
        ("cosine", 8, [4, 4, 3, 3, 3, 2, 2, 2]),
        ("linear", 8, [4, 4, 3, 3, 3, 2, 2, 2]),
        ("cosine", 12, [4] * 4 + [3] * 3 + [2] * 5),
        ("linear", 12, [4] * 3 + [3] * 5 + [2] * 4),
        ("cosine", 40, [4] * 13 + [3] * 13 + [2] * 14),
        ("linear", 40, [4] * 10 + [3] * 19 + [2] * 11),
        ("autonomous", 3, [None] * 3),
        ("cosine", 1, [4]),
        ("linear", 1, [4]),
    ],
)
def test_the_published_sequences_come_out(schedule, steps, expected):
    assert rates(steps, schedule=schedule) == expected


def test_a_step_past_the_last_has_the_last_rate():
    assert LearningRate(steps=4).at(9) == 2
    with pytest.raises(ValueError, match="counted from 1"):
        LearningRate().at(0)


def test_a_minimum_above_the_maximum_raises_nothing():
    assert rates(4, maximum=1, minimum=2, schedule="linear") == [1, 1, 1, 1]


def test_zero_lets_nothing_through_in_any_mode():
    for schedule in ("constant", "linear", "cosine", "autonomous"):
        for control in ("fixed", "autonomous", "none"):
            assert rates(3, maximum=0, schedule=schedule, control=control, warmup=1) == [0, 0, 0]


def test_warm_up_rises_to_the_maximum_and_the_schedule_runs_over_what_is_left():
    assert rates(7, maximum=8, warmup=3) == [2, 4, 6, *rates(4, maximum=8)]
    assert rates(3, maximum=4, schedule="constant", warmup=1) == [2, 4, 4]
    assert rates(2, maximum=1, warmup=2) == [1, 1]


def test_without_control_there_is_no_cap_and_the_optimizer_is_held_to_the_maximum():
    assert rates(2, control="none") == [None, None]
    assert rates(3, control="autonomous", schedule="cosine") == [4, 4, 4]


@pytest.mark.parametrize("figures", [{"maximum": -1}, {"steps": 0}, {"warmup": -1}, {"maximum": 1.5}])
def test_figures_that_make_no_sense_are_refused(figures):
    with pytest.raises(ValueError, match="learning rate"):
        LearningRate(**figures)


@given(
    st.integers(1, 50),
    st.integers(0, 50),
    st.integers(1, 200),
    st.integers(0, 50),
    st.sampled_from(["constant", "linear", "cosine"]),
)
def test_the_rate_stays_within_its_bounds_and_never_rises_after_the_warm_up(high, low, steps, warmup, name):
    found = rates(steps, maximum=high, minimum=low, warmup=warmup, schedule=name)
    assert all(0 <= rate <= high for rate in found)
    assert all(rate >= 1 for rate in found[:warmup])
    rest = found[warmup:]
    assert rest == sorted(rest, reverse=True)
    assert all(rate >= min(low, high) for rate in rest)


@pytest.mark.parametrize(
    ("value", "rate", "clamped", "fallback"),
    [
        (2, 2, False, False),
        (0, 0, False, False),
        ("3", 3, False, False),
        (2.0, 2, False, False),
        (9, 4, True, False),
        (None, 4, False, True),
        (True, 4, False, True),
        (-1, 4, False, True),
        (1.5, 4, False, True),
        ("many", 4, False, True),
        (float("inf"), 4, False, True),
        ([1], 4, False, True),
    ],
)
def test_the_optimizers_rate_is_read_and_what_cannot_be_read_is_said(value, rate, clamped, fallback):
    decision = decide_rate({"learning_rate": value, "reasoning": " small "}, available=7, cap=4)
    assert (decision.learning_rate, decision.clamped, decision.fallback) == (rate, clamped, fallback)
    assert bool(decision.problem) == fallback
    assert decision.reasoning == "small"


def test_no_more_edits_are_asked_for_than_there_are():
    decision = decide_rate(
        {"learning_rate": 5, "confidence": 0.5, "risk_notes": ["long"]}, available=2, cap=None
    )
    assert (decision.learning_rate, decision.asked, decision.available) == (2, 5, 2)
    assert (decision.clamped, decision.confidence, decision.risk_notes) == (True, 0.5, ("long",))


def test_aliases_are_read_and_unknown_names_are_errors_with_the_nearest_one():
    assert [read_control(name) for name in ("manual", "scheduled", "AUTO", "optimizer", "off", "no-lr")] == [
        "fixed", "fixed", "autonomous", "autonomous", "none", "none",
    ]  # fmt: skip
    assert read_update_mode("full_rewrite") == "full_rewrite_minibatch"
    assert read_update_mode("rewrite") == "rewrite_from_suggestions"
    assert read_schedule("Linear") == "linear"
    with pytest.raises(ValueError, match=r"lr_scheduler is 'cosin'.*did you mean cosine"):
        read_schedule("cosin")
    with pytest.raises(ValueError, match="skill_update_mode"):
        read_update_mode("pach")
