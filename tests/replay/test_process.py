"""A child has limits, and leaves nothing running behind."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import psutil
import pytest

from skillopt_replay import process

ENV = {"PATH": os.environ["PATH"]}

# A child in its own session, as a daemon would be, that writes its number and stays.
STRAY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(60)
    os._exit(0)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
time.sleep(float(sys.argv[2]))
"""


def is_gone(pid: int, within: float = 5.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a process finds those of others in /proc")
async def test_what_is_sealed_comes_whole_and_from_nobody_else(tmp_path):
    pieces: list[bytes] = []
    forging = "(echo forged > /proc/$$/fd/1) 2>/dev/null || echo refused >&2"
    script = f"cat; head -c 3000000 /dev/zero; {forging}; exit 3"
    finished = await process.run(
        ["sh", "-c", script], cwd=tmp_path, env=ENV, seconds=30.0, stdin=b"begun", is_sealed=True,
        on_stdout=pieces.append,
    )  # fmt: skip
    assert (finished.returncode, finished.stderr) == (3, "refused\n")
    assert b"".join(pieces) == b"begun" + bytes(3_000_000)


async def test_what_is_sealed_and_cannot_be_started_leaves_nothing_open(tmp_path):
    before = sorted(Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else []
    with pytest.raises(OSError, match="nowhere"):
        await process.run(["/nowhere"], cwd=tmp_path, env=ENV, seconds=5.0, is_sealed=True)
    after = sorted(Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else []
    assert len(after) <= len(before)


async def test_the_output_the_exit_code_and_the_input_are_kept(tmp_path):
    finished = await process.run(
        ["sh", "-c", "cat; echo problem >&2; exit 7"],
        cwd=tmp_path,
        env=ENV,
        seconds=10,
        stdin=b"h\xc3\xa9llo\n",
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (7, "héllo\n", "problem\n")
    assert (finished.timed_out, finished.truncated, finished.flooded) == (False, False, False)


async def test_a_child_that_waits_for_input_gets_none(tmp_path):
    finished = await process.run(["cat"], cwd=tmp_path, env=ENV, seconds=10)
    assert (finished.returncode, finished.stdout) == (0, "")


async def test_the_environment_is_exactly_the_given_one(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    finished = await process.run(["/usr/bin/env"], cwd=tmp_path, env={"ONLY": "this"}, seconds=10)
    assert finished.stdout.split() == ["ONLY=this"]


async def test_the_child_leads_a_group_of_its_own_and_leaves_no_core_dumps(tmp_path):
    code = "import os, resource; print(os.getpgid(0), resource.getrlimit(resource.RLIMIT_CORE))"
    finished = await process.run(
        ["sh", "-c", 'sleep 0.1; echo $$; "$0" -I -c "$1"', sys.executable, code],
        cwd=tmp_path,
        env=ENV,
        seconds=10,
    )
    leader, group = finished.stdout.splitlines()
    # One byte, for which the kernel also starts no program that would take a dump.
    most = 1 if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 else 0
    assert group == f"{leader} ({most}, {most})"


async def test_output_beyond_the_cap_is_dropped_and_said_so(tmp_path):
    finished = await process.run(
        ["sh", "-c", "head -c 300000 /dev/zero; echo end >&2"],
        cwd=tmp_path,
        env=ENV,
        seconds=10,
        keep_bytes=1000,
    )
    assert (finished.returncode, len(finished.stdout), finished.stderr) == (0, 1000, "end\n")
    assert finished.truncated
    assert not finished.flooded


async def test_a_child_that_writes_without_end_is_killed(tmp_path):
    started = time.monotonic()
    finished = await process.run(
        ["yes"], cwd=tmp_path, env=ENV, seconds=30, keep_bytes=1000, flood_bytes=5_000_000
    )
    assert finished.flooded
    assert not finished.timed_out
    assert finished.returncode < 0
    assert time.monotonic() - started < 10


async def test_pieces_go_to_the_listener_and_are_not_kept(tmp_path):
    pieces: list[bytes] = []
    finished = await process.run(
        ["sh", "-c", "echo one; echo two"], cwd=tmp_path, env=ENV, seconds=10, on_stdout=pieces.append
    )
    assert b"".join(pieces) == b"one\ntwo\n"
    assert finished.stdout == ""


async def test_a_child_is_stopped_as_soon_as_it_is_enough(tmp_path):
    told: list[bytes] = []
    finished = await process.run(
        ["sh", "-c", "while :; do echo more >&2; sleep 0.05; done"],
        cwd=tmp_path,
        env=ENV,
        seconds=60,
        on_stderr=told.append,
        enough=lambda: len(b"".join(told).splitlines()) >= 3,
    )
    assert (finished.stopped, finished.timed_out) == (True, False)
    assert finished.returncode < 0
    assert finished.stderr.startswith("more\nmore\nmore\n")
    assert finished.stderr.encode() == b"".join(told)


async def test_a_child_out_of_time_is_ended_with_its_children(tmp_path):
    pid_file = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {pid_file}; trap '' TERM; echo begun; wait; sleep 60"
    finished = await process.run(["sh", "-c", script], cwd=tmp_path, env=ENV, seconds=0.5)
    assert finished.timed_out
    assert finished.stdout == "begun\n"
    assert finished.seconds < 5
    assert is_gone(int(pid_file.read_text()))


@pytest.mark.parametrize("stays", [0.8, 60.0], ids=["the child ends by itself", "the child is out of time"])
async def test_a_descendant_in_another_session_is_found_and_killed(tmp_path, stays):
    pid_file = tmp_path / "pid"
    argv = [sys.executable, "-I", "-c", STRAY, str(pid_file), str(stays)]
    finished = await process.run(argv, cwd=tmp_path, env=ENV, seconds=1.5)
    assert finished.timed_out is (stays > 1)
    assert is_gone(int(pid_file.read_text()))


async def test_a_background_child_that_holds_the_pipes_does_not_hold_us(tmp_path):
    pid_file = tmp_path / "pid"
    started = time.monotonic()
    finished = await process.run(
        ["sh", "-c", f"sleep 60 & echo $! > {pid_file}; echo done"], cwd=tmp_path, env=ENV, seconds=30
    )
    assert (finished.returncode, finished.stdout) == (0, "done\n")
    assert time.monotonic() - started < 5
    assert is_gone(int(pid_file.read_text()))


async def test_a_cancelled_run_takes_its_children_along(tmp_path):
    pid_file = tmp_path / "pid"
    running = asyncio.ensure_future(
        process.run(
            ["sh", "-c", f"echo $$ > {pid_file}; trap '' TERM; sleep 60"], cwd=tmp_path, env=ENV, seconds=60
        )
    )
    while not (pid_file.exists() and pid_file.read_text().strip()):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert is_gone(int(pid_file.read_text()))


@pytest.mark.parametrize("turns", range(8))
async def test_a_run_cancelled_while_it_starts_leaves_nothing_either(tmp_path, turns):
    pid_file = tmp_path / "pid"
    script = f"echo $$ > {pid_file}; sleep 60 & wait"
    running = asyncio.ensure_future(process.run(["sh", "-c", script], cwd=tmp_path, env=ENV, seconds=60))
    for _ in range(turns):
        await asyncio.sleep(0)
    started = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - started < 5
    await asyncio.sleep(0.05)
    written = pid_file.read_text().strip() if pid_file.exists() else ""
    assert not written or is_gone(int(written))


async def test_a_program_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        await process.run(["/nonexistent/program"], cwd=tmp_path, env=ENV, seconds=1)


async def test_nothing_stays_open(tmp_path):
    await process.run(["true"], cwd=tmp_path, env=ENV, seconds=10)
    before = len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0
    for _ in range(5):
        await process.run(["sh", "-c", "sleep 30 & echo x"], cwd=tmp_path, env=ENV, seconds=10)
    after = len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0
    assert after <= before
