"""Pools of real clients, killed at any moment or held to a ceiling: the service's own log against the ledger.

`SKILLOPT_TEST_KILLS=30` kills each pool that often.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import psutil
import pytest

from skillopt_replay.sandbox import bubblewrap
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.nights import begin_night
from skillopt_sleep.store.spending import read_month, read_spend
from tests.replay.real_suite import do, marks_for, play
from tests.support.doomed_pool import Plan
from tests.support.scripted_model_server import MockModelServer

PROGRAMS = {
    name: os.environ.get(f"SKILLOPT_TEST_{name.upper()}", "") for name in ("claude", "codex", "copilot")
}
KILLS = int(os.environ.get("SKILLOPT_TEST_KILLS", "2"))
SEED = int(os.environ.get("SKILLOPT_TEST_SEED", "7"))
ROOT = Path(__file__).parents[2]
REQUEST_USD = 0.0124  # 1,240 tokens
CLAUDE_USD = 0.0056  # what the client itself makes of them

CLIENTS = [
    pytest.param(name, marks=marks_for(program, f"SKILLOPT_TEST_{name.upper()}"), id=name)
    for name, program in PROGRAMS.items()
]

GRADE = json.dumps({"reason": "it shows", "grade": "met"})
HELPER = {"description": "do it", "prompt": "TASK-77 goes on for ever", "type": "general-purpose"}
PLAYS = [
    {
        "name": "judge",
        "when": {"any_contains": "You judge work"},
        "steps": [do({"say": GRADE}, delay_s=0.05)],
    },
    play("EDIT-", do({"say": "An edit."}, delay_s=0.2)),
    play("for ever", do({"shell": "echo again"}, delay_s=0.05)),
    play("have it done", do(*[{"subagent": HELPER}] * 4), do({"say": "It is being done."})),
    play(
        "create hello",
        do({"shell": "echo hi > hello.txt"}, delay_s=0.1),
        do({"shell": "cat hello.txt"}, delay_s=0.1),
        do({"say": "Created."}, delay_s=0.1),
    ),
]
STEPS = 3


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("copilot-cache")


@pytest.fixture
def server(tmp_path: Path):
    running = MockModelServer({"plays": PLAYS}, str(tmp_path / "requests.jsonl")).start()
    yield running
    running.stop()


@pytest.fixture
def database(tmp_path: Path):
    (tmp_path / "pool").mkdir()
    connection = connect(tmp_path / "pool" / "state.db")
    yield connection
    connection.close()


@pytest.fixture
def make_plan(tmp_path: Path, server: MockModelServer, database, monkeypatch, cache):
    if not any(one.probe().works for one in bubblewrap.find()):
        pytest.skip("no sandbox works here")
    monkeypatch.setenv("DOOMED_CACHE", str(cache))

    def make(client: str, **more) -> Plan:
        night = begin_night(database, {}, {}).id
        folder = str(tmp_path / "pool")
        return Plan(
            client=client, program=PROGRAMS[client], url=server.base_url, folder=folder, night=night, **more
        )

    return make


def start(plan: Plan) -> subprocess.Popen[bytes]:
    path = Path(plan.folder, "plan.json")
    path.write_bytes(msgspec.json.encode(plan))
    env = {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{ROOT}"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.doomed_pool", str(path)], env=env, stderr=subprocess.PIPE
    )


def run(plan: Plan, expect: int = 0) -> str:
    pool = start(plan)
    _, said = pool.communicate(timeout=200)
    assert pool.returncode == expect, said.decode()
    return said.decode()


def kill_at(pool: subprocess.Popen[bytes], server: MockModelServer, requests: int, then: float) -> bool:
    """Kill it once the service had so many requests and some time went by; return whether it still ran.

    All that it started ends with it.
    """
    deadline = time.monotonic() + 60
    while len(server.requests) < requests and pool.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(then)
    below = psutil.Process(pool.pid).children(recursive=True) if pool.poll() is None else []
    pool.send_signal(signal.SIGKILL)
    pool.communicate()
    gone, alive = psutil.wait_procs(below, timeout=20)
    assert [one.name() for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
    return pool.returncode == -signal.SIGKILL


def bills(server: MockModelServer) -> list[tuple[str, str]]:
    """Return who was asked for what in each request that the service answered: (kind, task or edit)."""
    found = []
    for line in Path(server.log_path).read_text().splitlines():
        record = json.loads(line)
        if record.get("play") and record["status"] == 200:
            text = json.dumps(record["body"])
            mark = next(word for word in ("TASK-", "EDIT-") if word in text)
            number = text[text.index(mark) + len(mark) :][:2]
            kind = {"judge": "judge", "EDIT-": "optimizer"}.get(record["play"], "rollout")
            found.append((kind, number))
    return found


def price_of(client: str, kind: str) -> float:
    """Return what one request costs: Claude Code tells by its own list."""
    return CLAUDE_USD if client == "claude" and kind != "judge" else REQUEST_USD


def rows(database: sqlite3.Connection) -> list[sqlite3.Row]:
    return database.execute(
        "select rowid, kind, key, state, usd, reserved_usd, error from calls order by rowid"
    ).fetchall()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_pool_that_is_killed_pays_nothing_twice_and_hides_nothing(client, make_plan, server, database):
    plan = make_plan(client)
    rng = random.Random(SEED)
    kills = 0
    for _ in range(KILLS):
        pool = start(plan)
        kills += kill_at(pool, server, len(server.requests) + rng.randint(1, 8), rng.uniform(0.0, 0.3))
    run(plan)
    finished = len(server.requests)
    run(plan)
    assert len(server.requests) == finished, "what is done is read back"

    found = rows(database)
    done = [row for row in found if row["state"] == "done"]
    assert Counter(row["kind"] for row in done) == {"rollout": 6, "judge": 6, "optimizer": 3}
    lost = [row for row in found if row["state"] != "done"]
    assert len(lost) <= kills * (plan.together + plan.optimized + plan.tasks)
    for row in done:
        assert not any(other["key"] == row["key"] and other["rowid"] > row["rowid"] for other in found)

    asked = Counter(bills(server))
    steps = {"rollout": STEPS, "judge": 1, "optimizer": 1}
    for kind, number in steps.items():
        attempts = sum(row["kind"] == kind for row in found)
        ended = sum(row["kind"] == kind for row in done)
        requests = sum(times for (one, _), times in asked.items() if one == kind)
        # Each that came to its end paid for each step once; each that was cut off for no more than that.
        assert ended * number <= requests <= attempts * number, (kind, requests, attempts)
        told = sum(row["usd"] for row in done if row["kind"] == kind)
        assert told == pytest.approx(ended * number * price_of(client, kind), rel=0.01), kind

    spent = read_spend(database, plan.night)
    billed = sum(price_of(client, kind) * times for (kind, _), times in asked.items())
    known = sum(row["usd"] or 0.0 for row in found)
    assert known <= billed + 1e-6, "nothing is counted that nobody was asked"
    assert billed <= spent.usd + 1e-6, "and nothing that somebody was asked is missing"
    assert all(row["reserved_usd"] > 0 for row in lost), "what was cut off counts with its bound"
    assert read_month(database) == pytest.approx(spent.usd)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_ceiling_is_passed_by_no_more_than_one_call(client, make_plan, server, database):
    price = price_of(client, "rollout")
    ceiling = 7.6 * price  # room for the bounds of three runs, and not for what each may pass its own by
    # The month's ceiling is held by the same sums, whatever the client.
    limits = {"month": ceiling} if client == "codex" else {"ceiling": ceiling}
    plan = make_plan(
        client,
        prompt="TASK-{} goes on for ever",
        tasks=6,
        judged=False,
        optimized=0,
        usd=2.5 * price,
        **limits,
    )
    said = run(plan, expect=5)
    asked = Counter(bills(server))
    billed = price * sum(asked.values())
    assert "infrastructure" not in said
    # Three requests are a run's bound and the one that passes it.
    assert max(asked.values()) <= 3, asked
    assert len(asked) >= 2
    spent = read_spend(database, plan.night).usd
    assert billed <= spent + 1e-6, "a request that nobody answered is counted as well"
    assert billed <= ceiling + price + 1e-6


@pytest.mark.parametrize("client", CLIENTS[2:])  # the others have none in runs
def test_helpers_side_by_side_pass_the_bound_of_a_run_by_no_more_than_one_request(
    client, make_plan, server, database
):
    price = price_of(client, "rollout")
    prompt = "TASK-{} Please have it done"
    plan = make_plan(client, prompt=prompt, tasks=1, judged=False, optimized=0, usd=7.5 * price)
    said = run(plan)
    asked = Counter(bills(server))
    assert asked["rollout", "77"] >= 2, "its helpers asked the model"
    assert "limit: " in said
    billed = price * sum(asked.values())
    assert billed <= read_spend(database, plan.night).usd + 1e-6
    assert billed <= plan.usd + price + 1e-6


@pytest.mark.parametrize("client", CLIENTS)
def test_a_ceiling_holds_for_judges_and_optimizers_too(client, make_plan, server, database):
    price = price_of(client, "rollout")
    ceiling = 20 * REQUEST_USD
    plan = make_plan(client, tasks=8, optimized=6, usd=4 * price, ceiling=ceiling)
    run(plan, expect=5)
    billed = sum(price_of(client, kind) * times for (kind, _), times in Counter(bills(server)).items())
    assert billed <= read_spend(database, plan.night).usd + 1e-6
    assert billed <= ceiling + REQUEST_USD
