"""What a night spends is written down before and after, and never paid twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_replay.errors import CeilingReached
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Outcome, Rollout, Usage
from skillopt_sleep.config import Ceilings
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.nights import begin_night


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


async def test_a_call_the_infrastructure_lost_is_paid_for_and_made_again(connection):
    ledger = make_ledger(connection)
    calls = Calls(reply("", 0.5, error="429"), reply())
    assert (await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)).error == "429"
    assert (await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)).text == "hello"
    assert (await ledger.once("optimizer", "k", ESTIMATE, calls, Completion)).text == "hello"
    assert calls.made == 2
    assert ledger.spend().usd == 0.75


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


async def test_calls_under_way_count_with_their_reserve(connection):
    ledger = make_ledger(connection, usd=1.5)

    async def nested() -> Completion:
        with pytest.raises(CeilingReached):
            await ledger.once("optimizer", "other", ESTIMATE, Calls(reply()), Completion)
        return reply()

    await ledger.once("optimizer", "k", ESTIMATE, nested, Completion)


def test_a_killed_process_leaves_its_call_counted_and_the_next_one_does_not_repeat_the_rest(
    connection, tmp_path
):
    night = begin_night(connection, {}, {})
    script = f"""
import asyncio, os, pathlib, signal
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Usage
from skillopt_sleep.config import Ceilings
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


async def test_a_share_holds_what_its_calls_have_used_and_no_others(connection):
    ledger = make_ledger(connection)
    await ledger.once("optimizer", "of another skill", ESTIMATE, Calls(reply(cost=0.5)), Completion)
    ledger.begin_share()
    await ledger.once("optimizer", "k", ESTIMATE, Calls(reply(error="429")), Completion)
    await ledger.once("optimizer", "k", ESTIMATE, Calls(reply()), Completion)
    assert (ledger.usage().cost_usd, ledger.usage().tokens) == (0.5, 240), "the lost attempt was paid for"
    assert ledger.spend().usd == 1.0


async def test_a_share_counts_what_an_earlier_run_of_the_night_paid_for(connection):
    night = begin_night(connection, {}, {})
    await SqliteLedger(connection, night.id, Ceilings()).once(
        "optimizer", "k", ESTIMATE, Calls(reply()), Completion
    )
    ledger = SqliteLedger(connection, night.id, Ceilings())
    assert ledger.usage().tokens == 0
    await ledger.once("optimizer", "k", ESTIMATE, Calls(), Completion)
    assert (ledger.usage().cost_usd, ledger.usage().tokens) == (0.25, 120)


async def test_a_share_with_a_price_nobody_knows_has_no_cost(connection):
    ledger = make_ledger(connection)
    unpriced = Completion(text="hello", model="m", usage=Usage(100, 20))
    await ledger.once("optimizer", "k", Usage(1000, 100), Calls(unpriced), Completion)
    assert (ledger.usage().cost_usd, ledger.usage().tokens) == (None, 120)
