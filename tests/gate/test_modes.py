"""The modes of the reference method, its metrics, and the gate switched off."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.decide import judge
from skillopt_gate.explain import explain
from skillopt_gate.metrics import project
from skillopt_gate.stopping import decided, hopeless
from skillopt_gate.verdicts import MODES, Decision, Pair, Policy


def pair(task, before, after):
    return Pair(task=task, incumbent=(before,), candidate=(after,))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_projection_lies_between_its_two_scores(hard, soft, weight):
    mixed = project(hard, soft, "mixed", weight=weight)
    assert min(hard, soft) - 1e-9 <= mixed <= max(hard, soft) + 1e-9
    assert (project(hard, soft, "hard"), project(hard, soft, "soft")) == (hard, soft)


def test_projections_refuse_what_is_no_score_and_what_is_no_metric():
    with pytest.raises(ValueError, match=r"soft 1\.5"):
        project(1.0, 1.5, "hard")
    with pytest.raises(ValueError, match="hard nan"):
        project(float("nan"), 0.5, "hard")
    with pytest.raises(ValueError, match="one of: hard, soft, mixed"):
        project(1.0, 1.0, "best")


@pytest.mark.parametrize("mode", ["strict", "soft", "mixed"])
def test_a_mode_of_means_accepts_any_rise_and_says_that_luck_does_too(mode):
    policy = Policy(mode=mode)
    up = [pair("a", 0.5, 0.6), pair("b", 1.0, 1.0)]
    verdict, _ = judge(up, None, policy, identity="x")
    assert verdict.decision is Decision.ACCEPT
    assert "luck" in verdict.reason
    assert verdict.guarantee.startswith("no guarantee")
    for same in ([pair("a", 0.1, 0.3), pair("b", 0.3, 0.1)], [pair("a", 1.0, 0.5)]):
        verdict, _ = judge(same, None, policy, identity="x")
        assert verdict.decision is Decision.REJECT


def test_equal_means_of_thirds_are_equal():
    pairs = [Pair(task="a", incumbent=(1 / 3, 2 / 3), candidate=(0.5, 0.5))]
    assert judge(pairs, None, Policy(mode="soft"), identity="x")[0].decision is Decision.REJECT


def test_structure_and_lost_runs_hold_in_every_mode_but_off_for_the_latter():
    empty = [Pair(task=f"t{at}", incumbent=(), candidate=(), runs=1) for at in range(6)]
    for mode in MODES:
        policy = Policy(mode=mode)
        refused, _ = judge([pair("a", 0, 1)], None, policy, identity="x", problems=["too long"])
        assert refused.decision is Decision.REJECT
        lost, _ = judge(empty, None, policy, identity="x")
        assert lost.decision is (Decision.ACCEPT if mode == "off" else Decision.NOT_ENOUGH)


def test_the_gate_switched_off_accepts_and_says_so():
    verdict, _ = judge([pair("a", 1.0, 0.0)], None, Policy(mode="off"), identity="x")
    assert verdict.decision is Decision.ACCEPT
    assert "the gate is off" in verdict.reason
    assert not hopeless([pair("a", 1.0, 0.0)], 3, None, Policy(mode="off"), identity="x")


def test_a_mean_that_cannot_rise_any_more_is_hopeless_and_never_decided_early():
    policy = Policy(mode="strict")
    lost = [pair("a", 1.0, 0.0), pair("b", 1.0, 0.0)]
    assert hopeless(lost, 2, None, policy, identity="x")
    assert not hopeless(lost, 3, None, policy, identity="x")
    assert not decided([pair("a", 0.0, 1.0)], None, policy, identity="x")


runs = st.lists(st.sampled_from([0.0, 0.25, 1.0, 1.0, 1 / 3]), max_size=3).map(tuple)
dollars = st.lists(st.sampled_from([0.01, 1.0, float("inf"), float("nan")]), max_size=1).map(tuple)
nights = st.lists(
    st.builds(
        Pair,
        task=st.sampled_from([f"t{at:02}" for at in range(40)]),
        incumbent=runs,
        candidate=runs,
        runs=st.just(3),
        incumbent_usd=dollars,
        candidate_usd=dollars,
    ),
    max_size=30,
    unique_by=lambda one: one.task,
)


@given(
    st.sampled_from(MODES),
    st.lists(nights, min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from([(), ("bad",)]),
)
def test_the_steps_of_an_explanation_end_in_the_very_verdict(mode, told, shorter, problems):
    policy = Policy(mode=mode, max_nights=3)
    evidence = None
    for night, pairs in enumerate(told):
        tonight = [msgspec.structs.replace(one, task=f"{night}/{one.task}") for one in pairs]
        verdict, evidence = judge(
            tonight, evidence, policy, identity="x", shorter=shorter, family_level=0.01, problems=problems
        )
        steps = explain(verdict, policy)
        assert (steps[0].name, steps[0].found) == ("mode", mode)
        assert steps[-1].name == "verdict"
        assert verdict.reason in steps[-1].sentence
        failed = {step.name for step in steps if step.passed is False}
        assert (verdict.decision is Decision.ACCEPT) == (not failed)
        final = {"structure", "coverage", "regressions", "cost", "time", "hope", "nights"}
        if mode == "evidence" and verdict.decision is Decision.REJECT:
            assert failed & final or verdict.wealth < policy.futility


def test_an_explanation_shows_the_floor_that_held_and_what_is_not_known():
    pairs = [pair(f"t{at}", 0.0, 1.0) for at in range(8)]
    policy = Policy()
    told = {step.name: step for step in explain(judge(pairs, None, policy, identity="x")[0], policy)}
    assert (told["cost"].found, told["cost"].passed) == ("unknown", None)
    assert (told["time"].found, told["time"].passed) == ("unknown", None)
    assert told["effect"].needed == "+0.050"
    cut, _ = judge(pairs, None, policy, identity="x", shorter=True)
    told = {step.name: step for step in explain(cut, policy)}
    assert told["effect"].needed == "-0.050"
    assert "against a loss of 0.1" in told["evidence"].sentence


def test_a_shorter_rewriting_must_not_do_worse_on_average_where_a_mere_cut_may():
    pairs = [pair(f"t{at:03}", 1.0, 1.0) for at in range(90)] + [pair("x", 0.4, 0.0)]
    policy = Policy(min_effect=0.05)
    cut, _ = judge(pairs, None, policy, identity="x", shorter=True)
    rewritten, _ = judge(pairs, None, policy, identity="x", shorter=True, rewritten=True)
    assert cut.decision is Decision.ACCEPT
    assert rewritten.decision is Decision.NOT_ENOUGH
    same, _ = judge(pairs[:-1], None, policy, identity="x", shorter=True, rewritten=True)
    assert same.decision is Decision.ACCEPT


def test_an_identical_skill_passes_a_mode_of_means_as_often_as_the_report_says():
    rng = Random(3)
    accepted = 0
    for _ in range(300):
        pairs = []
        for at in range(14):
            passing = rng.betavariate(0.5, 0.5)
            runs = [float(rng.random() < passing) for _ in range(6)]
            pairs.append(Pair(task=f"t{at}", incumbent=tuple(runs[:3]), candidate=tuple(runs[3:])))
        accepted += judge(pairs, None, Policy(mode="strict"), identity="x")[0].decision is Decision.ACCEPT
    assert 0.3 < accepted / 300 < 0.55
