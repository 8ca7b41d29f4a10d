"""A night whose rollouts run on the workers of a Dask cluster, one of which dies."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time

import msgspec
import pytest

from skillopt_sleep.night.executors import make_opener
from skillopt_sleep.paths import locate
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.database import connect
from tests.app.conftest import Sleeper
from tests.support.chat_server import ChatModel
from tests.support.cluster import Cluster


@pytest.fixture
def cluster(tmp_path, guard):
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    for _ in range(2):
        cluster.add_worker()
    deadline = time.monotonic() + 60
    while cluster.joined() < 2:
        assert time.monotonic() < deadline, "the workers did not join"
        time.sleep(0.05)
    yield cluster
    cluster.stop()


def read_calls() -> list[tuple[str, str]]:
    connection = connect(locate().database)
    rows = connection.execute("select state, error from calls where kind = 'rollout'").fetchall()
    connection.close()
    return [(row["state"], row["error"] or "") for row in rows]


def test_the_workers_are_told_no_more_than_they_need():
    settings = msgspec.convert(
        {
            "target": {"agent": "command", "command": ["my-agent"]},
            "service": {"webhook": "https://hooks.example.com/the-planted-secret"},
            "optimizer": {"model": "vllm:http://me:the-planted-secret@127.0.0.1/v1#m"},
        },
        Settings,
    )
    sent = pickle.dumps(make_opener("command", settings))
    assert b"my-agent" in sent
    assert b"the-planted-secret" not in sent


def test_the_workers_do_what_this_machine_would_have_done(sleeper: Sleeper, cluster: Cluster):
    sleeper.work()
    sleeper.set(replay_executor=f"dask:{cluster.address}")
    report = sleeper.night()
    (verdict,) = report["verdicts"]
    assert (report["state"], verdict["decision"], verdict["losses"]) == ("done", "accept", 0)
    assert {state for state, _ in read_calls()} == {"done"}
    where = f"Dask at {cluster.address} (2 workers, 4 at a time)"
    assert f"runs went to {where}" in report["notes"]
    found = json.loads(sleeper.sleep("doctor", "--json"))
    told = {one["name"]: one["detail"] for one in found}
    assert told["executor"] == f"runs go to Dask at {cluster.address}: 2 workers, 4 at a time"


def test_a_worker_that_dies_costs_its_runs_once_more_and_no_result(
    sleeper: Sleeper, cluster: Cluster, model: ChatModel
):
    sleeper.work()
    sleeper.set(replay_executor=f"dask:{cluster.address}")
    hung = threading.Event()

    def hangs(request) -> bool:
        # The first run of all waits until its worker is dead.
        first = not hung.is_set() and not request.is_optimizer
        hung.set()
        return first

    model.hangs = hangs

    def kill() -> None:
        model.hanging.wait(60)
        busy = [worker for worker in cluster.workers if worker.poll() is None]
        os.kill(busy[0].pid, signal.SIGKILL)
        time.sleep(1)
        model.release.set()

    killer = threading.Thread(target=kill)
    killer.start()
    report = sleeper.night()
    killer.join()
    assert report["state"] == "done"
    assert report["verdicts"][0]["decision"] == "accept"
    states = [state for state, _ in read_calls()]
    assert states.count("done") == report["rollouts"]
    assert all("worker" in error for state, error in read_calls() if state == "failed")


def test_no_scheduler_is_said_before_anything_is_spent(sleeper: Sleeper, model: ChatModel, monkeypatch):
    monkeypatch.setattr("skillopt_replay.executors.dask._KNOCK_SECONDS", 0.5)
    sleeper.work()
    sleeper.set(replay_executor="dask:tcp://127.0.0.1:9")
    told = sleeper.sleep("run", "--json", expect=1)
    assert model.requests == []
    assert read_calls() == []
    assert told == "" or "scheduler" in told
    found = json.loads(sleeper.sleep("doctor", "--json", expect=1))
    (executor,) = [one for one in found if one["name"] == "executor"]
    assert not executor["ok"]
    assert executor["detail"].startswith("no Dask scheduler answers at tcp://127.0.0.1:9")
