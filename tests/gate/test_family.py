"""Candidates of a year, controlled together."""

from __future__ import annotations

from random import Random

import pytest

from skillopt_gate.decide import judge
from skillopt_gate.eprocess import bet, start, wealth
from skillopt_gate.family import Family, expected_false, level_for, share_of
from skillopt_gate.pairs import Difference, as_fraction
from skillopt_gate.verdicts import Decision, Pair, Policy


def test_the_shares_of_all_candidates_sum_to_no_more_than_one():
    counted = sum(share_of(place) for place in range(1, 20_001))
    # What is left is at most the integral of the same power from 20,000 on.
    rest = 20_000**-0.6 / 0.6 / 2.2857656567
    assert 0.99 < counted < 1.0
    assert counted + rest == pytest.approx(1.0, abs=1e-6)


def test_later_candidates_need_more_and_acceptances_lower_it_again():
    family, first = Family().start()
    family, second = family.start()
    assert (first, second, family.started) == (1, 2, 2)
    early, late = level_for(family, first, alpha=0.1), level_for(family, second, alpha=0.1)
    assert early > late
    assert level_for(family.accept(), second, alpha=0.1) == pytest.approx(2 * late)
    with pytest.raises(ValueError, match="counted from 1"):
        level_for(family, 0, alpha=0.1)


def test_the_share_of_useless_ones_among_the_accepted_stays_below_what_was_promised():
    """Useless candidates whose evidence is as lucky as it can fairly be, overlapping, in any order."""
    rng = Random(20261129)
    shares = []
    for _ in range(400):
        family, places = Family(), []
        for _ in range(40):
            family, place = family.start()
            places.append(place)
        rng.shuffle(places)
        false = true = 0
        for place in places:
            good = rng.random() < 0.3
            # An e-value of 1/u is the largest there is: its mean is 1 only when cut at 1/level.
            level = level_for(family, place, alpha=0.1)
            accepted = good or rng.random() < level
            if accepted:
                family = family.accept()
                true, false = true + good, false + (not good)
        shares.append(false / max(1, true + false))
    assert sum(shares) / len(shares) < 0.1


def test_under_family_control_the_level_of_the_family_decides():
    pairs = [Pair(task=f"t{at}", incumbent=(0.0,), candidate=(1.0,)) for at in range(8)]
    policy = Policy(control="family")
    family = Family(started=30)
    verdict, _ = judge(
        pairs, None, policy, identity="a", family_level=level_for(family, 30, alpha=policy.family_alpha)
    )
    assert verdict.decision is Decision.NOT_ENOUGH
    assert "to 1 needed" in verdict.reason
    accepted, _ = judge(pairs, None, Policy(), identity="a", family_level=0.0001)
    assert accepted.decision is Decision.ACCEPT
    assert "each on its own; as one of all your candidates it would need 10000 to 1" in accepted.guarantee
    with pytest.raises(ValueError, match="needs the candidate's level"):
        judge(pairs, None, policy, identity="a")


def test_an_acceptance_says_when_it_holds_for_all_candidates_together():
    pairs = [Pair(task=f"t{at}", incumbent=(0.0,), candidate=(1.0,)) for at in range(12)]
    verdict, evidence = judge(pairs, None, Policy(), identity="a", family_level=0.02)
    assert wealth(evidence) > 50
    assert "as one of all it passes too, of which at most 10% are useless" in verdict.guarantee
    alone, _ = judge(pairs, None, Policy(), identity="a")
    assert "nothing is promised for all candidates of a year together" in alone.guarantee


def test_candidates_of_one_night_share_alpha():
    pairs = [Pair(task=f"t{at}", incumbent=(0.0,), candidate=(1.0,)) for at in range(7)]
    alone, _ = judge(pairs, None, Policy(), identity="a")
    one_of_four, _ = judge(pairs, None, Policy(), identity="a", candidates=4)
    assert (alone.decision, one_of_four.decision) == (Decision.ACCEPT, Decision.NOT_ENOUGH)
    assert one_of_four.level == pytest.approx(0.0125)
    with pytest.raises(ValueError, match="at least one candidate"):
        judge(pairs, None, Policy(), identity="a", candidates=0)


def test_the_expected_number_of_useless_acceptances_is_told():
    assert expected_false(40, alpha=0.05) == pytest.approx(2.0)


def test_an_e_value_stopped_at_its_level_is_no_more_than_one_on_average():
    rng = Random(5)
    stopped = []
    for _ in range(300):
        evidence = start("x")
        for task in range(60):
            step = Difference(f"{task}", as_fraction(rng.choice((-1.0, 0.0, 1.0))), 1)
            evidence, _ = bet(evidence, [step])
            if wealth(evidence) >= 20:
                break
        stopped.append(wealth(evidence))
    assert sum(stopped) / len(stopped) < 1.6
