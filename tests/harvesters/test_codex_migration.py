"""Codex rewrites rollouts of earlier versions in place (`codex migrate-rollouts`): they tell the same."""

from __future__ import annotations

import os
import shutil
import subprocess

import msgspec

from tests.harvesters.rollouts import ROLLOUTS
from tests.replay.real_suite import marks_for
from tests.support.codex_person import CODEX
from tests.support.indexes import Index

pytestmark = marks_for(CODEX, "SKILLOPT_TEST_CODEX")


def test_rollouts_that_the_client_rewrites_hold_the_sessions_they_held(tmp_path, private_home):
    home = private_home / ".codex"
    folder = home / "sessions" / "2026" / "11" / "29"
    folder.mkdir(parents=True)
    for rollout in ROLLOUTS:
        shutil.copy(rollout, folder)
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    before = index.sessions
    env = {"HOME": str(private_home), "CODEX_HOME": str(home), "PATH": os.environ["PATH"]}
    command = [CODEX, "migrate-rollouts", "--apply"]
    subprocess.run(command, env=env, capture_output=True, timeout=120, check=False)
    report = index.harvest()
    assert report.files_read > 10
    assert (report.skipped, report.warnings) == (0, ())
    assert index.sessions == before
    fresh = Index(tmp_path / "fresh.db", private_home)
    fresh.harvest()
    assert {name: tell(session) for name, session in fresh.sessions.items()} == {
        name: tell(session) for name, session in before.items()
    }


def tell(session):
    """Return what a session holds; the client leaves out turns that the user went back behind."""
    turns = [turn for turn in session.turns if not turn.abandoned]
    calls = [msgspec.structs.astuple(call) for turn in turns for call in turn.tool_calls]
    return session.kind, [turn.prompt for turn in turns], calls, session.tokens
