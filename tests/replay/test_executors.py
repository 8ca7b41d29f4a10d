"""Rollouts here and on a cluster of real processes: none is lost, none is paid for twice unseen."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skillopt_replay.errors import Unavailable
from skillopt_replay.executors.contract import Job
from skillopt_replay.executors.dask import find_workers, open_dask
from skillopt_replay.executors.local import LocalExecutor
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Fault, Outcome, Usage
from tests.support.cluster import ROOT, Cluster
from tests.support.fake_workbench import Opener


@pytest.fixture
def cluster(tmp_path, guard):
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Where clusters lie that several tests send their runs to, and those that were started."""
    started: list[Cluster] = []
    yield tmp_path_factory.mktemp("cluster"), started
    for cluster in started:
        cluster.stop()


@pytest.fixture
async def shared(places, private_home) -> Cluster:
    """A cluster with one worker, for tests that leave it as it was."""
    folder, clusters = places
    if not clusters:
        # Not before a test began: it takes over the home and the guards of the first one.
        clusters.append(Cluster(folder))
        clusters[0].add_worker()
        await until(lambda: clusters[0].joined() == 1)
    return clusters[0]


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


async def test_what_nobody_has_foreseen_costs_one_run_and_none_of_the_others(tmp_path, make_task):
    async with Opener(str(tmp_path))() as workbench:
        workbench.agent.secrets = ("sk-planted-0123456789",)
        executor = LocalExecutor(workbench, slots=2)
        prompts = ["0.01", "not a number: sk-planted-0123456789", "0.01"]
        jobs = [Job(task=make_task(prompt=prompt), skill=None, limits=Limits()) for prompt in prompts]
        first, fallen, last = await asyncio.gather(*(executor.run(job) for job in jobs))
        with pytest.raises(ValueError, match="no checks"):
            await executor.run(Job(task=make_task(checks=()), skill=None, limits=Limits()))
    assert first.outcome is last.outcome is Outcome.FINISHED
    assert (fallen.outcome, fallen.score, fallen.untold) == (Outcome.INFRASTRUCTURE, None, True)
    assert fallen.error.startswith("a fault of SkillOpt-Sleep itself: ValueError: could not convert")
    assert "(fake_workbench.py, line " in fallen.error
    assert "planted" not in fallen.error


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


_CLIENT = """
import asyncio, sys
from skillopt_replay.executors.contract import Job
from skillopt_replay.executors.dask import open_dask
from skillopt_replay.protocols import Limits
from skillopt_replay.tasks import Contains, Task
from tests.support.fake_workbench import Opener

async def ask(address, folder):
    task = Task(id="task-1", family="f", title="t", prompt="60", sessions=("s",), occurrences=1, client="c",
                skill="greet", group="g", checks=(Contains(text="HERON"),))
    async with open_dask(address, Opener(folder), agent="fake 1") as executor:
        await executor.run(Job(task=task, skill=None, limits=Limits()))

asyncio.run(ask(*sys.argv[1:]))
"""


async def test_the_run_of_one_who_was_killed_ends_on_the_worker(cluster, tmp_path):
    cluster.add_worker()
    await until(lambda: cluster.joined() == 1)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])}
    client = subprocess.Popen([sys.executable, "-c", _CLIENT, cluster.address, str(tmp_path)], env=env)
    try:
        await until(lambda: started(tmp_path, "task-1"))
    finally:
        client.kill()
        client.wait()
    await until(lambda: any(line.startswith("cancelled") for line in read_log(tmp_path)), 30)


async def run_until_it_goes(executor, job):
    for _ in range(60):
        rollout = await asyncio.wait_for(executor.run(job), 60)
        if rollout.error is None:
            break
        await asyncio.sleep(1)
    return rollout


async def test_runs_that_no_worker_is_left_for_are_not_waited_for(cluster, tmp_path, make_task, monkeypatch):
    monkeypatch.setattr("skillopt_replay.executors.dask_pulse._GONE_SECONDS", 4.0)
    worker = cluster.add_worker()
    await until(lambda: cluster.joined() == 1)
    async with open_dask(cluster.address, Opener(str(tmp_path)), agent="fake 1") as executor:
        jobs = [Job(task=make_task(id=f"t{n}", prompt="60"), skill=None, limits=Limits()) for n in range(3)]
        running = [asyncio.ensure_future(executor.run(job)) for job in jobs]
        await until(lambda: started(tmp_path, "t0") and started(tmp_path, "t1"))
        os.kill(worker.pid, signal.SIGKILL)
        rollouts = await asyncio.wait_for(asyncio.gather(*running), 60)
        assert {rollout.error for rollout in rollouts} == {"all workers went away"}
        assert {rollout.fault for rollout in rollouts} == {Fault.WORKER}
        # Nobody knows what those took that had begun; the one that had not took nothing.
        assert [rollout.untold for rollout in rollouts] == [True, True, False]
        assert rollouts[2].usage == Usage(cost_usd=0.0)
        cluster.add_worker()
        job = Job(task=make_task(id="t4", prompt="0"), skill=None, limits=Limits())
        await until(lambda: cluster.joined() == 2)
        assert (await run_until_it_goes(executor, job)).answer == "HERON t4"


async def test_runs_whose_scheduler_is_gone_are_not_waited_for(
    cluster, tmp_path, make_task, monkeypatch, caplog
):
    for name in ("distributed", "distributed.client"):
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    monkeypatch.setattr("skillopt_replay.executors.dask_pulse._GONE_SECONDS", 4.0)
    cluster.add_worker()
    await until(lambda: cluster.joined() == 1)
    async with open_dask(cluster.address, Opener(str(tmp_path)), agent="fake 1") as executor:
        job = Job(task=make_task(prompt="60"), skill=None, limits=Limits())
        running = asyncio.ensure_future(executor.run(job))
        await until(lambda: started(tmp_path, "task-1"))
        cluster.kill_scheduler()
        first = await asyncio.wait_for(running, 60)
        others = [await asyncio.wait_for(executor.run(job), 60) for _ in range(3)]
        assert first.untold
        assert {rollout.fault for rollout in (first, *others)} == {Fault.WORKER}
        assert not others[-1].untold
        assert others[-1].usage == Usage(cost_usd=0.0)
        cluster.start_scheduler_again()
        cluster.add_worker()
        job = Job(task=make_task(id="t2", prompt="0"), skill=None, limits=Limits())
        again = await run_until_it_goes(executor, job)
    assert (again.answer, again.error) == ("HERON t2", None)
    # The rollouts say what was wrong; people are spared Dask's tracebacks.
    assert [record.name for record in caplog.records if record.exc_info] == []


async def test_a_worker_with_another_agent_runs_nothing_and_costs_nothing(shared, tmp_path, make_task):
    async with open_dask(shared.address, Opener(str(tmp_path)), agent="fake 2") as executor:
        rollout = await executor.run(Job(task=make_task(prompt="0"), skill=None, limits=Limits()))
    assert rollout.fault is Fault.WORKER
    assert rollout.error == "the worker cannot run it: it has fake 1 instead of fake 2"
    assert (rollout.untold, rollout.usage) == (False, Usage(cost_usd=0.0))
    assert started(tmp_path, "task-1") == []


async def test_a_worker_that_cannot_open_its_agent_says_why(shared, tmp_path, make_task):
    async with open_dask(shared.address, Opener(str(tmp_path), broken=True), agent="fake 1") as executor:
        rollout = await executor.run(Job(task=make_task(prompt="0"), skill=None, limits=Limits()))
    assert rollout.outcome is Outcome.INFRASTRUCTURE
    assert "no agent on this machine (install one)" in (rollout.error or "")
    assert (rollout.untold, rollout.usage) == (False, Usage(cost_usd=0.0))


@pytest.mark.parametrize(
    ("forges", "said"),
    [
        ("version", "cannot be read, is it of another version? Object missing required field `skill`"),
        ("task", "is of another run"),
        ("skill", "is of another run"),
        ("agent", "the worker has another instead of fake 1"),
    ],
)
async def test_a_result_that_is_not_the_jobs_own_counts_for_nobody(shared, tmp_path, make_task, forges, said):
    async with open_dask(shared.address, Opener(str(tmp_path), forges=forges), agent="fake 1") as executor:
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
