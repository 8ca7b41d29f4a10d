"""What a night spends is written down before and after, and never paid twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from skillopt_replay.attempts import begin_another, note_spent, reserve_at_least
from skillopt_replay.errors import CeilingReached
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Outcome, Rollout, Usage
from skillopt_sleep.clock import month_start
from skillopt_sleep.settings import Ceilings
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.nights import begin_night
from skillopt_sleep.store.spending import read_month


@pytest.fixture
def connection(tmp_path: Path):
    connection = connect(tmp_path / "state" / "state.db")
    yield connection
    connection.close()


def make_ledger(connection, **ceilings) -> SqliteLedger:
    night = begin_night(connection, {}, {})
    return SqliteLedger(connection, night.id, Ceilings(**ceilings))


class Calls:
    def __init__(self, *results: Completion | Rollout | BaseException) -> None:
        self.results = list(results)
        self.made = 0

    async def __call__(self):
        self.made += 1
        result = self.results.pop(0)
        if isinstance(result, BaseException):
            raise result
        return result


def reply(text: str = "hello", cost: float = 0.25, error: str | None = None) -> Completion:
    return Completion(text=text, model="m", usage=Usage(100, 20, cost_usd=cost), error=error)


ESTIMATE = Usage(1000, 100, cost_usd=1.0)


async def test_a_finished_call_is_returned_and_not_made_again(connection):
    ledger = make_ledger(connection)
    calls = Calls(reply())
    first = await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)
    second = await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)
    assert first == second == reply()
    assert calls.made == 1
    assert (ledger.spend().calls, ledger.spend().usd, ledger.spend().tokens) == (1, 0.25, 120)


async def test_what_was_paid_for_is_kept_though_another_program_holds_the_database(connection):
    ledger = make_ledger(connection)
    path = connection.execute("pragma database_list").fetchone()["file"]
    holder = sqlite3.connect(path, isolation_level=None)
    longest = 0.0

    async def let_go() -> None:
        nonlocal longest
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)
        holder.execute("rollback")

    async def make() -> Completion:
        holder.execute("begin immediate")
        return reply()

    letting = asyncio.ensure_future(let_go())
    try:
        await ledger.once("optimizer", "k", ESTIMATE, make, Completion)
        await letting
    finally:
        holder.close()
    assert await ledger.once("optimizer", "k", ESTIMATE, Calls(), Completion) == reply()
    assert ledger.spend().usd == 0.25
    assert longest < 2.0, "runs are kept to their limits meanwhile"


async def test_what_was_paid_for_is_kept_though_the_disk_is_full_for_a_while(connection):
    ledger = make_ledger(connection)
    long = reply("x" * 1_000_000)

    def limit(pages: int) -> None:
        connection.execute(f"pragma max_page_count = {pages}")

    async def make() -> Completion:
        limit(connection.execute("pragma page_count").fetchone()[0])
        asyncio.get_running_loop().call_later(1.0, limit, 1_000_000)
        return long

    await ledger.once("optimizer", "k", ESTIMATE, make, Completion)
    assert await ledger.once("optimizer", "k", ESTIMATE, Calls(), Completion) == long


async def test_a_call_that_asks_again_waits_for_the_database_without_holding_up_others(connection):
    ledger = make_ledger(connection)
    path = connection.execute("pragma database_list").fetchone()["file"]
    holder = sqlite3.connect(path, isolation_level=None)

    async def make() -> Completion:
        holder.execute("begin immediate")
        asyncio.get_running_loop().call_later(1.5, holder.execute, "rollback")
        assert await begin_another(None, "the reply was cut")
        return reply()

    call = asyncio.ensure_future(ledger.once("optimizer", "k", ESTIMATE, make, Completion))
    longest = 0.0
    while not call.done():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
    holder.close()
    assert await call == reply()
    assert ledger.spend().usd == 1.25, "the reserve of what was cut, and what came"
    assert longest < 2.0, "runs are kept to their limits meanwhile"


async def test_who_is_stopped_while_the_database_was_held_keeps_what_was_paid_for(connection):
    ledger = make_ledger(connection)
    path = connection.execute("pragma database_list").fetchone()["file"]
    holder = sqlite3.connect(path, isolation_level=None)

    async def make() -> Completion:
        holder.execute("begin immediate")
        return reply()

    call = asyncio.ensure_future(ledger.once("optimizer", "k", ESTIMATE, make, Completion))
    await asyncio.sleep(0.7)  # it has been refused once, and waits
    holder.execute("rollback")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await ledger.once("optimizer", "k", ESTIMATE, Calls(), Completion) == reply()
    holder.close()


async def test_a_call_that_is_cut_off_counts_with_what_it_could_still_tell(connection):
    ledger = make_ledger(connection)

    async def stop() -> Completion:
        note_spent(Usage(input_tokens=7, cost_usd=0.25))
        raise asyncio.CancelledError

    async def stop_unknowing() -> Completion:
        note_spent(Usage(input_tokens=7, cost_usd=0.25))
        assert await begin_another(None, "the reply was cut")
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await ledger.once("optimizer", "told", ESTIMATE, stop, Completion)
    assert (ledger.spend().usd, ledger.spend().tokens) == (0.25, 7)
    with pytest.raises(asyncio.CancelledError):
        await ledger.once("optimizer", "of an attempt before", ESTIMATE, stop_unknowing, Completion)
    assert ledger.spend().usd == 0.25 + 2 * (ESTIMATE.cost_usd or 0.0)


async def test_a_held_database_does_not_hide_that_a_call_was_stopped(connection):
    ledger = make_ledger(connection)
    path = connection.execute("pragma database_list").fetchone()["file"]
    holder = sqlite3.connect(path, isolation_level=None)

    async def make() -> Completion:
        holder.execute("begin immediate")
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await ledger.once("optimizer", "k", ESTIMATE, make, Completion)
    holder.close()
    assert (ledger.spend().calls, ledger.spend().usd) == (1, 1.0)
    await ledger.once("optimizer", "k", ESTIMATE, Calls(reply()), Completion)
    assert (ledger.spend().calls, ledger.spend().usd) == (2, 1.25)


async def test_a_disk_that_stays_full_is_told_and_the_call_goes_on_counting(connection, monkeypatch):
    monkeypatch.setattr("skillopt_sleep.patience._WAITS_S", (0.1, 0.1))
    ledger = make_ledger(connection)

    async def make() -> Completion:
        connection.execute(f"pragma max_page_count = {connection.execute('pragma page_count').fetchone()[0]}")
        return reply("x" * 1_000_000)

    with pytest.raises(sqlite3.OperationalError, match="full"):
        await ledger.once("optimizer", "k", ESTIMATE, make, Completion)
    assert ledger.spend().usd == 1.0


async def test_a_call_the_infrastructure_lost_is_paid_for_and_made_again(connection):
    ledger = make_ledger(connection)
    calls = Calls(reply("", 0.5, error="429"), reply())
    assert (await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)).error == "429"
    assert (await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)).text == "hello"
    assert (await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)).text == "hello"
    assert calls.made == 2
    assert ledger.spend().usd == 0.75


async def test_a_run_that_cannot_tell_what_it_used_counts_with_its_bound(connection):
    ledger = make_ledger(connection)
    lost = Rollout(
        task="t", skill="", agent="a", model="", outcome=Outcome.INFRASTRUCTURE, answer="", untold=True
    )
    await ledger.once("rollout", "k", ESTIMATE, Calls(lost), Rollout)
    spent = ledger.spend()
    assert (spent.tokens, spent.usd, spent.reserved_usd) == (1100, 1.0, 1.0)


async def test_a_run_into_its_own_limit_is_a_result_and_kept(connection):
    ledger = make_ledger(connection)
    run = Rollout(
        task="t", skill="", agent="a", model="m", outcome=Outcome.LIMIT, answer="", error="60 s are over"
    )
    calls = Calls(run)
    assert await ledger.once("rollout", "k", ESTIMATE, calls, Rollout) == run
    assert await ledger.once("rollout", "k", ESTIMATE, calls, Rollout) == run
    assert ledger.count("rollout") == 1


async def test_an_exception_keeps_the_reserve_counted(connection):
    ledger = make_ledger(connection)
    with pytest.raises(RuntimeError):
        await ledger.once("rollout", "k", ESTIMATE, Calls(RuntimeError("died")), Rollout)
    assert (ledger.spend().usd, ledger.spend().tokens) == (1.0, 1100)


@pytest.mark.parametrize(
    ("ceilings", "message"),
    [({"usd": 0.9}, r"\$0.90"), ({"tokens": 1000}, "tokens"), ({"calls": 0}, "calls")],
)
async def test_a_call_that_could_pass_a_ceiling_is_not_started(connection, ceilings, message):
    ledger = make_ledger(connection, **ceilings)
    calls = Calls(reply())
    with pytest.raises(CeilingReached, match=message):
        await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)
    assert calls.made == 0
    assert ledger.spend().calls == 0


async def test_calls_under_way_count_with_their_reserve_until_they_tell_what_they_cost(connection):
    ledger = make_ledger(connection, usd=2.5)
    together = most = 0

    async def work() -> Completion:
        nonlocal together, most
        together += 1
        most = max(most, together)
        await asyncio.sleep(0.01)
        together -= 1
        return reply(cost=0.25)

    # Each might cost a dollar, so two go at a time; what they cost in the end leaves room for seven of them.
    ended = await asyncio.gather(
        *(ledger.once("rollout", f"{n}", ESTIMATE, work, Completion) for n in range(8)),
        return_exceptions=True,
    )
    assert most == 2
    assert [type(one) for one in ended].count(Completion) == 7
    assert [type(one) for one in ended].count(CeilingReached) == 1
    assert ledger.spend().usd == pytest.approx(1.75)


async def test_what_a_run_of_unknown_price_tells_is_kept_for_the_others(connection):
    ledger = make_ledger(connection, usd=0.5)
    unknown = Usage(1000, 100)
    made = 0

    async def work() -> Completion:
        nonlocal made
        made += 1
        await asyncio.sleep(0.01)
        return reply(cost=0.2)

    ended = await asyncio.gather(
        *(ledger.once("rollout", f"{n}", unknown, work, Completion) for n in range(8)), return_exceptions=True
    )
    assert made == 2
    assert [type(one) for one in ended].count(CeilingReached) == 6
    assert ledger.spend().usd == pytest.approx(0.4)


async def test_a_run_that_passed_its_own_bound_raises_what_is_kept_for_the_next(connection):
    ledger = make_ledger(connection, usd=3.4)
    await ledger.once("rollout", "1", ESTIMATE, Calls(reply(cost=1.3)), Completion)
    await ledger.once("rollout", "2", ESTIMATE, Calls(reply(cost=0.9)), Completion)
    with pytest.raises(CeilingReached, match=r"may cost \$1.30"):
        await ledger.once("rollout", "3", ESTIMATE, Calls(), Completion)
    await ledger.once("optimizer", "4", ESTIMATE, Calls(reply(cost=0.1)), Completion)


@pytest.mark.parametrize(
    "told",
    [
        Usage(100, 20, cost_usd=-50.0),
        Usage(-1_000_000, 20, cost_usd=0.5),
        Usage(100, 20, cost_usd=float("nan")),
        Usage(1 << 62, 1 << 62, cost_usd=float("inf")),
    ],
)
async def test_a_run_that_tells_nonsense_about_its_cost_makes_no_room_for_others(connection, told):
    ledger = make_ledger(connection)
    liar = Completion(text="hello", model="m", usage=told)
    await ledger.once("rollout", "k", ESTIMATE, Calls(liar), Completion)
    spent = ledger.spend()
    assert spent.usd in {0.5, 1.0}
    assert spent.tokens in {120, 1100}


@pytest.mark.parametrize("together", [2, 3, 5])
@pytest.mark.parametrize("over", [0.0, 0.4, 1.0])
async def test_only_the_call_begun_last_may_pass_the_ceiling_of_money(connection, together, over):
    ledger = make_ledger(connection, usd=4.5)

    async def work() -> Completion:
        await asyncio.sleep(0.005)
        return reply(cost=1.0 + over)

    async def loop(name: int) -> None:
        for n in range(6):
            await ledger.once("rollout", f"{name}/{n}", ESTIMATE, work, Completion)

    ended = await asyncio.gather(*(loop(n) for n in range(together)), return_exceptions=True)
    assert {type(one) for one in ended} == {CeilingReached}
    assert 4.5 - (2.0 + over) < ledger.spend().usd <= 4.5 + over


async def test_a_call_that_asks_its_service_again_has_a_row_for_each_attempt(connection):
    ledger = make_ledger(connection, usd=5.0)

    async def work() -> Completion:
        assert await begin_another(None, "the reply was cut")
        assert await begin_another(Usage(10, 5, cost_usd=0.1), "it only reasoned")
        assert ledger.spend().reserved_usd == 2.0, "what was lost, and what is under way"
        return reply(cost=0.25)

    await ledger.once("optimizer", "k", ESTIMATE, work, Completion)
    rows = connection.execute("select key, state, usd, error from calls order by rowid").fetchall()
    assert [tuple(row) for row in rows] == [
        ("k#1", "failed", None, "the reply was cut"),
        ("k#2", "failed", 0.1, "it only reasoned"),
        ("k", "done", 0.25, None),
    ]
    assert ledger.spend().usd == pytest.approx(1.35)
    assert ledger.usage().cost_usd == pytest.approx(1.35)
    assert not await begin_another(None, "nobody asks")


async def test_a_call_may_not_ask_again_where_that_could_pass_a_ceiling(connection):
    ledger = make_ledger(connection, usd=1.5)

    async def work() -> Completion:
        with pytest.raises(CeilingReached):
            await begin_another(None, "the reply was cut")
        return reply("", cost=1.0, error="the reply was cut")

    await ledger.once("optimizer", "k", ESTIMATE, work, Completion)
    assert (ledger.spend().calls, ledger.spend().usd) == (1, 1.0)
    await ledger.once("judge", "k", Usage(1, 1, cost_usd=0.3), Calls(reply(cost=0.3)), Completion)


async def test_a_call_that_needs_more_than_was_reserved_gets_it_where_the_ceiling_allows(connection):
    ledger = make_ledger(connection, usd=4.0)
    more = Usage(1000, 900, cost_usd=3.0)

    async def work() -> Completion:
        await reserve_at_least(ESTIMATE)
        assert ledger.spend().reserved_usd == 1.0
        await reserve_at_least(more)
        assert (ledger.spend().calls, ledger.spend().tokens, ledger.spend().reserved_usd) == (1, 1900, 3.0)
        with pytest.raises(CeilingReached):
            await reserve_at_least(Usage(cost_usd=4.5))
        assert (ledger.spend().calls, ledger.spend().reserved_usd) == (1, 3.0)
        assert await begin_another(Usage(cost_usd=0.25), "cut", ESTIMATE)
        assert (ledger.spend().calls, ledger.spend().usd) == (2, 1.25)
        return reply()

    await ledger.once("optimizer", "k", ESTIMATE, work, Completion)
    assert (ledger.spend().calls, ledger.spend().usd, ledger.spend().reserved_usd) == (2, 0.5, 0.0)


async def test_the_minutes_of_a_night_are_those_of_all_processes_that_worked_on_it(connection, monkeypatch):
    now = 0.0
    monkeypatch.setattr("skillopt_sleep.store.ledger.time.monotonic", lambda: now)
    night = begin_night(connection, {}, {})
    first = SqliteLedger(connection, night.id, Ceilings(minutes=10))
    now = 400.0
    await first.once("rollout", "1", ESTIMATE, Calls(reply()), Completion)
    now = 5.0  # the machine was started anew
    second = SqliteLedger(connection, night.id, Ceilings(minutes=10))
    now = 180.0
    await second.once("rollout", "2", ESTIMATE, Calls(reply()), Completion)
    now = 210.0
    with pytest.raises(CeilingReached, match="10 minutes are over"):
        await second.once("rollout", "3", ESTIMATE, Calls(), Completion)
    other = begin_night(connection, {}, {})
    await SqliteLedger(connection, other.id, Ceilings(minutes=10)).once(
        "rollout", "3", ESTIMATE, Calls(reply()), Completion
    )


async def test_runs_that_never_tell_a_price_are_not_held_up_by_money(connection):
    ledger = make_ledger(connection, usd=0.1)
    silent = Completion(text="hello", model="m", usage=Usage(100, 20))
    for n in range(5):
        await ledger.once("rollout", f"{n}", Usage(1000, 100), Calls(silent), Completion)
    assert (ledger.spend().usd, ledger.spend().reserved_usd, ledger.spend().calls) == (0.0, 0.0, 5)


def test_a_killed_process_leaves_its_call_counted_and_the_next_one_does_not_repeat_the_rest(
    connection, tmp_path
):
    night = begin_night(connection, {}, {})
    script = f"""
import asyncio, os, pathlib, signal
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Usage
from skillopt_sleep.settings import Ceilings
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.ledger import SqliteLedger
connection = connect(pathlib.Path({str(tmp_path / "state" / "state.db")!r}))
ledger = SqliteLedger(connection, {night.id!r}, Ceilings())
async def good():
    return Completion(text="kept", model="m", usage=Usage(1, 1, cost_usd=0.1))
async def fatal():
    os.kill(os.getpid(), signal.SIGKILL)
async def work():
    await ledger.once("optimizer", "first", Usage(cost_usd=1.0), good, Completion)
    await ledger.once("optimizer", "second", Usage(cost_usd=1.0), fatal, Completion)
asyncio.run(work())
"""
    died = subprocess.run([sys.executable, "-c", script], env=dict(os.environ), check=False)
    assert died.returncode == -signal.SIGKILL
    ledger = SqliteLedger(connection, night.id, Ceilings())
    assert ledger.spend().usd == pytest.approx(1.1)
    assert ledger.count("optimizer") == 1


async def test_two_that_ask_for_the_same_call_at_once_pay_for_it_once(connection):
    ledger = make_ledger(connection)
    calls = Calls(reply("first"), reply("second"))

    async def slowly() -> Completion:
        await asyncio.sleep(0.01)
        return await calls()

    both = await asyncio.gather(
        *(ledger.once("judge", "same words", ESTIMATE, slowly, Completion) for _ in range(3))
    )
    assert [one.text for one in both] == ["first"] * 3
    assert calls.made == 1
    assert (ledger.spend().calls, ledger.spend().usd, ledger.spend().reserved_usd) == (1, 0.25, 0.0)


async def test_no_lock_is_kept_of_a_call_that_has_ended(connection):
    ledger = make_ledger(connection)
    for n in range(5):
        await ledger.once("judge", f"{n}", ESTIMATE, Calls(reply()), Completion)
    with pytest.raises(RuntimeError):
        await ledger.once("judge", "dies", ESTIMATE, Calls(RuntimeError("died")), Completion)
    assert len(ledger._under_way) == 0


@pytest.mark.parametrize("limits", [{"usd": 6.0}, {"usd_month": 6.0}], ids=["night", "month"])
async def test_lives_that_are_killed_one_after_the_other_pass_a_ceiling_by_one_call(connection, limits):
    night = begin_night(connection, {}, {})
    lives, asked = [], []

    async def spend_and_hang() -> Completion:
        asked.append(1.2)  # the bound is 1.0, and the last request passed it
        await asyncio.Event().wait()
        raise AssertionError

    for life in range(20):
        # A process that is killed writes nothing more, so what it leaves is what another one finds beside it.
        ledger = SqliteLedger(connection, night.id, Ceilings(**limits))
        calls = [ledger.once("rollout", f"{n}", ESTIMATE, spend_and_hang, Rollout) for n in range(2)]
        lives += [asyncio.ensure_future(call) for call in calls]
        for _ in range(5):
            await asyncio.sleep(0)
        assert sum(asked) <= 6.0 + 0.2, life
    told = await asyncio.gather(*lives[-2:], return_exceptions=True)
    assert {type(one) for one in told} == {CeilingReached}
    assert "cut off may have cost" in str(told[0])
    assert sum(asked) > 3.0
    for one in lives:
        one.cancel()
    await asyncio.gather(*lives, return_exceptions=True)


async def test_one_that_waited_for_a_call_that_was_lost_makes_it_itself(connection):
    ledger = make_ledger(connection)
    calls = Calls(reply("", 0.5, error="429"), reply())
    both = await asyncio.gather(
        *(ledger.once("judge", "same words", ESTIMATE, calls, Completion) for _ in range(2))
    )
    assert [one.error for one in both] == ["429", None]
    assert (ledger.spend().calls, ledger.spend().usd) == (2, 0.75)


async def test_the_ceiling_of_the_month_counts_every_night_since_it_began(connection):
    for _ in range(3):
        ledger = make_ledger(connection, usd=2.0, usd_month=2.9)
        await ledger.once("rollout", "k", Usage(cost_usd=0.9), Calls(reply(cost=0.9)), Completion)
    with pytest.raises(CeilingReached, match=r"\$2.70 of the month's \$2.90") as stopped:
        await ledger.once("rollout", "other", Usage(cost_usd=0.3), Calls(), Completion)
    assert "usd_month" in stopped.value.hint
    assert read_month(connection) == pytest.approx(2.7)
    assert ledger.spend().calls == 1
    unbound = make_ledger(connection, usd=1.0, usd_month=0)
    await unbound.once("rollout", "k", Usage(cost_usd=0.9), Calls(reply(cost=0.9)), Completion)


async def test_a_call_that_was_cut_off_counts_for_the_month_with_its_reserve(connection):
    first = make_ledger(connection)
    with pytest.raises(RuntimeError):
        await first.once("rollout", "k", ESTIMATE, Calls(RuntimeError("died")), Completion)
    second = make_ledger(connection, usd_month=2.5)
    await second.once("rollout", "k", Usage(cost_usd=0.3), Calls(reply(cost=0.3)), Completion)
    with pytest.raises(CeilingReached, match="month"):
        await second.once("rollout", "other", Usage(cost_usd=0.3), Calls(), Completion)
    assert read_month(connection) == pytest.approx(1.3)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"])
async def test_what_last_month_cost_is_over_when_the_month_ends_here(connection, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        began = datetime.strptime(month_start(), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        here = began.astimezone()
        assert (here.day, here.hour, here.minute) == (1, 0, 0)
        assert here.month == datetime.now().astimezone().month
        ledger = make_ledger(connection)
        for key in ("before", "after"):
            await ledger.once("rollout", key, ESTIMATE, Calls(reply(cost=0.5)), Completion)
        before = (began - timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        connection.execute("update calls set started = ? where key = 'before'", (before,))
        assert read_month(connection) == 0.5
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_share_holds_what_its_calls_have_used_and_no_others(connection):
    ledger = make_ledger(connection)
    await ledger.once("optimizer", "of another skill", ESTIMATE, Calls(reply(cost=0.5)), Completion)
    ledger.begin_share("this skill")
    await ledger.once("optimizer", "k", ESTIMATE, Calls(reply(error="429")), Completion)
    await ledger.once("optimizer", "k", ESTIMATE, Calls(reply()), Completion)
    assert (ledger.usage().cost_usd, ledger.usage().tokens) == (0.5, 240), "the lost attempt was paid for"
    assert ledger.spend().usd == 1.0


async def test_a_share_counts_what_an_earlier_run_of_the_night_paid_for(connection):
    night = begin_night(connection, {}, {})
    earlier = SqliteLedger(connection, night.id, Ceilings())
    earlier.begin_share("this skill")
    await earlier.once("optimizer", "k", ESTIMATE, Calls(reply()), Completion)
    ledger = SqliteLedger(connection, night.id, Ceilings())
    assert ledger.usage().tokens == 0
    ledger.begin_share("this skill")
    assert (ledger.usage().cost_usd, ledger.usage().tokens) == (0.25, 120)


async def test_a_share_with_a_price_nobody_knows_has_no_cost(connection):
    ledger = make_ledger(connection)
    unpriced = Completion(text="hello", model="m", usage=Usage(100, 20))
    await ledger.once("optimizer", "k", Usage(1000, 100), Calls(unpriced), Completion)
    assert (ledger.usage().cost_usd, ledger.usage().tokens) == (None, 120)


@pytest.mark.parametrize("tells", [True, False], ids=["told tokens and no dollars", "told nothing"])
async def test_what_is_silent_about_dollars_counts_as_the_dearest_also_where_nobody_knew_a_price(
    connection, tells
):
    """As with a client whose model, and so its price, is known from its first reply on."""

    def run(usage: Usage, **more) -> Rollout:
        values = {"task": "t", "skill": "", "agent": "a", "model": "m", "answer": "hello"}
        return Rollout(**values, outcome=Outcome.FINISHED, usage=usage, **more)

    ledger = make_ledger(connection, usd=3.0, usd_month=0)
    unpriced = Usage(1000)
    await ledger.once("rollout", "0", unpriced, Calls(run(Usage(100, cost_usd=1.0))), Rollout)
    silent = run(Usage(100 if tells else 0), untold=not tells)
    await ledger.once("rollout", "1", unpriced, Calls(silent), Rollout)
    assert ledger.spend().usd == 2.0
    # It may have passed what was reserved for it, as one that was cut off.
    with pytest.raises(CeilingReached):
        await ledger.once("rollout", "2", unpriced, Calls(silent), Rollout)
