"""A client that is asked as a model ends with whoever asked it, however that one ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ASK = """
import asyncio, pathlib, sys
from skillopt_replay.agents.clients import Client, Credentials
from skillopt_replay.models.{module} import {model}
from skillopt_replay.protocols import Message
binary, work = map(pathlib.Path, sys.argv[1:])
cli = Client(binary=binary, version="1.0.0", credentials=Credentials(source="KEY", env=(("KEY", "k"),)))
asyncio.run({model}(cli, work=work).complete([Message("user", "hello")]))
"""


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    """A client that starts a helper in a session of its own, tells who they are, and hangs."""
    path = tmp_path / "bin" / "client"
    path.parent.mkdir()
    path.write_text(
        f"#!/bin/sh\n(setsid sleep 60 >/dev/null 2>&1 & echo $! >> {tmp_path}/pids)\n"
        f"echo $$ >> {tmp_path}/pids\nmv {tmp_path}/pids {tmp_path}/ready\nsleep 60\n"
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("module", "model"), [("claude", "ClaudeModel"), ("codex", "CodexModel")])
def test_killed_we_leave_no_client_behind_and_nobody_else_ends(hanging, tmp_path, module, model):
    (tmp_path / "work").mkdir()
    bystander = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        script = ASK.format(module=module, model=model)
        asking = subprocess.Popen([sys.executable, "-c", script, str(hanging), str(tmp_path / "work")])
        deadline = time.monotonic() + 30
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        started = [psutil.Process(int(pid)) for pid in (tmp_path / "ready").read_text().split()]
        assert len(started) == 2
        asking.kill()
        asking.wait()
        _, alive = psutil.wait_procs(started, timeout=20)
        assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
        assert bystander.poll() is None
    finally:
        os.killpg(bystander.pid, 9)
        bystander.wait()
