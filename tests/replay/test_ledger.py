"""The ledger stops before a ceiling is passed, and never pays twice."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from skillopt_replay.attempts import begin_another
from skillopt_replay.errors import CeilingReached, ServiceRefused
from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.protocols import Completion, Ledger
from skillopt_replay.rollouts import Fault, Outcome, Rollout, Usage

ESTIMATE = Usage(input_tokens=100, cost_usd=1.0)


def paid(cost: float | None = 0.25, tokens: int = 10, outcome: Outcome = Outcome.FINISHED) -> Rollout:
    usage = Usage(input_tokens=tokens, cost_usd=cost)
    return Rollout(task="t", skill="", agent="a", model="m", outcome=outcome, answer="", usage=usage)


class Maker:
    def __init__(self, *results):
        self.results = list(results)
        self.calls = 0

    async def __call__(self):
        self.calls += 1
        await asyncio.sleep(0)
        result = self.results.pop(0)
        if isinstance(result, BaseException):
            raise result
        return result


async def test_a_result_is_paid_for_once():
    ledger: Ledger = MemoryLedger()
    make = Maker(paid(), paid())
    first = await ledger.once("replay", "k", ESTIMATE, make, Rollout)
    second = await ledger.once("replay", "k", ESTIMATE, make, Rollout)
    await ledger.once("judge", "k", ESTIMATE, make, Rollout)
    assert first is second
    assert make.calls == 2


async def test_a_run_that_cannot_tell_what_it_used_counts_with_its_bound():
    ledger = MemoryLedger()
    lost = msgspec.structs.replace(paid(None, 0, Outcome.INFRASTRUCTURE), untold=True)
    await ledger.once("rollout", "1", ESTIMATE, Maker(lost), Rollout)
    assert ledger.spent == ESTIMATE
    slow = msgspec.structs.replace(paid(None, 0, Outcome.LIMIT), untold=True)
    await ledger.once("rollout", "2", ESTIMATE, Maker(slow), Rollout)
    assert ledger.spent == ESTIMATE.plus(ESTIMATE)
    await ledger.once("rollout", "3", ESTIMATE, Maker(paid(0.25, 10)), Rollout)
    assert ledger.spent.tokens == 210


@pytest.mark.parametrize(
    ("usage", "counted"),
    [(Usage(), 100), (Usage(cost_usd=0.0), 0), (Usage(7), 7)],
    ids=["lost", "refused", "told"],
)
async def test_a_reply_that_was_lost_counts_with_its_bound_and_a_refused_one_with_nothing(usage, counted):
    ledger = MemoryLedger()
    failed = Completion(text="", model="m", usage=usage, error="no reply", fault=Fault.NETWORK)
    await ledger.once("optimizer", "1", ESTIMATE, Maker(failed), Completion)
    assert ledger.spent.tokens == counted


async def test_the_same_call_asked_for_twice_at_once_is_paid_for_once():
    ledger = MemoryLedger()
    make = Maker(paid())
    results = await asyncio.gather(*(ledger.once("replay", "k", ESTIMATE, make, Rollout) for _ in range(5)))
    assert make.calls == 1
    assert all(result is results[0] for result in results)


async def test_a_call_that_could_pass_the_ceiling_is_not_started():
    ledger = MemoryLedger(max_usd=1.2)
    make = Maker(paid(0.25), paid(0.25))
    await ledger.once("replay", "1", ESTIMATE, make, Rollout)
    with pytest.raises(CeilingReached, match=r"\$1\.25"):
        await ledger.once("replay", "2", ESTIMATE, make, Rollout)
    assert make.calls == 1
    assert ledger.spent.cost_usd == 0.25


async def test_a_call_waits_while_it_is_in_doubt_what_the_running_ones_cost():
    ledger = MemoryLedger(max_usd=1.5)
    gate = asyncio.Event()

    async def slow():
        await gate.wait()
        return paid()

    running = asyncio.ensure_future(ledger.once("replay", "1", ESTIMATE, slow, Rollout))
    waiting = asyncio.ensure_future(ledger.once("replay", "2", ESTIMATE, Maker(paid()), Rollout))
    for _ in range(5):
        await asyncio.sleep(0)
    assert [entry.state for entry in ledger.entries] == ["started"]
    gate.set()
    await asyncio.gather(running, waiting)
    assert [entry.state for entry in ledger.entries] == ["done", "done"]


@pytest.mark.parametrize("together", [2, 3, 8])
@pytest.mark.parametrize("over", [0.0, 0.4, 1.0])
async def test_only_the_call_begun_last_may_pass_a_ceiling(together, over):
    ledger = MemoryLedger(max_usd=4.5)

    async def loop(name):
        for n in range(6):
            await ledger.once("replay", f"{name}/{n}", ESTIMATE, Maker(paid(1.0 + over)), Rollout)

    ended = await asyncio.gather(*(loop(n) for n in range(together)), return_exceptions=True)
    assert {type(one) for one in ended} == {CeilingReached}
    assert 4.5 - (2.0 + over) < ledger.spent.cost_usd <= 4.5 + over


@pytest.mark.parametrize("together", [2, 8])
async def test_calls_that_take_more_tokens_than_they_should_pass_a_ceiling_by_one(together):
    ledger = MemoryLedger(max_tokens=1_000)

    async def loop(name):
        for n in range(9):
            await ledger.once("replay", f"{name}/{n}", ESTIMATE, Maker(paid(tokens=200)), Rollout)

    await asyncio.gather(*(loop(n) for n in range(together)), return_exceptions=True)
    assert ledger.spent.tokens <= 1_000 + 200


@pytest.mark.parametrize(
    "told",
    [
        Usage(100, 20, cost_usd=-50.0),
        Usage(-1_000_000, 20, cost_usd=0.5),
        Usage(100, 20, cost_usd=float("nan")),
        Usage(1 << 62, 1 << 62, cost_usd=float("inf")),
    ],
    ids=["negative-cost", "negative-tokens", "no-number", "endless"],
)
async def test_a_call_that_tells_nonsense_about_its_cost_makes_no_room_for_others(told):
    ledger = MemoryLedger()
    liar = Completion(text="hello", model="m", usage=told)
    await ledger.once("rollout", "k", ESTIMATE, Maker(liar), Completion)
    assert ledger.spent.cost_usd in {0.5, 1.0}
    assert ledger.spent.tokens in {100, 120}


@pytest.mark.parametrize("told", [None, -1.0], ids=["a-helper-without-a-price", "nonsense"])
async def test_runs_whose_cost_cannot_be_told_may_each_have_passed_their_bound(told):
    """Each took a tenth more than its bound; only the one that began last may pass the ceiling by that."""
    ledger, made = MemoryLedger(max_usd=5.0), Maker(*(paid(told) for _ in range(9)))

    async def work():
        for number in range(9):
            await ledger.once("rollout", f"{number}", ESTIMATE, made, Rollout)

    with pytest.raises(CeilingReached):
        await work()
    assert made.calls * 1.1 <= 5.0 + 0.1


@pytest.mark.parametrize("cost", [float("inf"), float("nan")])
async def test_a_price_that_is_no_number_is_above_every_ceiling(cost):
    ledger = MemoryLedger(max_usd=1e9)
    with pytest.raises(CeilingReached):
        await ledger.once("replay", "k", Usage(1, cost_usd=cost), Maker(), Rollout)


async def test_an_attempt_that_may_take_more_than_the_first_is_held_to_the_ceiling_with_that():
    ledger = MemoryLedger(max_usd=2.0)

    async def work():
        with pytest.raises(CeilingReached):
            await begin_another(Usage(cost_usd=0.5), "it only reasoned", Usage(cost_usd=1.6))
        assert await begin_another(Usage(cost_usd=0.5), "it only reasoned", Usage(cost_usd=1.5))
        return paid(1.5)

    await ledger.once("replay", "k", ESTIMATE, work, Rollout)
    assert ledger.spent.cost_usd == 2.0
    assert [(entry.state, entry.usage.cost_usd) for entry in ledger.entries] == [
        ("failed", 0.5),
        ("done", 1.5),
    ]


@pytest.mark.parametrize("ceilings", [{"max_tokens": 150}, {"max_calls": 1}])
async def test_tokens_and_calls_have_ceilings_too(ceilings):
    ledger = MemoryLedger(**ceilings)
    await ledger.once("replay", "1", ESTIMATE, Maker(paid(tokens=60)), Rollout)
    with pytest.raises(CeilingReached):
        await ledger.once("replay", "2", ESTIMATE, Maker(paid()), Rollout)
    assert CeilingReached.exit_code == 5


async def test_an_infrastructure_failure_is_spent_but_tried_again():
    ledger = MemoryLedger()
    make = Maker(paid(0.1, outcome=Outcome.INFRASTRUCTURE), paid(0.2))
    await ledger.once("replay", "k", ESTIMATE, make, Rollout)
    result = await ledger.once("replay", "k", ESTIMATE, make, Rollout)
    assert result.outcome is Outcome.FINISHED
    assert [entry.state for entry in ledger.entries] == ["failed", "done"]
    assert ledger.spent.cost_usd == pytest.approx(0.3)


async def test_a_completion_with_an_error_is_a_failure_and_a_run_at_its_limit_is_not():
    ledger = MemoryLedger()
    broken = Completion(text="", model="m", error="503")
    limit = paid(outcome=Outcome.LIMIT)
    await ledger.once("edit", "k", Usage(), Maker(broken), Completion)
    await ledger.once("replay", "k", Usage(), Maker(limit), Rollout)
    assert [entry.state for entry in ledger.entries] == ["failed", "done"]


async def test_a_call_that_raised_counts_with_its_estimate():
    ledger = MemoryLedger()
    with pytest.raises(OSError, match="gone"):
        await ledger.once("replay", "k", ESTIMATE, Maker(OSError("gone")), Rollout)
    assert ledger.spent.cost_usd == 1.0
    assert ledger.entries[0].state == "failed"


async def test_a_call_of_unknown_price_counts_with_its_estimate():
    ledger = MemoryLedger(max_usd=1.5)
    await ledger.once("replay", "1", ESTIMATE, Maker(paid(cost=None)), Rollout)
    with pytest.raises(CeilingReached):
        await ledger.once("replay", "2", ESTIMATE, Maker(paid()), Rollout)


async def test_a_stored_result_of_another_type_is_a_mistake():
    ledger = MemoryLedger()
    await ledger.once("x", "k", ESTIMATE, Maker(paid()), Rollout)
    with pytest.raises(TypeError, match="stored is a Rollout"):
        await ledger.once("x", "k", ESTIMATE, Maker(), Completion)


def refused(fault: Fault) -> Completion:
    return Completion(text="", model="m", error="HTTP 401: bad key", fault=fault, usage=Usage(input_tokens=1))


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault.permanent])
async def test_after_a_lasting_fault_no_other_call_is_started(fault):
    ledger = MemoryLedger()
    make = Maker(paid(), refused(fault), paid())
    await ledger.once("rollout", "1", ESTIMATE, make, Rollout)
    with pytest.raises(ServiceRefused, match=r"the optimizer (is refused|cannot be reached)") as caught:
        await ledger.once("optimizer", "2", ESTIMATE, make, Completion)
    assert (caught.value.kind, caught.value.fault, caught.value.exit_code) == ("optimizer", fault, 1)
    assert "bad key" in caught.value.message
    assert caught.value.hint
    with pytest.raises(ServiceRefused):
        await ledger.once("rollout", "3", ESTIMATE, make, Rollout)
    assert make.calls == 2
    assert [entry.state for entry in ledger.entries] == ["done", "failed"]
    await ledger.once("rollout", "1", ESTIMATE, make, Rollout)


@pytest.mark.parametrize("fault", [fault for fault in Fault if not fault.permanent])
async def test_a_fault_that_may_pass_stops_nothing(fault):
    ledger = MemoryLedger()
    make = Maker(refused(fault), paid())
    assert (await ledger.once("optimizer", "1", ESTIMATE, make, Completion)).fault is fault
    await ledger.once("rollout", "2", ESTIMATE, make, Rollout)


async def test_a_reply_that_is_only_unusable_is_a_result_that_is_kept():
    ledger = MemoryLedger()
    make = Maker(Completion(text="half", model="m", fault=Fault.CUT))
    first = await ledger.once("optimizer", "1", ESTIMATE, make, Completion)
    assert await ledger.once("optimizer", "1", ESTIMATE, make, Completion) is first
