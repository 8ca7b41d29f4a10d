"""Rollouts here and on a cluster of real processes: none is lost, none is paid for twice unseen."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from skillopt_replay.errors import Unavailable
from skillopt_replay.executors.contract import Job
from skillopt_replay.executors.dask import find_workers, open_dask
from skillopt_replay.executors.local import LocalExecutor
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Fault, Outcome
from tests.support.cluster import Cluster
from tests.support.fake_workbench import Opener


@pytest.fixture
def cluster(tmp_path, guard):
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    yield cluster
    cluster.stop()


def read_log(folder: Path) -> list[str]:
    path = folder / "log.txt"
    return path.read_text().splitlines() if path.exists() else []


async def until(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.02)


def started(folder: Path, task: str) -> list[str]:
    return [line for line in read_log(folder) if line.startswith(f"start {task} ")]


async def test_this_machine_runs_no_more_at_a_time_than_its_slots(tmp_path, make_task):
    async with Opener(str(tmp_path))() as workbench:
        executor = LocalExecutor(workbench, slots=2)
        jobs = [Job(task=make_task(id=f"t{n}", prompt="0.02"), skill=None, limits=Limits()) for n in range(6)]
        rollouts = await asyncio.gather(*(executor.run(job) for job in jobs))
    assert [rollout.answer for rollout in rollouts] == [f"HERON t{n}" for n in range(6)]
    assert all(rollout.score and rollout.score.hard == 1.0 for rollout in rollouts)
    running = most = 0
    for line in read_log(tmp_path):
        running += line.startswith("start") - line.startswith("end")
        most = max(most, running)
    assert most == 2


async def test_a_cluster_gives_every_result_though_a_worker_is_killed_in_the_middle(
    cluster, tmp_path, make_task
):
    workers = [cluster.add_worker(), cluster.add_worker()]
    await until(lambda: cluster.joined() == 2)
    async with open_dask(cluster.address, Opener(str(tmp_path)), agent="fake 1") as executor:
        assert executor.slots == 4
        jobs = {
            f"t{n}": Job(
                task=make_task(id=f"t{n}", prompt="1.5" if n < 4 else "0.05"), skill=None, limits=Limits()
            )
            for n in range(12)
        }
        running = {name: asyncio.ensure_future(executor.run(job)) for name, job in jobs.items()}
        await until(lambda: len(read_log(tmp_path)) >= 6)
        victim = workers[0].pid
        os.kill(victim, signal.SIGKILL)
        rollouts = {name: await task for name, task in running.items()}
        lost = [name for name, rollout in rollouts.items() if rollout.outcome is Outcome.INFRASTRUCTURE]
        # What the killed worker had begun is lost, said so, and nobody else began it again by itself.
        begun = {line.split()[1] for line in read_log(tmp_path) if line.endswith(f" {victim}")} - {"-"}
        ended = {line.split()[1] for line in read_log(tmp_path) if line.startswith("end ")}
        assert lost
        assert set(lost) == begun - ended
        assert all(rollouts[name].fault is Fault.WORKER for name in lost)
        assert all(rollouts[name].score is None for name in lost)
        assert all(rollouts[name].untold for name in lost)
        for name in jobs:
            assert len(started(tmp_path, name)) == 1
        again = await asyncio.gather(*(executor.run(jobs[name]) for name in lost))
        assert [rollout.answer for rollout in again] == [f"HERON {name}" for name in lost]


async def test_a_cancelled_run_ends_on_the_worker(cluster, tmp_path, make_task):
    cluster.add_worker()
    await until(lambda: cluster.joined() == 1)
    async with open_dask(cluster.address, Opener(str(tmp_path)), agent="fake 1") as executor:
        job = Job(task=make_task(prompt="60"), skill=None, limits=Limits())
        running = asyncio.ensure_future(executor.run(job))
        await until(lambda: started(tmp_path, "task-1"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until(lambda: any(line.startswith("cancelled") for line in read_log(tmp_path)))
    cluster.stop()
    assert [line.split()[0] for line in read_log(tmp_path)][-1] == "closed"


async def test_a_worker_that_cannot_open_its_agent_says_why(cluster, tmp_path, make_task):
    cluster.add_worker()
    await until(lambda: cluster.joined() == 1)
    async with open_dask(cluster.address, Opener(str(tmp_path), broken=True), agent="fake 1") as executor:
        rollout = await executor.run(Job(task=make_task(prompt="0"), skill=None, limits=Limits()))
    assert rollout.outcome is Outcome.INFRASTRUCTURE
    assert "no agent on this machine (install one)" in (rollout.error or "")


@pytest.mark.parametrize(
    ("forges", "said"),
    [
        ("version", "cannot be read, is it of another version? Object missing required field `skill`"),
        ("task", "is of another run"),
        ("skill", "is of another run"),
        ("agent", "the worker has another instead of fake 1"),
    ],
)
async def test_a_result_that_is_not_the_jobs_own_counts_for_nobody(
    cluster, tmp_path, make_task, forges, said
):
    cluster.add_worker()
    await until(lambda: cluster.joined() == 1)
    async with open_dask(cluster.address, Opener(str(tmp_path), forges=forges), agent="fake 1") as executor:
        rollout = await executor.run(Job(task=make_task(prompt="0"), skill=None, limits=Limits()))
    assert (rollout.task, rollout.outcome, rollout.fault) == ("task-1", Outcome.INFRASTRUCTURE, Fault.WORKER)
    assert said in (rollout.error or "")


async def test_a_cluster_without_workers_or_without_a_scheduler_is_refused(cluster, tmp_path, monkeypatch):
    with pytest.raises(Unavailable, match="no workers"):
        async with open_dask(cluster.address, Opener(str(tmp_path)), agent="fake 1"):
            pass
    cluster.stop()
    monkeypatch.setattr("skillopt_replay.executors.dask._KNOCK_SECONDS", 0.5)
    with pytest.raises(Unavailable, match="no Dask scheduler answers") as caught:
        async with open_dask(cluster.address, Opener(str(tmp_path)), agent="fake 1"):
            pass
    assert "dask scheduler" in caught.value.hint


async def test_what_listens_but_is_no_scheduler_is_told_within_seconds(monkeypatch):
    monkeypatch.setattr("skillopt_replay.executors.dask._KNOCK_SECONDS", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(Unavailable, match="no Dask scheduler answers"),
    ):
        await find_workers(f"tcp://127.0.0.1:{server.getsockname()[1]}")
