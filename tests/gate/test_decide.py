"""Verdicts: the order of the checks, the sentences, and what must never happen."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.decide import judge
from skillopt_gate.eprocess import start, wealth
from skillopt_gate.stopping import decided, hopeless
from skillopt_gate.verdicts import Decision, Evidence, Pair, Policy
from skillopt_gate.vetoes import suspects

POLICY = Policy()
ONE_NIGHT = Policy(mode="one-night")


def pairs_of(*changes: str, night: int = 0, runs: int = 1) -> list[Pair]:
    """Return one pair per letter: w(in), l(oss on a shaky task), t(ie), b(roken), m(issing)."""
    made = []
    for place, letters in enumerate("".join(changes)):
        incumbent, candidate = {
            "w": ((0.0,) * runs, (1.0,) * runs),
            "l": ((0.4,) * runs, (0.0,) * runs),
            "t": ((1.0,) * runs, (1.0,) * runs),
            "b": ((1.0,) * runs, (0.0,) * runs),
            "m": ((), ()),
        }[letters]
        made.append(Pair(task=f"n{night}-{place:02}", incumbent=incumbent, candidate=candidate, runs=runs))
    return made


def verdict_on(letters, evidence=None, policy=POLICY, **more):
    return judge(pairs_of(letters, night=more.pop("night", 0)), evidence, policy, identity="agent", **more)


scores = st.lists(st.sampled_from([0.0, 1.0, 0.5, 1 / 3, 2 / 3, 0.1, 0.7]), max_size=4).map(tuple)
pair_lists = st.lists(
    st.builds(
        Pair,
        task=st.sampled_from([f"t{at}" for at in range(30)]),
        incumbent=scores,
        candidate=scores,
        runs=st.integers(min_value=0, max_value=4),
        again_incumbent=scores,
        again_candidate=scores,
    ),
    max_size=16,
    unique_by=lambda pair: pair.task,
)
policies = st.builds(
    Policy,
    mode=st.sampled_from(["evidence", "one-night"]),
    alpha=st.sampled_from([0.01, 0.05, 0.1, 0.5]),
    min_effect=st.sampled_from([0.0, 0.02, 0.05, 0.3]),
    min_tasks=st.integers(min_value=0, max_value=8),
    coverage=st.sampled_from([0.0, 0.6, 1.0]),
    futility=st.sampled_from([0.0, 0.2]),
    max_nights=st.integers(min_value=1, max_value=10),
)


def test_nine_wins_of_ten_are_accepted_in_one_sentence():
    verdict, evidence = verdict_on("wwwwwwwwwt")
    assert verdict.decision is Decision.ACCEPT
    assert verdict.reason == (
        "accepted: 9 of 10 held-out tasks went better, none worse; evidence 100 to 1 against luck"
    )
    assert (verdict.n, verdict.k, verdict.wins, verdict.losses, verdict.ties) == (10, 1, 9, 0, 1)
    assert verdict.effect == pytest.approx(0.9)
    assert verdict.interval[0] <= 0.9 <= verdict.interval[1]
    assert verdict.p_value == pytest.approx(2**-9)
    assert verdict.wealth == wealth(evidence)
    assert (verdict.nights, verdict.n_all) == (1, 10)


def test_a_night_between_the_bounds_goes_on_tomorrow_and_says_what_is_needed():
    verdict, _ = verdict_on("wwwwtttt")
    assert verdict.decision is Decision.NOT_ENOUGH
    assert verdict.reason.startswith(
        "not enough evidence yet: 4 of 8 held-out tasks went better, none worse;"
    )
    assert verdict.reason.endswith("to 1 against luck, 20 to 1 needed")


def test_evidence_from_two_nights_adds_up_to_an_acceptance():
    first, evidence = verdict_on("wwwwtttt", night=1)
    second, evidence = verdict_on("wwwwtttt", evidence, night=2)
    assert first.decision is Decision.NOT_ENOUGH
    assert second.decision is Decision.ACCEPT
    assert "over 2 nights and 16 tasks" in second.reason
    assert evidence.nights == 2


def test_the_same_tasks_shown_again_add_nothing_and_are_named():
    _, evidence = verdict_on("wwwwtttt", night=1)
    verdict, again = verdict_on("wwwwtttt", evidence, night=1)
    assert verdict.decision is Decision.NOT_ENOUGH
    assert again.log_wealth == evidence.log_wealth
    assert len(verdict.skipped) == 8
    assert (verdict.n, verdict.n_all) == (8, 8)


def test_another_target_starts_the_evidence_anew():
    _, evidence = verdict_on("wwwwtttt", night=1)
    verdict, renewed = judge(pairs_of("wwwwtttt", night=2), evidence, POLICY, identity="agent 2")
    assert verdict.decision is Decision.NOT_ENOUGH
    assert renewed.nights == 1
    assert renewed.identity == "agent 2"


def test_structure_comes_before_everything_and_leaves_the_evidence_alone():
    _, evidence = verdict_on("wwww", night=1)
    verdict, kept = verdict_on("wwwwwwwwwb", evidence, night=2, problems=["the front matter is not valid"])
    assert verdict.decision is Decision.REJECT
    assert verdict.reason == "rejected: the front matter is not valid"
    assert kept == evidence


def test_lost_runs_come_before_the_veto_and_leave_the_evidence_alone():
    verdict, kept = verdict_on("wbmmm")
    assert verdict.decision is Decision.NOT_ENOUGH
    assert verdict.reason == "not enough evidence yet: only 2 of 5 held-out tasks ran with both skills"
    assert kept == start("agent")
    assert verdict.missing == ("n0-02", "n0-03", "n0-04")
    assert verdict.vetoes


def test_a_broken_task_rejects_what_the_average_would_accept_and_is_named():
    verdict, _ = verdict_on("wwwwwwwwwwwwb")
    assert verdict.decision is Decision.REJECT
    assert verdict.reason == "rejected: it breaks a task that went well before (n0-12)"
    assert verdict.broken == ("n0-12",)
    assert verdict.wealth > 20


def test_many_broken_tasks_are_counted_and_the_first_named():
    verdict, _ = verdict_on("bbbbbbb")
    assert "it breaks 7 tasks that went well before (n0-00, n0-01, n0-02, n0-03, n0-04 and 2 more)" in (
        verdict.reason
    )


def test_a_recheck_feeds_the_veto_and_never_the_evidence():
    pairs = pairs_of("wwwwwwwwwwwwb")
    rechecked = [
        *pairs[:-1],
        msgspec.structs.replace(pairs[-1], again_incumbent=(1.0,) * 5, again_candidate=(1.0,) * 5),
    ]
    before, first = judge(pairs, None, POLICY, identity="agent")
    after, second = judge(rechecked, None, POLICY, identity="agent")
    assert before.decision is Decision.REJECT
    assert after.decision is Decision.ACCEPT
    assert first == second
    assert (before.effect, before.wealth, before.p_value) == (after.effect, after.wealth, after.p_value)


def test_a_gain_too_small_to_matter_is_not_accepted_however_sure():
    pairs = [Pair(task=f"t{at:03}", incumbent=(0.5,), candidate=(0.53,)) for at in range(200)]
    verdict, _ = judge(pairs, None, POLICY, identity="agent")
    assert verdict.wealth > 20
    assert verdict.decision is Decision.REJECT
    assert "the mean gain over 200 tasks is +0.030, which rules out +0.100" in verdict.reason
    few, _ = judge(pairs[:9], None, Policy(alpha=0.9), identity="agent")
    assert few.decision is Decision.NOT_ENOUGH
    assert "the mean gain so far is +0.030, below the +0.050 that counts" in few.reason
    larger, _ = judge(pairs, None, Policy(min_effect=0.03), identity="agent")
    assert larger.decision is Decision.ACCEPT


def test_too_few_tasks_decide_nothing_whatever_the_odds():
    eager = Policy(alpha=0.5)
    verdict, evidence = verdict_on("wwww", policy=eager)
    assert verdict.wealth > 2
    assert verdict.decision is Decision.NOT_ENOUGH
    assert "4 usable held-out tasks so far, 5 needed" in verdict.reason
    later, _ = verdict_on("w", evidence, policy=eager, night=2)
    assert later.decision is Decision.ACCEPT


def test_losses_below_the_futility_bound_drop_the_candidate():
    verdict, _ = verdict_on("l" * 14)
    assert verdict.wealth < 0.2
    assert verdict.decision is Decision.REJECT
    assert verdict.reason.startswith("rejected: none of 14 held-out tasks went better, 14 worse; evidence 0.")


def test_a_skill_that_changes_nothing_goes_when_a_gain_is_ruled_out():
    evidence = None
    for night in (1, 2):
        verdict, evidence = verdict_on("ttttt", evidence, night=night)
        assert verdict.decision is Decision.NOT_ENOUGH
        assert "mean gain" in verdict.reason
    verdict, _ = verdict_on("ttttt", evidence, night=3)
    assert verdict.decision is Decision.REJECT
    assert "the mean gain over 15 tasks is +0.000, which rules out +0.100" in verdict.reason


def test_gains_and_losses_go_on_until_the_nights_run_out():
    evidence = None
    for night in range(1, 10):
        verdict, evidence = verdict_on("wltt", evidence, night=night)
        assert verdict.decision is Decision.NOT_ENOUGH
    verdict, _ = verdict_on("wltt", evidence, night=10)
    assert verdict.decision is Decision.REJECT
    assert verdict.reason.startswith("rejected: 10 nights did not settle it")


def test_nights_lost_to_errors_are_not_counted_against_the_candidate():
    evidence = None
    for night in range(20):
        verdict, evidence = verdict_on("mmmmm", evidence, night=night)
        assert verdict.decision is Decision.NOT_ENOUGH
    assert verdict.nights == 0


def test_a_shorter_skill_that_changes_nothing_is_accepted_once_a_loss_is_ruled_out():
    first, evidence = verdict_on("t" * 30, night=1, shorter=True)
    assert first.decision is Decision.NOT_ENOUGH
    second, _ = verdict_on("t" * 30, evidence, night=2, shorter=True)
    assert second.decision is Decision.ACCEPT
    assert "against a loss of 0.1" in second.reason


def test_a_shorter_skill_that_loses_a_little_is_not_accepted():
    pairs = [Pair(task=f"t{at:03}", incumbent=(0.6,), candidate=(0.53,)) for at in range(400)]
    verdict, _ = judge(pairs, None, POLICY, identity="agent", shorter=True)
    assert verdict.wealth > 20
    assert verdict.decision is Decision.NOT_ENOUGH


def test_one_night_accepts_at_five_of_five_and_rejects_below():
    assert verdict_on("wwwww", policy=ONE_NIGHT)[0].decision is Decision.ACCEPT
    verdict, _ = verdict_on("wwwwttt", policy=ONE_NIGHT)
    assert verdict.decision is Decision.REJECT
    assert verdict.reason == (
        "rejected: 4 of 7 held-out tasks went better, none worse; "
        "one night's exact test gives p = 0.062, 0.05 needed"
    )


def test_one_night_with_too_few_tasks_says_so_and_spends_nothing():
    verdict, evidence = verdict_on("wwww", policy=ONE_NIGHT, night=1)
    assert verdict.decision is Decision.NOT_ENOUGH
    assert "4 usable held-out tasks tonight, 5 needed" in verdict.reason
    assert verdict_on("wwwww", evidence, policy=ONE_NIGHT, night=2)[0].decision is Decision.ACCEPT


def test_one_night_after_earlier_looks_must_reach_a_stricter_level():
    _, evidence = verdict_on("wtttt", night=1)
    verdict, _ = verdict_on("wwwww", evidence, policy=ONE_NIGHT, night=2)
    assert verdict.decision is Decision.REJECT
    assert "0.0083 needed" in verdict.reason


def test_one_night_ignores_what_earlier_nights_saw_and_counts_seen_tasks():
    _, evidence = verdict_on("wwwwwww", night=1)
    verdict, _ = verdict_on("wwwwwww", evidence, policy=ONE_NIGHT, night=1)
    assert verdict.n == 7
    assert verdict.p_value == pytest.approx(2**-7)


def test_one_night_non_inferiority_is_not_fooled_by_ties():
    verdict, _ = verdict_on("t" * 14, policy=ONE_NIGHT, shorter=True)
    assert verdict.p_value > 0.05
    assert verdict.decision is Decision.REJECT


def test_a_task_given_twice_is_an_error_of_the_caller():
    pair = Pair(task="a", incumbent=(1.0,), candidate=(1.0,))
    with pytest.raises(ValueError, match="task a comes twice"):
        judge([pair, pair], None, POLICY, identity="agent")


def test_unequal_numbers_of_runs_are_averaged_inside_the_task():
    pairs = [Pair(task=f"t{at}", incumbent=(0.0, 1.0, 0.0), candidate=(1.0,)) for at in range(6)]
    verdict, _ = judge(pairs, None, POLICY, identity="agent")
    assert verdict.k == 1
    assert verdict.effect == pytest.approx(2 / 3)


def test_scores_equal_but_for_float_noise_are_ties():
    pairs = [Pair(task=f"t{at}", incumbent=(0.1, 0.2), candidate=(0.15, 0.15)) for at in range(6)]
    verdict, _ = judge(pairs, None, POLICY, identity="agent")
    assert (verdict.wins, verdict.losses, verdict.ties) == (0, 0, 6)


@given(pair_lists, policies, st.booleans(), st.booleans())
def test_judge_answers_every_valid_input_and_its_answer_survives_json(pairs, policy, shorter, problem):
    evidence = None
    for identity in ("agent", "agent", "other"):
        verdict, evidence = judge(
            pairs,
            evidence,
            policy,
            identity=identity,
            shorter=shorter,
            problems=["it is empty"] if problem else [],
        )
        assert verdict.reason.split(":")[0] in ("accepted", "rejected", "not enough evidence yet")
        assert "\n" not in verdict.reason
        assert verdict.wins + verdict.losses + verdict.ties == verdict.n
        assert verdict.n + len(verdict.missing) == len(pairs)
        assert 0 < verdict.p_value <= 1
        assert msgspec.json.decode(msgspec.json.encode(verdict), type=type(verdict)) == verdict
        assert msgspec.json.decode(msgspec.json.encode(evidence), type=Evidence) == evidence


def check_floors(verdict, pairs, policy, shorter):
    assert verdict.broken == verdict.vetoes == ()
    assert verdict.n >= policy.min_tasks
    assert verdict.n >= policy.coverage * len(pairs)
    assert verdict.effect >= (-1 if shorter else 1) * policy.min_effect - 1e-9
    if policy.mode == "one-night":
        assert verdict.p_value <= policy.alpha
    else:
        assert verdict.wealth >= 1 / policy.alpha


@given(pair_lists, policies, st.booleans())
def test_accepted_means_that_every_floor_holds(pairs, policy, shorter):
    verdict, _ = judge(pairs, None, policy, identity="agent", shorter=shorter)
    if verdict.decision is Decision.ACCEPT:
        check_floors(verdict, pairs, policy, shorter)


@given(st.text(alphabet="wltmb", min_size=5, max_size=40), policies, st.booleans())
def test_a_candidate_that_wins_a_lot_is_accepted_exactly_when_every_floor_holds(letters, policy, shorter):
    pairs = pairs_of("w" * 15, letters)
    verdict, _ = judge(pairs, None, policy, identity="agent", shorter=shorter)
    if verdict.decision is Decision.ACCEPT:
        check_floors(verdict, pairs, policy, shorter)
    else:
        with pytest.raises(AssertionError):
            check_floors(verdict, pairs, policy, shorter)


@given(pair_lists)
def test_swapping_the_sides_flips_the_effect(pairs):
    swapped = [
        Pair(task=pair.task, incumbent=pair.candidate, candidate=pair.incumbent, runs=pair.runs)
        for pair in pairs
    ]
    there, _ = judge(pairs, None, POLICY, identity="agent")
    back, _ = judge(swapped, None, POLICY, identity="agent")
    assert back.effect == pytest.approx(-there.effect)
    assert (back.wins, back.losses, back.ties) == (there.losses, there.wins, there.ties)
    assert not (there.decision is Decision.ACCEPT and back.decision is Decision.ACCEPT)


@given(pair_lists, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert judge(shuffled, None, POLICY, identity="agent") == judge(pairs, None, POLICY, identity="agent")


@given(pair_lists, policies)
def test_what_is_decided_early_is_what_judge_accepts(pairs, policy):
    if decided(pairs, None, policy, identity="agent"):
        assert judge(pairs, None, policy, identity="agent")[0].decision is Decision.ACCEPT
        assert suspects(pairs, policy) == ()


def test_a_night_may_stop_once_its_evidence_has_crossed_with_no_guard_left():
    assert not decided(pairs_of("wwwwww"), None, POLICY, identity="agent")
    assert decided(pairs_of("wwwwwww"), None, POLICY, identity="agent")
    assert not decided(pairs_of("wwwwwww"), None, POLICY, identity="agent", guards_left=1)
    assert not decided(pairs_of("wwwwwwwwwb"), None, POLICY, identity="agent")
    assert not decided(pairs_of("wwwwwww"), None, ONE_NIGHT, identity="agent")


def test_a_night_is_hopeless_only_when_winning_the_rest_could_not_accept():
    losing = pairs_of("l" * 14)
    assert hopeless(losing, 3, None, POLICY, identity="agent")
    assert not hopeless(losing, 30, None, POLICY, identity="agent")
    assert not hopeless(pairs_of("ttttt"), 1, None, POLICY, identity="agent")
    assert not hopeless(pairs_of("llll"), 0, None, POLICY, identity="agent")


def test_one_night_is_hopeless_when_the_exact_test_is_out_of_reach():
    assert hopeless(pairs_of("ttttt"), 4, None, ONE_NIGHT, identity="agent")
    assert not hopeless(pairs_of("ttttt"), 5, None, ONE_NIGHT, identity="agent")


@given(st.lists(st.sampled_from("wlt"), max_size=14), st.integers(min_value=0, max_value=8), policies)
def test_hopeless_nights_are_never_accepted_even_if_all_the_rest_is_won(letters, remaining, policy):
    pairs = pairs_of("".join(letters))
    if hopeless(pairs, remaining, None, policy, identity="agent"):
        won = pairs + pairs_of("w" * remaining, night=1)
        assert judge(won, None, policy, identity="agent")[0].decision is not Decision.ACCEPT


def test_the_whole_gate_accepts_better_skills_and_hardly_ever_identical_ones():
    rng = Random("whole gate")

    def accepted(lifted: float) -> int:
        total = 0
        for _ in range(25):
            evidence = None
            for night in range(5):
                pairs = []
                for place in range(14):
                    p = rng.betavariate(0.5, 1.5)
                    q = max(p, 0.9) if rng.random() < lifted else p
                    runs = [tuple(float(rng.random() < chance) for _ in range(3)) for chance in (p, q)]
                    again = [tuple(float(rng.random() < chance) for _ in range(5)) for chance in (p, q)]
                    pair = Pair(task=f"{night}-{place}", incumbent=runs[0], candidate=runs[1])
                    if suspects([pair], POLICY):
                        pair = msgspec.structs.replace(
                            pair, again_incumbent=again[0], again_candidate=again[1]
                        )
                    pairs.append(pair)
                verdict, evidence = judge(pairs, evidence, POLICY, identity="agent")
                if verdict.decision is not Decision.NOT_ENOUGH:
                    break
            total += verdict.decision is Decision.ACCEPT
        return total

    assert accepted(0.5) >= 23
    assert accepted(0.0) <= 3
