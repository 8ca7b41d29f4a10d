"""Where systemd manages the user's programs, the kernel keeps the limits; a stand-in plays systemd-run."""

from __future__ import annotations

import os

import pytest

from skillopt_replay import cgroups, process
from skillopt_replay.bounds import Bounds

FAKE = """#!/bin/bash
printf '%s ' "$@" >> "$(dirname "$0")/given"; echo >> "$(dirname "$0")/given"
[ -e "$(dirname "$0")/broken" ] && { echo 'Failed to connect to bus' >&2; exit 1; }
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def manager(tmp_path, monkeypatch):
    folder = tmp_path / "systemd"
    (folder / "runtime" / "systemd").mkdir(parents=True)
    (folder / "cgroup").mkdir()
    (folder / "cgroup" / "cgroup.controllers").write_text("memory pids")
    program = folder / "systemd-run"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "runtime"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(cgroups, "_ROOT", folder / "cgroup")
    cgroups.find_systemd_run.cache_clear()
    yield folder
    cgroups.find_systemd_run.cache_clear()


async def run(tmp_path, script: str, bounds: Bounds):
    return await process.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, seconds=20, bounds=bounds
    )


async def test_a_run_gets_a_scope_with_its_limits_and_nothing_of_the_manager(manager, tmp_path):
    finished = await run(tmp_path, "env; echo $PPID", Bounds(memory_bytes=1000000, processes=3))
    assert "XDG_RUNTIME_DIR" not in finished.stdout
    assert finished.stdout.split()[-1] == str(os.getpid()), "it is started in place"
    given = (manager / "given").read_text().splitlines()[-1]
    assert given.startswith("--user --scope --quiet --collect -p MemoryMax=1000000 -p MemorySwapMax=0")
    assert "-p TasksMax=48 -- /usr/bin/env -u XDG_RUNTIME_DIR /bin/sh -c env" in given


async def test_small_programs_get_no_scope(manager, tmp_path):
    await run(tmp_path, "true", Bounds(memory_bytes=1000000))
    assert not (manager / "given").exists()


async def test_a_manager_that_does_not_answer_is_done_without(manager, tmp_path):
    (manager / "broken").touch()
    finished = await run(tmp_path, "echo fine", Bounds(processes=30))
    assert (finished.returncode, finished.stdout) == (0, "fine\n")


async def test_without_a_manager_there_is_no_scope(manager, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    cgroups.find_systemd_run.cache_clear()
    finished = await run(tmp_path, "echo fine", Bounds(processes=30))
    assert (finished.returncode, finished.stdout) == (0, "fine\n")
    assert not (manager / "given").exists()


def test_what_the_kernel_killed_for_want_of_memory_is_told(manager, monkeypatch):
    scope = manager / "cgroup" / "run-r1.scope"
    scope.mkdir()
    events = scope / "memory.events"
    events.write_text("low 0\noom 0\noom_kill 0\n")
    folders = iter((scope, manager))
    monkeypatch.setattr(cgroups, "_folder", lambda _text: next(folders))
    held = cgroups.Scope()
    assert held.look(os.getpid()) is None
    events.write_text("low 0\noom 1\noom_kill 1\n")
    assert held.look(os.getpid()) == "more memory than it may have"
