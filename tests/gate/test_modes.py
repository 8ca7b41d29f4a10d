"""The modes of the reference method, its metrics, and the gate switched off."""

from __future__ import annotations

from random import Random

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


@given(st.sampled_from(MODES), st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=12))
def test_every_verdict_can_be_explained_from_the_mode_to_the_end(mode, scores):
    pairs = [pair(f"t{at}", before, after) for at, (before, after) in enumerate(scores)]
    policy = Policy(mode=mode)
    verdict, _ = judge(pairs, None, policy, identity="x", family_level=0.01)
    steps = explain(verdict, policy)
    assert (steps[0].name, steps[0].found) == ("mode", mode)
    assert steps[-1].name == "verdict"
    assert verdict.reason in steps[-1].sentence
    if verdict.decision is Decision.ACCEPT and mode in {"evidence", "one-night"}:
        assert all(step.passed is not False for step in steps)
    if verdict.decision is Decision.REJECT and mode == "evidence":
        assert any(step.passed is False for step in steps) or verdict.nights >= policy.max_nights


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
