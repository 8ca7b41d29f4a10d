"""Codex takes sessions of Claude Code over into rollouts of its own: they count where they were held."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tests.harvesters.conftest import Transcript
from tests.replay.real_suite import marks_for
from tests.support.codex_person import CODEX, call, messages, send
from tests.support.indexes import Index

pytestmark = marks_for(CODEX, "SKILLOPT_TEST_CODEX")


def import_sessions(home: Path, project: Path) -> None:
    """Let the client take over what it finds, as its terminal offers."""
    env = {"HOME": str(home), "CODEX_HOME": str(home / ".codex"), "PATH": os.environ["PATH"]}
    server = subprocess.Popen(
        [CODEX, "app-server", "-c", "analytics.enabled=false", "-c", "features.plugins=false"],
        cwd=project,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    timer = threading.Timer(60, lambda: os.killpg(server.pid, signal.SIGKILL))
    timer.start()
    try:
        client = {"name": "codex-tui", "title": "Codex", "version": "1.0"}
        call(server, "initialize", clientInfo=client, capabilities={"experimentalApi": True})
        send(server, {"method": "initialized"})
        found = call(server, "externalAgentConfig/detect", includeHome=True, cwds=[str(project)])["items"]
        call(server, "externalAgentConfig/import", migrationItems=found)
        assert any(told.get("method") == "externalAgentConfig/import/completed" for told in messages(server))
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.communicate()


def test_a_session_that_codex_imports_counts_once(tmp_path, private_home):
    project = private_home / "project"
    project.mkdir()
    (private_home / ".codex").mkdir()
    folder = private_home / ".claude" / "projects" / str(project).replace("/", "-").replace(".", "-")
    t = Transcript(folder, day=29, cwd=str(project))
    t.user("please fix the tests of the parser")
    t.call("Bash", "ok", command="pytest -q")
    t.agent("Fixed.")
    t.user("no, use uv instead of pip")
    t.agent("Used.")
    # The client leaves out what is older than a month.
    yesterday = (datetime.now(timezone.utc) - timedelta(days=1)).date().isoformat()
    for record in t.records:
        record["timestamp"] = record["timestamp"].replace("2026-11-29", yesterday)
    t.write()
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    before = {name: session.turns for name, session in index.sessions.items() if session.turns}
    import_sessions(private_home, project)
    [rollout] = (private_home / ".codex" / "sessions").rglob("rollout-*.jsonl")
    assert b"no, use uv instead of pip" in rollout.read_bytes()
    report = index.harvest()
    assert (report.files_read, report.skipped, report.warnings) == (1, 0, ())
    assert {name: session.turns for name, session in index.sessions.items() if session.turns} == before
