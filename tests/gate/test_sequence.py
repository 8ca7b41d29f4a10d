"""What to run next."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.decide import judge
from skillopt_gate.sequence import Waiting, advance
from skillopt_gate.verdicts import Decision, Pair, Policy

POLICY = Policy()


def pair(task, before, after):
    return Pair(task=task, incumbent=(before,), candidate=(after,))


def test_a_refused_document_is_not_run_at_all():
    step = advance([], [Waiting("a")], None, POLICY, identity="x", problems=["too long"])
    assert step.task is None
    assert "refused" in step.why


def test_tasks_run_in_their_order_until_the_evidence_suffices():
    waiting = [Waiting(f"t{at}") for at in range(12)]
    ran: list[Pair] = []
    while (step := advance(ran, waiting, None, POLICY, identity="x")).task:
        assert step.task == waiting[0].task
        waiting = waiting[1:]
        ran.append(pair(step.task, 0.0, 1.0))
    assert len(ran) == 7
    assert "evidence suffices" in step.why
    assert judge(ran, None, POLICY, identity="x")[0].decision is Decision.ACCEPT


def test_once_the_evidence_suffices_only_guards_still_run():
    ran = [pair(f"t{at}", 0.0, 1.0) for at in range(7)]
    waiting = [Waiting("failed before"), Waiting("guard", guard=True), Waiting("another")]
    step = advance(ran, waiting, None, POLICY, identity="x")
    assert (step.task, step.why) == ("guard", "a guard task, now that the evidence suffices")
    ran.append(pair("guard", 1.0, 1.0))
    assert advance(ran, [waiting[0], waiting[2]], None, POLICY, identity="x").task is None


def test_guards_wait_while_tasks_that_failed_before_are_enough_for_a_night():
    waiting = [Waiting("guard", guard=True), Waiting("failed before")]
    step = advance([], waiting, None, POLICY, identity="x")
    assert step.task == "failed before"
    ran = [pair(f"t{at}", 0.0, float(at < 2)) for at in range(5)]
    step = advance(ran, waiting[:1], None, POLICY, identity="x")
    assert (step.task, step.why) == (None, "guard tasks wait until the evidence suffices")
    assert advance(ran[:4], waiting[:1], None, POLICY, identity="x").task == "guard"


def test_a_hopeless_candidate_stops_early():
    ran = [pair(f"t{at}", 0.4, 0.0) for at in range(25)]
    step = advance(ran, [Waiting("last")], None, POLICY, identity="x")
    assert step.task is None
    assert "clean sweep" in step.why


def test_a_broken_task_is_run_again_before_it_vetoes():
    ran = [pair("good", 0.0, 1.0), pair("broken", 1.0, 0.0)]
    step = advance(ran, [], None, POLICY, identity="x")
    assert (step.task, step.again) == ("broken", True)
    again = msgspec.structs.replace(ran[1], again_incumbent=(1.0,) * 5, again_candidate=(1.0,) * 5)
    assert advance([ran[0], again], [], None, POLICY, identity="x").task is None


@given(st.integers(0, 2**32), st.floats(0, 1), st.integers(1, 25))
def test_following_it_ends_and_reaches_the_verdict_of_running_everything_when_it_accepts(seed, lift, number):
    rng = Random(seed)
    tasks = [Waiting(f"t{at:02}", guard=rng.random() < 0.3) for at in range(number)]
    results = {
        one.task: pair(one.task, float(rng.random() < 0.5), float(rng.random() < lift)) for one in tasks
    }
    waiting, ran = list(tasks), {}
    steps = 0
    while (step := advance(list(ran.values()), waiting, None, POLICY, identity="x")).task:
        steps += 1
        assert steps <= 2 * number
        if step.again:
            ran[step.task] = msgspec.structs.replace(
                ran[step.task], again_incumbent=(1.0,) * 5, again_candidate=(1.0,) * 5
            )
        else:
            waiting = [one for one in waiting if one.task != step.task]
            ran[step.task] = results[step.task]
    left_guards = [one for one in waiting if one.guard]
    verdict, _ = judge(list(ran.values()), None, POLICY, identity="x")
    if verdict.decision is Decision.ACCEPT:
        assert not left_guards
