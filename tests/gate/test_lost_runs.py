"""Lost runs are missing data, but nobody may win by losing them."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.decide import judge
from skillopt_gate.pairs import compare, suppose_failed
from skillopt_gate.verdicts import Decision, Pair, Policy
from skillopt_gate.vetoes import suspects

POLICY = Policy()
scores = st.lists(st.sampled_from([0.0, 1.0, 0.5]), max_size=3).map(tuple)
pair_lists = st.lists(
    st.builds(Pair, task=st.sampled_from("abcdefghij"), incumbent=scores, candidate=scores, runs=st.just(3)),
    unique_by=lambda pair: pair.task,
)


def test_losses_that_hit_both_sides_alike_suppose_nothing():
    pairs = [
        Pair(task="a", incumbent=(1.0,), candidate=(), runs=1),
        Pair(task="b", incumbent=(), candidate=(1.0,), runs=1),
    ]
    assert suppose_failed(pairs) == pairs


def test_the_surplus_lost_with_the_candidate_is_supposed_to_have_failed_where_it_hurts_most():
    pairs = [
        Pair(task="a", incumbent=(0.0,), candidate=(), runs=1),
        Pair(task="b", incumbent=(1.0,), candidate=(), runs=1),
        Pair(task="c", incumbent=(), candidate=(1.0,), runs=1),
    ]
    assert [pair.candidate for pair in suppose_failed(pairs)] == [(), (0.0,), (1.0,)]


@given(pair_lists)
def test_what_is_supposed_never_helps_the_candidate_and_never_touches_the_incumbent(pairs):
    supposed = suppose_failed(pairs)
    assert [(one.task, one.incumbent) for one in supposed] == [(one.task, one.incumbent) for one in pairs]
    before = {one.task: one.value for one in compare(pairs)[0]}
    after = {one.task: one.value for one in compare(supposed)[0]}
    assert all(after[task] <= value for task, value in before.items())
    added = sum(len(one.candidate) for one in supposed) - sum(len(one.candidate) for one in pairs)
    assert added == max(0, sum(len(one.incumbent) - len(one.candidate) for one in pairs))


def test_a_win_that_rests_on_runs_only_the_candidate_lost_has_to_wait():
    won = [Pair(task=f"w{at}", incumbent=(0.0,), candidate=(1.0,), runs=1) for at in range(8)]
    gone = [Pair(task=f"g{at}", incumbent=(1.0,), candidate=(), runs=1) for at in range(2)]
    assert judge(won, None, POLICY, identity="x")[0].decision is Decision.ACCEPT
    verdict, evidence = judge([*won, *gone], None, POLICY, identity="x")
    assert verdict.decision is Decision.NOT_ENOUGH
    assert verdict.wealth > 20 > verdict.worst
    assert "more runs were lost with the candidate than with the incumbent, and had they failed" in (
        verdict.reason
    )
    assert (verdict.losses, verdict.effect) == (0, 1.0), "they are no failures all the same"
    more = [Pair(task=f"m{at}", incumbent=(0.0,), candidate=(1.0,), runs=1) for at in range(8)]
    later, _ = judge(more, evidence, POLICY, identity="x")
    assert later.decision is Decision.ACCEPT
    one_night, _ = judge([*won, *gone], None, Policy(mode="one-night"), identity="x")
    assert one_night.p_value < 0.05 < one_night.worst_p_value
    assert one_night.decision is Decision.REJECT


def test_a_skill_that_takes_failing_runs_along_gains_nothing_by_it():
    rng = Random("taken along")
    accepted = 0
    for _ in range(60):
        evidence = None
        for night in range(10):
            pairs = []
            for place in range(14):
                passing = rng.betavariate(0.5, 1.5) if place % 3 < 2 else rng.betavariate(1.5, 0.5)
                runs = [[float(rng.random() < passing) for _ in range(3)] for _ in range(2)]
                kept = tuple(score for score in runs[1] if score or rng.random() > 0.25)
                pair = Pair(task=f"{night}/{place}", incumbent=tuple(runs[0]), candidate=kept, runs=3)
                if suspects([pair], POLICY):
                    again = [tuple(float(rng.random() < passing) for _ in range(5)) for _ in range(2)]
                    pair = msgspec.structs.replace(pair, again_incumbent=again[0], again_candidate=again[1])
                pairs.append(pair)
            verdict, evidence = judge(pairs, evidence, POLICY, identity="x")
            if verdict.decision is not Decision.NOT_ENOUGH:
                break
        accepted += verdict.decision is Decision.ACCEPT
    assert accepted <= 4


def test_a_candidate_whose_runs_are_lost_night_after_night_is_given_up():
    evidence = None
    for night in range(3):
        pairs = [
            Pair(task=f"{night}/{at}", incumbent=(1.0,), candidate=(1.0,) if at < 7 else (), runs=1)
            for at in range(10)
        ]
        verdict, evidence = judge(pairs, evidence, POLICY, identity="x")
        assert (verdict.nights, verdict.n_all) == (0, 0), "none of it counts"
        assert verdict.decision is (Decision.REJECT if night == 2 else Decision.NOT_ENOUGH)
    assert verdict.reason == (
        "rejected: runs were lost unequally (0 with the incumbent, 3 with the candidate, of 10 each),"
        " as on 2 nights before"
    )
