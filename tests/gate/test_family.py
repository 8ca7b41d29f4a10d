"""Candidates of a year, controlled together."""

from __future__ import annotations

from random import Random

import pytest

from skillopt_gate.decide import judge
from skillopt_gate.eprocess import bet, start, wealth
from skillopt_gate.family import BLOCK, Family, expected_false, level_for
from skillopt_gate.pairs import Difference, as_fraction
from skillopt_gate.verdicts import Decision, Pair, Policy


def test_each_acceptance_lowers_what_the_others_of_its_block_need():
    family = Family(started=BLOCK + 5)
    alone = level_for(family, 3, alpha=0.1)
    assert alone == pytest.approx(0.1 / BLOCK)
    assert level_for(family.accept(7), 3, alpha=0.1) == pytest.approx(2 * alone)
    assert level_for(family.accept(BLOCK + 1), 3, alpha=0.1) == alone
    assert level_for(family.accept(3), 3, alpha=0.1) == alone
    assert family.accept(7).accept(7) == family.accept(7)


def test_places_are_counted_from_one_and_known():
    family, first = Family().start()
    family, second = family.start()
    assert (first, second, family.started) == (1, 2, 2)
    with pytest.raises(ValueError, match="counted from 1"):
        level_for(family, 0, alpha=0.1)
    with pytest.raises(ValueError, match="no candidate has place 3"):
        family.accept(3)


def test_the_share_of_useless_ones_among_the_accepted_stays_below_what_was_promised():
    """Useless candidates as lucky as they can fairly be, decided in any order."""
    rng = Random(20261129)
    shares = []
    for _ in range(400):
        family, places = Family(), []
        for _ in range(BLOCK):
            family, place = family.start()
            places.append(place)
        rng.shuffle(places)
        useless = good = 0
        for place in places:
            helps = rng.random() < 0.3
            # The luckiest fair e-value is 1/level with a chance of level, else 0.
            if helps or rng.random() < level_for(family, place, alpha=0.1):
                family = family.accept(place)
                good, useless = good + helps, useless + (not helps)
        shares.append(useless / max(1, good + useless))
    assert 0.02 < sum(shares) / len(shares) < 0.1


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
    assert (
        "each on its own; as one of many candidates it would need evidence of 10000 to 1"
        in accepted.guarantee
    )
    with pytest.raises(ValueError, match="needs the candidate's level"):
        judge(pairs, None, policy, identity="a")


def test_an_acceptance_says_when_it_holds_for_all_candidates_together():
    pairs = [Pair(task=f"t{at}", incumbent=(0.0,), candidate=(1.0,)) for at in range(12)]
    verdict, evidence = judge(pairs, None, Policy(), identity="a", family_level=0.02)
    assert wealth(evidence) > 50
    assert "it passes as one of many too, of which at most 10% are useless" in verdict.guarantee
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
