"""What the gate makes of candidates that change nothing, drawn from runs that were measured."""

from __future__ import annotations

import pytest

from skillopt_gate.verdicts import Pair, Policy
from skillopt_sleep.calibration.lives import estimate, live
from skillopt_sleep.calibration.noise import measure_floor
from skillopt_sleep.noise import Calibration, Rate, say_noise

NOISY = [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (1.0, 0.0)]


def test_tasks_that_never_differ_are_no_noise_and_nothing_passes():
    pairs = [Pair(task=f"t{n}", incumbent=(n % 2,), candidate=(n % 2,)) for n in range(6)]
    floor = measure_floor(pairs)
    assert (floor.tasks, floor.effect, floor.error, floor.differing) == (6, 0.0, 0.0, 0.0)
    assert {one.rate for one in floor.flips} == {0.0}
    lives = live([(0.0, 0.0), (1.0, 1.0)], Policy(), repeats=1, tasks=8, nights=5, lives=50, seed=1)
    assert lives.accepts.share == lives.mean_once.share == lives.mean_ever.share == 0.0


def test_the_floor_counts_what_differs_from_itself_and_what_was_lost():
    pairs = [
        Pair(task="steady", incumbent=(1.0, 1.0), candidate=(1.0, 1.0)),
        Pair(task="flips", incumbent=(1.0, 0.0), candidate=(0.0, 0.0)),
        Pair(task="lost", incumbent=(1.0,), candidate=()),
    ]
    floor = measure_floor(pairs)
    assert (floor.tasks, floor.lost, floor.differing, floor.effect) == (2, 1, 0.5, -0.25)
    assert floor.error == pytest.approx(0.25)
    assert [(one.task, one.passed, one.rate) for one in floor.flips] == [
        ("steady", 1.0, 0.0),
        ("flips", 0.25, 0.5),
    ]


def test_on_noisy_tasks_the_gate_lets_few_pass_and_the_higher_mean_lets_many():
    lives = live(NOISY, Policy(), repeats=1, tasks=12, nights=10, lives=200, seed=3)
    assert lives.accepts.share <= 0.05
    assert lives.mean_once.share > 0.25
    assert lives.mean_ever.share > 0.9
    assert lives == live(NOISY, Policy(), repeats=1, tasks=12, nights=10, lives=200, seed=3)


def test_a_mode_of_means_is_told_to_pass_as_often_as_the_higher_mean():
    lives = live(NOISY, Policy(mode="strict"), repeats=1, tasks=12, nights=1, lives=200, seed=3)
    assert lives.accepts == lives.mean_once


def test_without_a_measured_task_there_is_nothing_to_draw_from():
    with pytest.raises(ValueError, match="no task was measured"):
        live([], Policy(), repeats=1, tasks=12, nights=1, lives=2, seed=3)


def test_the_interval_of_a_share_holds_it_and_shrinks_with_more_lives():
    few, many = estimate(2, 40), estimate(50, 1000)
    assert few.low < few.share == many.share == 0.05 < few.high
    assert many.high - many.low < few.high - few.low
    assert estimate(0, 0) == Rate(share=0.0, low=0.0, high=1.0)


def test_the_line_beside_a_verdict_says_when_it_was_measured_with_another_model():
    rate = Rate(share=0.02, low=0.01, high=0.03)
    calibration = Calibration(
        id="c",
        at="2026-01-02T03:04:05Z",
        identity="agent [old]",
        skills=("s",),
        mode="evidence",
        alpha=0.05,
        tasks=10,
        lost=0,
        repeats=1,
        effect=0.0,
        error=0.1234,
        differing=0.3,
        flips=(),
        lives=1000,
        nights=10,
        tasks_a_night=10,
        accepts=rate,
        mean_once=rate,
        mean_ever=rate,
    )
    assert say_noise(None, "agent [old]") == ""
    same = say_noise(calibration, "agent [old]")
    assert "0.123" in same
    assert "30% of tasks" in same
    assert "2.0 % (1.0 to 3.0)" in same
    assert "anew" not in same
    assert "measured with agent [old], so calibrate anew" in say_noise(calibration, "agent [new]")
