"""The ledger of a run: on disk, over processes, and never paying twice."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3

import pytest

from skillopt_replay.attempts import note_spent, reserve_at_least
from skillopt_replay.errors import CeilingReached, ServiceRefused
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Fault, Outcome, Rollout, Usage
from skillopt_sleep.training.contract import TrainingError
from skillopt_sleep.training.run_ledger import RunLedger

ESTIMATE = Usage(input_tokens=10, cost_usd=0.5)
USAGE = Usage(input_tokens=4, cost_usd=0.1)


async def ask(ledger, key, *, error=None, fault=None, calls=None):
    async def make():
        if calls is not None:
            calls.append(key)
        await asyncio.sleep(0)
        return Completion(text="" if error else key, model="m", usage=USAGE, error=error, fault=fault)

    return await ledger.once("optimizer", key, ESTIMATE, make, Completion)


async def test_what_ended_well_is_there_after_a_restart(tmp_path):
    calls = []
    for _ in range(2):
        ledger = RunLedger(tmp_path / "calls.db")
        assert (await ask(ledger, "a", calls=calls)).text == "a"
        ledger.close()
    assert calls == ["a"]


async def test_a_run_that_cannot_tell_what_it_used_counts_with_its_bound_after_a_restart_too(tmp_path):
    lost = Rollout(
        task="t", skill="", agent="a", model="", outcome=Outcome.INFRASTRUCTURE, answer="", untold=True
    )

    async def make():
        return lost

    ledger = RunLedger(tmp_path / "calls.db", max_tokens=30)
    await ledger.once("rollout", "a", ESTIMATE, make, Rollout)
    assert ledger.spent == ESTIMATE
    ledger.close()
    ledger = RunLedger(tmp_path / "calls.db", max_tokens=29)
    assert ledger.spent == ESTIMATE
    with pytest.raises(CeilingReached, match="30"):  # the lost one may have passed its bound as well
        await ledger.once("rollout", "a", ESTIMATE, make, Rollout)
    ledger.close()


@pytest.mark.parametrize("cost", [float("nan"), -9.0], ids=["no number", "less than nothing"])
async def test_calls_whose_cost_cannot_be_read_may_have_passed_their_bound_after_a_restart_too(
    tmp_path, cost
):
    async def make():
        return Completion(text="x", model="m", usage=Usage(input_tokens=4, cost_usd=cost))

    for number in range(2):
        ledger = RunLedger(tmp_path / "calls.db", max_usd=2.4)
        await ledger.once("rollout", f"call {number}", ESTIMATE, make, Completion)
        ledger.close()
    ledger = RunLedger(tmp_path / "calls.db", max_usd=2.4)
    assert ledger.spent.cost_usd == pytest.approx(2 * ESTIMATE.cost_usd)
    with pytest.raises(CeilingReached, match=r"2\.50"):  # twice as much may have been spent
        await ledger.once("rollout", "one more", ESTIMATE, make, Completion)
    ledger.close()


async def test_a_file_of_an_earlier_version_is_gone_on_with(tmp_path):
    ledger = RunLedger(tmp_path / "calls.db")
    await ask(ledger, "a")
    ledger.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "calls.db")) as file:
        file.execute("ALTER TABLE calls DROP COLUMN told")
    for _ in range(2):
        ledger = RunLedger(tmp_path / "calls.db", max_usd=0.6)
        assert ledger.spent == USAGE
        assert (await ask(ledger, "a")).text == "a"
        ledger.close()
    ledger = RunLedger(tmp_path / "calls.db", max_usd=0.6)
    await ask(ledger, "b")
    ledger.close()


async def test_two_that_ask_the_same_at_once_pay_once(tmp_path):
    ledger, calls = RunLedger(tmp_path / "calls.db"), []
    await asyncio.gather(*(ask(ledger, "a", calls=calls) for _ in range(5)))
    assert calls == ["a"]
    ledger.close()


async def test_what_the_infrastructure_failed_is_spent_but_tried_again(tmp_path):
    ledger, calls = RunLedger(tmp_path / "calls.db"), []
    await ask(ledger, "a", error="503", calls=calls)
    assert (await ask(ledger, "a", calls=calls)).text == "a"
    assert (calls, ledger.calls, ledger.spent.input_tokens) == (["a", "a"], 2, 8)
    ledger.close()


async def test_a_ceiling_holds_over_restarts_and_before_a_call(tmp_path):
    for number in range(3):
        ledger = RunLedger(tmp_path / "calls.db", max_usd=0.7)
        await ask(ledger, f"call {number}")
        ledger.close()
    ledger = RunLedger(tmp_path / "calls.db", max_usd=0.7)
    calls = []
    with pytest.raises(CeilingReached, match=r"0\.80"):
        await ask(ledger, "one more", calls=calls)
    assert calls == []
    ledger.close()


async def test_a_call_that_was_under_way_when_the_process_died_counts_with_its_estimate(tmp_path):
    ledger = RunLedger(tmp_path / "calls.db")
    started = asyncio.Event()

    async def hang():
        started.set()
        await asyncio.sleep(60)
        raise AssertionError

    task = asyncio.ensure_future(ledger.once("rollout", "a", ESTIMATE, hang, Completion))
    await started.wait()
    other = RunLedger(tmp_path / "calls.db")
    assert other.spent == ESTIMATE
    other.close()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ledger.spent == ESTIMATE
    ledger.close()


async def test_a_call_that_is_cut_off_counts_with_what_it_could_still_tell_after_a_restart_too(tmp_path):
    ledger = RunLedger(tmp_path / "calls.db")
    told = Usage(input_tokens=7, cost_usd=0.25)

    async def stop():
        note_spent(told)
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await ledger.once("rollout", "a", ESTIMATE, stop, Completion)
    assert ledger.spent == told
    ledger.close()
    again = RunLedger(tmp_path / "calls.db")
    assert again.spent == told
    again.close()


async def test_a_call_that_needs_more_than_was_reserved_counts_with_it_after_a_restart_too(tmp_path):
    ledger = RunLedger(tmp_path / "calls.db", max_usd=4.0)
    more = Usage(input_tokens=900, cost_usd=3.0)

    async def die():
        await reserve_at_least(ESTIMATE)
        assert (ledger.calls, ledger.spent) == (1, ESTIMATE)
        await reserve_at_least(more)
        with pytest.raises(CeilingReached):
            await reserve_at_least(Usage(cost_usd=4.5))
        assert (ledger.calls, ledger.spent) == (1, more)
        other = RunLedger(tmp_path / "calls.db")
        assert (other.calls, other.spent) == (1, more)
        other.close()
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        await ledger.once("optimizer", "a", ESTIMATE, die, Completion)
    assert (ledger.calls, ledger.spent) == (1, more)
    ledger.close()


async def test_a_refused_service_is_asked_no_more(tmp_path):
    ledger, calls = RunLedger(tmp_path / "calls.db"), []
    with pytest.raises(ServiceRefused):
        await ask(ledger, "a", error="401", fault=Fault.SIGN_IN, calls=calls)
    with pytest.raises(ServiceRefused):
        await ask(ledger, "b", calls=calls)
    assert calls == ["a"]
    ledger.close()


async def test_calls_at_once_pass_a_ceiling_by_one_at_most_also_after_a_restart(tmp_path):
    async def make():
        await asyncio.sleep(0)
        return Completion(text="x", model="m", usage=Usage(input_tokens=4, cost_usd=0.9))

    for number in range(2):
        ledger = RunLedger(tmp_path / "calls.db", max_usd=3.0)
        asked = [ledger.once("rollout", f"{number}/{n}", ESTIMATE, make, Completion) for n in range(8)]
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert CeilingReached in {type(one) for one in ended}
        assert 2.0 < ledger.spent.cost_usd <= 3.0 + 0.4
        ledger.close()


async def test_a_call_whose_cost_is_told_as_less_than_nothing_counts_with_its_estimate(tmp_path):
    async def make():
        return Completion(text="x", model="m", usage=Usage(input_tokens=-4, cost_usd=-9.0))

    ledger = RunLedger(tmp_path / "calls.db")
    await ledger.once("rollout", "k", ESTIMATE, make, Completion)
    assert ledger.spent == ESTIMATE
    ledger.close()


async def test_runs_that_are_killed_one_after_the_other_pass_a_ceiling_by_one_call(tmp_path):
    asked, lives = [], []

    async def spend_and_hang():
        asked.append(0.6)  # the estimate is 0.5, and the last request passed it
        await asyncio.Event().wait()
        raise AssertionError

    for _ in range(12):
        ledger = RunLedger(tmp_path / "calls.db", max_usd=4.0)
        calls = [ledger.once("rollout", f"{n}", ESTIMATE, spend_and_hang, Completion) for n in range(2)]
        lives += [asyncio.ensure_future(call) for call in calls]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sum(asked) <= 4.0 + 0.1
    assert sum(asked) > 2.0
    with pytest.raises(CeilingReached):
        await lives[-1]
    for one in lives:
        one.cancel()
    await asyncio.gather(*lives, return_exceptions=True)


async def test_what_was_paid_for_is_kept_though_the_disk_is_full_for_a_while(tmp_path):
    ledger = RunLedger(tmp_path / "calls.db")

    def limit(pages: int) -> None:
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}")

    async def make():
        limit(ledger._connection.execute("PRAGMA page_count").fetchone()[0])
        asyncio.get_running_loop().call_later(0.7, limit, 1_000_000)
        return Completion(text="x" * 100_000, model="m", usage=USAGE)

    await ledger.once("optimizer", "a", ESTIMATE, make, Completion)
    ledger.close()
    again, calls = RunLedger(tmp_path / "calls.db"), []
    assert (await ask(again, "a", calls=calls)).text == "x" * 100_000
    assert calls == []
    again.close()


async def test_a_call_that_cannot_be_written_down_is_waited_for_by_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr("skillopt_sleep.patience._WAITS_S", (0.1,))
    ledger = RunLedger(tmp_path / "calls.db", max_usd=0.9)
    holder = sqlite3.connect(tmp_path / "calls.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    asked = [asyncio.ensure_future(ask(ledger, key)) for key in ("a", "b")]
    with pytest.raises(TrainingError, match="locked"):
        await asked[0]
    holder.close()
    assert (await asyncio.wait_for(asked[1], 30)).text == "b"
    assert ledger.spent.cost_usd == 0.1
    ledger.close()


async def test_a_ledger_that_cannot_be_used_is_told_as_what_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("skillopt_sleep.patience._WAITS_S", (0.1,))
    (tmp_path / "damaged.db").write_bytes(b"no database" * 1000)
    with pytest.raises(TrainingError, match=r"cannot use the ledger .*damaged\.db: file is not a database"):
        RunLedger(tmp_path / "damaged.db")
    ledger = RunLedger(tmp_path / "calls.db", max_usd=1.0)

    async def make():
        # Stands for a disk that fills up while a call is under way.
        pages = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
        return Completion(text="x" * 100_000, model="m", usage=USAGE)

    with pytest.raises(TrainingError, match="disk is full") as caught:
        await ledger.once("optimizer", "a", ESTIMATE, make, Completion)
    assert "free some disk space" in caught.value.hint
    ledger.close()
    again = RunLedger(tmp_path / "calls.db", max_usd=1.0)
    assert again.spent.cost_usd == 0.5, "it goes on counting with its bound"
    again.close()
