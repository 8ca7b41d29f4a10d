"""Judges on trial."""

from __future__ import annotations

import pytest

from skillopt_gate.judges import Trial, assess


def sound(task):
    return Trial(task=task, good=0.9, bad=0.2, empty=0.0, constant=0.1, copied=0.1)


def test_a_judge_that_tells_good_from_bad_and_gives_nothing_for_nothing_may_count():
    report = assess([sound(f"t{at}") for at in range(8)])
    assert report.usable
    assert (report.right, report.wrong, report.ties, report.reasons) == (8, 0, 0, ())


def test_a_judge_that_guesses_is_not_usable():
    trials = [sound(f"t{at}") for at in range(4)]
    trials += [Trial(task=f"u{at}", good=0.2, bad=0.9, empty=0.0) for at in range(4)]
    report = assess(trials)
    assert not report.usable
    assert "good from bad in 4 of 8 tasks" in report.reasons[0]


def test_a_judge_that_likes_everything_is_not_usable():
    report = assess([Trial(task=f"t{at}", good=1.0, bad=0.9, empty=0.8, copied=0.9) for at in range(8)])
    assert not report.usable
    assert report.reasons == ("it gives 0.80 to empty answers", "it gives 0.90 to copied answers")
    assert report.for_nothing == ("copied", pytest.approx(0.9))


def test_a_judge_that_follows_the_order_is_not_usable():
    trials = [
        Trial(task=f"t{at}", prefers_good=True, prefers_good_swapped=at % 2 == 0, empty=0.0)
        for at in range(16)
    ]
    report = assess(trials)
    assert (report.right, report.ties, report.flips) == (8, 8, 0.5)
    assert "follows the order of the answers in 50% of pairs" in report.reasons[0]


def test_too_little_tried_is_not_usable_either():
    assert assess([]).reasons == (
        "no known good and bad answers were compared",
        "worthless answers were not tried",
    )
    assert not assess([sound("a"), sound("b")]).usable


def test_scores_outside_the_scale_are_refused():
    for score in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            Trial(task="a", good=score)
