"""Nights that meet what they did not expect: a broken thing costs neither the others nor later nights."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

import msgspec
import pytest
from typer.testing import CliRunner

from skillopt_gate.verdicts import Policy
from skillopt_replay.errors import Unavailable
from skillopt_replay.rollouts import Rollout
from skillopt_sleep.cli import app
from skillopt_sleep.night.backends import open_backends
from skillopt_sleep.night.measure import measure
from skillopt_sleep.paths import locate
from skillopt_sleep.settings import Settings, Target
from skillopt_sleep.store.nights import find_unfinished
from tests.app.conftest import Sleeper
from tests.app.night_samples import CANDIDATE, ScriptedRoller, make_tasks
from tests.app.test_night import LIVE, MADE_BY_HAND
from tests.conftest import git
from tests.support.chat_server import ChatModel
from tests.support.transcripts import write_session


def cut_off_before_the_end(database, project) -> None:
    """Leave things as a kill between the measuring and the staging would."""
    database.execute("update nights set state = 'running', ended = null, report = null")
    for (name,) in database.execute("select id from proposals").fetchall():
        git(project, "branch", "-D", f"skillopt/{name}")
    database.execute("delete from proposals")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# Packages\n\n- Be brief.\n", "no front matter"),
        (MADE_BY_HAND.replace("Use when", "Use: when"), "the front matter is not YAML"),
        (MADE_BY_HAND.replace("name: ", "name: other-"), "is not the folder's"),
        (b"\xff\xfe-\x00-\x00-\x00", "cannot read the skill"),
    ],
)
def test_a_skill_file_that_is_none_is_left_alone_before_anything_is_spent(
    sleeper: Sleeper, model: ChatModel, text, reason: str
):
    sleeper.work()
    live = sleeper.project / LIVE
    live.parent.mkdir(parents=True)
    live.write_bytes(text if isinstance(text, bytes) else text.encode())
    report = sleeper.night(expect=3)
    assert [reason in skipped["reason"] for skipped in report["skipped"]] == [True]
    assert str(live) in report["skipped"][0]["reason"]
    assert model.requests == []
    live.write_text(MADE_BY_HAND)
    assert sleeper.night()["state"] == "done"


def test_a_night_whose_project_is_no_repository_any_more_ends_and_the_next_one_begins(
    sleeper: Sleeper, database
):
    sleeper.work()
    first = sleeper.night()
    cut_off_before_the_end(database, sleeper.project)
    shutil.move(sleeper.project / ".git", sleeper.project / "git-elsewhere")
    told = sleeper.night()
    assert (told["night"], told["proposals"]) == (first["night"], [])
    assert "cannot be staged" in told["skills"][0]["note"]
    assert "is not in a git repository" in told["skills"][0]["note"]
    assert find_unfinished(database) is None
    shutil.move(sleeper.project / "git-elsewhere", sleeper.project / ".git")
    later = sleeper.night()
    assert later["night"] != first["night"]
    assert later["proposals"], "the candidate that was paid for went on waiting"


def test_a_plan_nobody_can_read_any_more_does_not_keep_nights_from_beginning(sleeper: Sleeper, database):
    sleeper.work()
    first = sleeper.night()
    cut_off_before_the_end(database, sleeper.project)
    database.execute("update nights set plan = ?", (b"\x81\xa5other\x01",))
    later = sleeper.night()
    assert later["night"] != first["night"]
    states = dict(database.execute("select id, state from nights").fetchall())
    assert states == {first["night"]: "failed", later["night"]: "done"}


def test_a_dry_run_says_that_a_night_was_cut_off(sleeper: Sleeper, database):
    sleeper.work()
    sleeper.night()
    cut_off_before_the_end(database, sleeper.project)
    assert "was cut off: the next run goes on with it" in sleeper.sleep("run", "--dry-run")
    told = json.loads(sleeper.sleep("run", "--dry-run", "--json", "--skill", "no-such-skill"))
    assert (told["skills"], bool(told["unfinished"])) == ([], True), "there is work, so it ends with 0"


def test_a_night_for_one_skill_does_not_quietly_become_another_that_was_cut_off(sleeper: Sleeper, database):
    sleeper.work()
    first = sleeper.night()
    (skill,) = (one["skill"] for one in first["skills"])
    cut_off_before_the_end(database, sleeper.project)
    told = CliRunner().invoke(app, ["run", "--skill", "another"])
    assert told.exit_code == 4, told.output
    assert f"night {first['night']} was cut off" in told.stderr
    assert "skillopt-sleep run\n" in told.stderr
    assert sleeper.night("--skill", skill)["night"] == first["night"]


def test_a_night_for_a_skill_without_a_name_is_wrong_usage(sleeper: Sleeper):
    sleeper.work()
    sleeper.sleep("run", "--skill", "", expect=2)


@pytest.mark.parametrize("ignored", [False, True])
def test_a_night_that_is_told_to_terminate_ends_as_with_ctrl_c_and_leaves_nothing_behind(
    sleeper: Sleeper, model: ChatModel, monkeypatch, ignored: bool
):
    """A shell's background jobs are started with Ctrl-C ignored."""
    sleeper.work()
    model.hangs = lambda request: True
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignored else None
    try:
        child = sleeper.start("run")
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    try:
        assert model.hanging.wait(30)
        child.send_signal(signal.SIGTERM)
        _, told = child.communicate(timeout=30)
    finally:
        model.release.set()
    assert child.returncode == 130
    assert "interrupted; what was finished is kept" in told
    assert list(locate().replays.iterdir()) == []


def test_status_tells_a_night_that_is_worked_on_from_one_that_was_cut_off(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    model.hangs = lambda request: True
    child = sleeper.start("run")
    try:
        assert model.hanging.wait(30)
        told = sleeper.sleep("status")
        assert f": running (at work: run (pid {child.pid}, since " in told
        assert "to work one now" not in told
    finally:
        child.kill()
        child.communicate(timeout=30)
        model.release.set()
    told = sleeper.sleep("status")
    assert ": interrupted: the next run goes on with it, started" in told
    assert "to work one now" in told


def test_how_far_a_nights_model_is_fetched_is_told(sleeper: Sleeper, monkeypatch):
    def fetch(entry, folder, *, progress, sources):
        progress(500_000_000, 1_100_000_000)
        raise Unavailable("the line is dead")

    monkeypatch.setattr("skillopt_replay.models.registry.fetch", fetch)
    sleeper.work()
    sleeper.set(target_agent="chat", target_model="local", optimizer_model="auto")
    done = CliRunner().invoke(app, ["run"])
    assert done.exit_code == 1
    assert "model (MB) 500/1100\nerror: the line is dead" in done.stderr


def test_what_a_killed_run_left_among_the_replays_is_removed_by_the_next_one(sleeper: Sleeper):
    sleeper.work()
    left = locate().replays / "skillopt-private-abc" / "home"
    left.mkdir(parents=True)
    (left / ".credentials.json").write_text("{}")
    sleeper.night()
    assert list(locate().replays.iterdir()) == []


async def test_a_measurement_tells_at_which_commit_and_where_its_runs_ran():
    class Roller(ScriptedRoller):
        async def __call__(self, task, skill, repeat) -> Rollout:
            rollout = await super().__call__(task, skill, repeat)
            return msgspec.structs.replace(rollout, notes=("commit abc, the newest",))

    measured = await measure(
        make_tasks(6), None, CANDIDATE, Roller(lambda t, s: s), policy=Policy(), identity="scripted"
    )
    assert measured.notes == (("commit abc, the newest", 12),)


async def test_a_model_whose_price_is_not_known_is_named():
    chat = Target(agent="chat", model="openai:https://models.invalid/v1#big")
    async with open_backends(Settings(target=chat), locate(), {}) as backends:
        assert [note for note in backends.notes if "costs is not known" in note and "big" in note]


def test_control_characters_in_prompts_never_reach_the_terminal(sleeper: Sleeper):
    folder = sleeper.projects / "-project"
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    for number in range(3):
        turns = [(f"Format the {evil} file number {number}", "done")]
        write_session(folder, f"evil{number}", turns, cwd=sleeper.project, day=number)
    sleeper.sleep("harvest")
    for command in ("sessions", "tasks"):
        printed = sleeper.sleep(command)
        assert "␛]0;owned" in printed
        assert not {"\x1b", "\x07", "\u202e"} & set(printed)
    (first, *_) = json.loads(sleeper.sleep("sessions", "--json"))
    assert evil in first["prompts"][0], "programs get it as it is"


def test_a_proposal_whose_project_is_gone_can_be_rejected(sleeper: Sleeper, database):
    sleeper.work()
    (name,) = sleeper.night()["proposals"]
    shutil.move(sleeper.project, sleeper.project.with_name("moved"))
    told = sleeper.sleep("reject", name, "--reason", "the project is gone")
    assert "its repository is not there any more" in told
    status = sleeper.sleep("status")
    assert re.search(rf"^decided +{name}: rejected: the project is gone$", status, re.MULTILINE)
    assert re.search(r"^pending +nothing to review$", status, re.MULTILINE)


def test_a_locked_database_is_a_reason_to_try_again_later(sleeper: Sleeper, monkeypatch):
    sleeper.sleep("status")
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(path, **{**options, "timeout": 0})
    )
    holder = connect(locate().database, isolation_level=None)
    holder.execute("pragma locking_mode = exclusive")
    holder.execute("begin exclusive")
    try:
        sleeper.sleep("harvest", expect=75)
    finally:
        holder.close()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_is_told_as_what_it_is(sleeper: Sleeper):
    import resource

    child = subprocess.run(
        [sys.executable, "-m", "skillopt_sleep", "config", "set", "gate.alpha", "0.1"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 1
    assert "is a bug" not in child.stderr
    assert "make room" in child.stderr


@pytest.mark.parametrize(
    ("key", "value"),
    [("target.agent", "robot"), ("target.settings", "user"), ("replay.sandbox", "docker")],
)
def test_a_setting_no_night_could_work_with_is_refused_when_it_is_set(sleeper: Sleeper, key: str, value: str):
    before = locate().config.read_bytes()
    sleeper.sleep("config", "set", key, value, expect=2)
    assert locate().config.read_bytes() == before
