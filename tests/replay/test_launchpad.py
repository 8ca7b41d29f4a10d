"""Runs are forked by one helper: none sees anything of another, and all end with it, as it ends with us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from skillopt_replay import process
from skillopt_replay.bounds import Bounds
from skillopt_replay.executors.contract import Job, Workbench
from skillopt_replay.executors.local import LocalExecutor
from skillopt_replay.launchpad import Launchpad
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Outcome
from skillopt_replay.sandbox import SYSTEM_PATH
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.sandbox.reach import Endpoint

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has the helper")

PYTHON = sys.executable


@pytest.fixture
def pad():
    opened = Launchpad()
    with opened.used():
        yield opened
    opened.close()


def launch(*argv: str) -> list[str]:
    return NoSandbox().wrap(argv, writable=[], readable=[], cwd=None)


async def run(tmp_path, *argv: str, env=None, seconds: float = 20.0, **more) -> process.Finished:
    return await process.run(
        launch(*argv), cwd=tmp_path, env={"PATH": SYSTEM_PATH, **(env or {})}, seconds=seconds, **more
    )


def wait_until(holds, what: str) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def places_of(pid: int) -> list[str]:
    return [str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for kind in ("mnt", "net", "user")]


def helpers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "--serve" in child.cmdline()]


async def test_output_exit_code_and_input_are_kept(pad, tmp_path):
    finished = await run(tmp_path, "sh", "-c", "cat; echo problem >&2; exit 7", stdin=b"h\xc3\xa9llo\n")
    assert (finished.returncode, finished.stdout, finished.stderr) == (7, "héllo\n", "problem\n")
    assert helpers(), "it was started by the helper"


async def test_input_larger_than_a_pipe_arrives_whole(pad, tmp_path):
    finished = await run(tmp_path, "wc", "-c", stdin=b"x" * 3_000_000)
    assert finished.stdout.strip() == "3000000"


async def test_a_signal_is_told_as_one(pad, tmp_path):
    finished = await run(tmp_path, "sh", "-c", "kill -SEGV $$")
    assert finished.returncode == -signal.SIGSEGV


async def test_a_program_that_is_not_there_is_said(pad, tmp_path):
    finished = await run(tmp_path, "no-such-program")
    assert finished.returncode == 127
    assert "no-such-program does not start" in finished.stderr


async def test_a_run_sees_its_own_environment_folder_and_descriptors_and_nothing_of_the_others(
    pad, tmp_path, monkeypatch
):
    monkeypatch.setenv("OUR_TOKEN", "ours")
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    (tmp_path / "open").write_text("x")
    look = "import os; print(sorted(os.environ.items()), os.getcwd(), sorted(os.listdir('/proc/self/fd')))"
    with (tmp_path / "open").open() as held:
        os.set_inheritable(held.fileno(), True)
        first = asyncio.ensure_future(
            process.run(
                launch("sh", "-c", "echo > began; until [ -e ../go ]; do sleep 0.02; done; env"),
                cwd=tmp_path / "first",
                env={"PATH": SYSTEM_PATH, "SECRET": "of the first"},
                seconds=30,
            )
        )
        while not (tmp_path / "first/began").exists():
            await asyncio.sleep(0.01)
        second = await process.run(
            launch(PYTHON, "-I", "-S", "-c", look),
            cwd=tmp_path / "second",
            env={"PATH": SYSTEM_PATH, "MINE": "1"},
            seconds=30,
        )
        (tmp_path / "go").touch()
        assert "SECRET=of the first" in (await first).stdout
    told = f"[('LC_CTYPE', 'C.UTF-8'), ('MINE', '1'), ('PATH', '{SYSTEM_PATH}')]"
    # The fourth is the listing's own.
    assert second.stdout.strip() == f"{told} {tmp_path}/second ['0', '1', '2', '3']"
    (helper,) = helpers()
    assert not any("SECRET" in text or "MINE" in text for text in [*helper.environ(), *helper.cmdline()])
    assert "OUR_TOKEN" not in helper.environ()


async def test_the_launcher_itself_holds_no_more_than_it_needs(pad, tmp_path):
    running = asyncio.ensure_future(run(tmp_path, "sh", "-c", "echo > began; sleep 30", seconds=2.0))
    while not (tmp_path / "began").exists():
        await asyncio.sleep(0.01)
    (helper,) = helpers()
    (launcher,) = helper.children()
    assert sorted(path.name for path in Path(f"/proc/{launcher.pid}/fd").iterdir()) == ["0", "1", "2"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    wait_until(lambda: not helper.children(), "the cancelled run ended")


async def test_limits_hold_from_the_start(pad, tmp_path):
    bounds = Bounds(disk_bytes=20_480, folders=(tmp_path,))
    script = "ulimit -c; head -c 100000 /dev/zero > large; wc -c < large"
    finished = await run(tmp_path, "sh", "-c", script, bounds=bounds)
    assert finished.stdout.split() == ["0", "20480"]


@pytest.mark.parametrize("signalled", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "asked to end"])
async def test_a_run_whose_helper_dies_ends_and_the_next_one_has_a_new_helper(pad, tmp_path, signalled):
    running = asyncio.ensure_future(run(tmp_path, "sh", "-c", "echo $$ > began; sleep 60", seconds=60))
    while not (tmp_path / "began").exists() or not (tmp_path / "began").read_text():
        await asyncio.sleep(0.01)
    pid = int((tmp_path / "began").read_text())
    (helper,) = helpers()
    os.kill(helper.pid, signalled)
    if signalled is signal.SIGTERM:
        # The group of a run is asked to end by this signal, so neither launcher nor helper dies of it.
        assert (await run(tmp_path, "echo", "works")).stdout == "works\n"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        finished = await asyncio.wait_for(running, 20)
        assert finished.returncode == -signal.SIGKILL
        assert (await run(tmp_path, "echo", "works")).stdout == "works\n"
    wait_until(lambda: is_gone(pid), "the run ended")


async def test_a_helper_that_was_stopped_fails_the_run_and_can_still_be_closed(pad, tmp_path, monkeypatch):
    monkeypatch.setattr("skillopt_replay.launchpad._ANSWER_SECONDS", 0.3)
    monkeypatch.setattr("skillopt_replay.launchpad._END_SECONDS", 0.3)
    assert (await run(tmp_path, "echo", "works")).stdout == "works\n"
    (helper,) = helpers()
    helper.suspend()
    with pytest.raises(OSError, match="does not answer"):
        await run(tmp_path, "echo", "never")
    pad.close()
    assert helpers() == []


async def test_what_a_killed_launcher_leaves_is_killed(pad, tmp_path):
    stray = "setsid sh -c 'echo $$ > stray; sleep 60' & while [ ! -s stray ]; do sleep 0.02; done; sleep 60"
    running = asyncio.ensure_future(run(tmp_path, "sh", "-c", stray, seconds=60))
    while not (tmp_path / "stray").exists() or not (tmp_path / "stray").read_text():
        await asyncio.sleep(0.01)
    pid = int((tmp_path / "stray").read_text())
    (helper,) = helpers()
    (launcher,) = helper.children()
    launcher.kill()
    assert (await asyncio.wait_for(running, 20)).returncode == -signal.SIGKILL
    wait_until(lambda: is_gone(pid), "the stray ended")


async def test_what_the_launcher_enters_for_a_sandbox_the_helper_does_not(pad, confined, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    argv = confined.wrap(
        ["sh", "-c", "echo > began; sleep 60"],
        writable=[work],
        readable=[],
        cwd=work,
        reach=[Endpoint("model.invalid")],
    )
    env = {"PATH": SYSTEM_PATH}
    running = asyncio.ensure_future(process.run(argv, cwd=work, env=env, seconds=60))
    while not (work / "began").exists():
        await asyncio.sleep(0.01)
    (helper,) = helpers()
    (launcher,) = helper.children()
    assert places_of(helper.pid) == places_of(os.getpid())
    assert os.geteuid() != 0 or places_of(launcher.pid) != places_of(os.getpid())
    launcher.kill()
    assert (await asyncio.wait_for(running, 20)).returncode == -signal.SIGKILL


async def test_closing_ends_the_helper_and_later_runs_start_without_it(tmp_path):
    pad = Launchpad()
    with pad.used():
        assert (await run(tmp_path, "echo", "one")).stdout == "one\n"
        pad.close()
        assert helpers() == []
        assert (await run(tmp_path, "echo", "two")).stdout == "two\n"
        assert helpers() == []


OURS = """
import asyncio, os, pathlib, sys
from skillopt_replay import process
from skillopt_replay.launchpad import Launchpad
from skillopt_replay.sandbox.none import NoSandbox
here = pathlib.Path(sys.argv[1])
argv = NoSandbox().wrap(
    ["sh", "-c", "(setsid sh -c 'echo $$ > stray; sleep 60' &); while [ ! -s stray ]; do sleep 0.02; done;"
     "echo $PPID > began; sleep 60"], writable=[], readable=[], cwd=here)
async def main():
    with Launchpad().used():
        await process.run(argv, cwd=here, env={"PATH": os.environ["PATH"]}, seconds=60)
asyncio.run(main())
"""


def test_all_of_it_ends_when_we_are_killed(tmp_path):
    ours = subprocess.Popen([PYTHON, "-c", OURS, str(tmp_path)])
    began = tmp_path / "began"
    wait_until(lambda: began.exists() and began.read_text().strip(), "the run began")
    launcher = psutil.Process(int(began.read_text()))
    helper = launcher.parent()
    assert helper is not None
    pids = [launcher.pid, helper.pid, int((tmp_path / "stray").read_text())]
    ours.kill()
    ours.wait()
    for pid in pids:
        wait_until(lambda pid=pid: is_gone(pid), "it ended")


async def test_an_executor_has_one_helper_and_leaves_none(tmp_path, make_task, make_rollout):
    class Runner:
        identity = "runner"
        needs_workspace = False
        secrets = ()

        async def run(self, task, skill, workspace, limits):
            said = (await run(workspace, "echo", "HERON")).stdout
            return make_rollout(answer=f"{said}{len(helpers())}")

    executor = LocalExecutor(Workbench(agent=Runner(), sandbox=NoSandbox(), root=tmp_path / "runs"), slots=2)
    jobs = [Job(task=make_task(), skill=None, limits=Limits(), sample=number) for number in range(4)]
    made = await asyncio.gather(*(executor.run(job) for job in jobs))
    assert [(rollout.answer, rollout.outcome) for rollout in made] == [("HERON\n1", Outcome.FINISHED)] * 4
    await executor.close()
    assert helpers() == []
