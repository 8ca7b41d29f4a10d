"""Lost runs and broken tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.verdicts import Pair, Policy
from skillopt_gate.vetoes import RECHECK_RUNS, broken, lost_runs, suspects

POLICY = Policy()


def pair(task, incumbent, candidate, **more):
    return Pair(task=task, incumbent=tuple(incumbent), candidate=tuple(candidate), **more)


def complete(number):
    return [pair(f"t{at}", [1], [1]) for at in range(number)]


def test_nothing_lost_is_fine():
    assert lost_runs(complete(5), POLICY) is None


def test_no_pair_at_all_is_said():
    assert lost_runs([], POLICY) == "no held-out task was run"


def test_six_of_ten_complete_pairs_are_enough_and_five_are_not():
    gone = [pair(f"gone{at}", [], [], runs=1) for at in range(5)]
    assert lost_runs(complete(6) + gone[:4], POLICY) is None
    assert lost_runs(complete(5) + gone, POLICY) == "only 5 of 10 held-out tasks ran with both skills"


def test_runs_lost_mostly_with_the_candidate_are_not_trusted():
    pairs = complete(7) + [pair(f"gone{at}", [1], [], runs=1) for at in range(3)]
    why = lost_runs(pairs, POLICY)
    assert why is not None
    assert "0 with the incumbent, 3 with the candidate, of 10 each" in why


def test_the_same_number_lost_on_both_sides_is_trusted():
    pairs = [*complete(8), pair("a", [1], [], runs=1), pair("b", [], [1], runs=1)]
    assert lost_runs(pairs, POLICY) is None


def test_two_lost_runs_are_no_imbalance():
    pairs = [*complete(4), pair("a", [1], [], runs=1), pair("b", [1], [], runs=1)]
    assert lost_runs(pairs, POLICY) is None


def test_half_of_the_runs_lost_inside_complete_pairs_is_seen():
    pairs = [pair(f"t{at}", [1, 1], [1, 1], runs=4) for at in range(6)]
    assert lost_runs(pairs, POLICY) == "12 of 24 runs with the incumbent were lost to errors outside the task"


def test_a_stable_pass_that_fails_most_runs_is_broken():
    assert broken([pair("a", [1, 1, 1], [1, 0, 0])], POLICY) == ("a",)
    assert broken([pair("a", [1, 1, 1], [1, 1, 0])], POLICY) == ()
    assert broken([pair("a", [1, 1], [1, 0])], POLICY) == ()


def test_a_task_that_was_unstable_is_broken_only_beyond_two_errors():
    assert broken([pair("a", [1, 1, 0], [0, 0, 0])], POLICY) == ()
    assert broken([pair("a", [1, 1, 0, 1, 0], [0] * 5)], POLICY) == ()  # 1.9 errors
    assert broken([pair("a", [1, 1, 1, 1, 0], [0] * 5)], POLICY) == ("a",)  # 2.6 errors


def test_a_small_graded_loss_without_spread_is_not_broken():
    assert broken([pair("a", [1, 1, 1], [0.9, 0.9, 0.9])], POLICY) == ()


def test_a_task_that_failed_before_cannot_be_broken_by_failing():
    assert broken([pair("a", [0, 0, 0], [0, 0, 0])], POLICY) == ()


def test_missing_data_breaks_nothing():
    assert broken([pair("a", [1], []), pair("b", [], [0]), pair("c", [], [])], POLICY) == ()


def test_a_single_failed_run_makes_a_suspect_that_a_recheck_clears():
    first = pair("a", [1], [0])
    assert suspects([first], POLICY) == ("a",)
    cleared = pair("a", [1], [0], again_incumbent=(1,) * 5, again_candidate=(1, 1, 1, 0, 1))
    assert suspects([cleared], POLICY) == ()
    assert broken([cleared], POLICY) == ()


def test_a_recheck_that_fails_again_makes_the_veto_final():
    again = pair("a", [1], [0], again_incumbent=(1,) * 5, again_candidate=(0, 1, 0, 0, 1))
    assert suspects([again], POLICY) == ()
    assert broken([again], POLICY) == ("a",)


def test_a_recheck_in_which_the_incumbent_fails_too_clears():
    again = pair("a", [1], [0], again_incumbent=(1, 0, 1, 0, 1), again_candidate=(0, 1, 0, 0, 1))
    assert broken([again], POLICY) == ()


def test_a_recheck_that_was_lost_on_one_side_is_still_due():
    half = pair("a", [1], [0], again_incumbent=(1, 1))
    assert suspects([half], POLICY) == ("a",)
    assert broken([half], POLICY) == ("a",)


def test_a_recheck_cannot_break_a_task_that_did_not_look_broken():
    assert broken([pair("a", [1], [1], again_incumbent=(1, 1), again_candidate=(0, 0))], POLICY) == ()


def test_broken_tasks_come_in_the_order_of_their_ids():
    assert broken([pair("b", [1], [0]), pair("a", [1], [0]), pair("c", [1], [1])], POLICY) == ("a", "b")


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_score_outside_zero_to_one_is_refused(score):
    with pytest.raises(ValueError, match="not between 0 and 1"):
        pair("a", [1], [score])


@pytest.mark.parametrize(
    "wrong", [{"mode": "lucky"}, {"alpha": 0}, {"alpha": 1}, {"futility": 1}, {"margin": -0.1}]
)
def test_a_policy_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match="gate"):
        Policy(**wrong)


@given(st.tuples(*[st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0]))] * RECHECK_RUNS))
def test_a_recheck_that_stops_early_says_what_all_its_runs_would_have_said(runs):
    whole = pair(
        "a", [1], [0], again_incumbent=tuple(r[0] for r in runs), again_candidate=tuple(r[1] for r in runs)
    )
    for done in range(RECHECK_RUNS + 1):
        part = pair(
            "a",
            [1],
            [0],
            again_incumbent=whole.again_incumbent[:done],
            again_candidate=whole.again_candidate[:done],
            again_runs=done,
        )
        if not suspects([part], POLICY):
            break
    assert suspects([part], POLICY) == ()
    assert broken([part], POLICY) == broken([whole], POLICY)


def test_a_recheck_ends_as_soon_as_the_runs_left_cannot_matter():
    clear = pair("a", [1], [0], again_incumbent=(0, 0), again_candidate=(0, 0), again_runs=2)
    assert (suspects([clear], POLICY), broken([clear], POLICY)) == ((), ())
    open_ = pair("a", [1], [0], again_incumbent=(1, 1), again_candidate=(0, 0), again_runs=2)
    assert (suspects([open_], POLICY), broken([open_], POLICY)) == (("a",), ("a",))


def test_a_recheck_of_which_every_run_was_lost_leaves_the_task_broken():
    gone = pair("a", [1], [0], again_runs=RECHECK_RUNS)
    assert broken([gone], POLICY) == ("a",)
