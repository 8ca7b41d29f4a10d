"""Every command: its JSON twin, its exit codes, and what it says when something is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from skillopt_sleep.cli import app
from skillopt_sleep.paths import locate
from skillopt_sleep.review.visible import hides
from tests.app.conftest import Sleeper
from tests.conftest import git
from tests.support.chat_server import RULE, ChatModel
from tests.support.command import run_command
from tests.support.transcripts import write_session

COMMANDS = "demo run review apply reject snooze revert status harvest sessions tasks doctor".split()
CONFIG = "show get set unset path".split()
ESCAPE = "\x1b"


def run(*arguments: str, env: dict[str, str | None] | None = None, **options) -> subprocess.CompletedProcess:
    """Run the command as a child; a value of None in `env` takes the variable away."""
    changed = {**os.environ, **(env or {})}
    return subprocess.run(
        [sys.executable, "-m", "skillopt_sleep", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={k: v for k, v in changed.items() if v is not None},
        timeout=60,
        **options,
    )


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def slept(sleeper: Sleeper) -> str:
    """The id of the proposal that a whole night made."""
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    return proposal


# --- JSON ----------------------------------------------------------------------------------------


def test_every_json_twin_has_the_documented_keys(sleeper: Sleeper, model: ChatModel):
    def told(*arguments: str, expect: int = 0):
        return json.loads(sleeper.sleep(*arguments, "--json", expect=expect))

    sleeper.work()
    keys = {"files_seen", "files_read", "bytes_read", "sessions", "turns", "skipped", "warnings", "seconds"}
    harvested = told("harvest")
    assert set(harvested) == keys
    assert (harvested["sessions"], harvested["turns"], harvested["skipped"]) == (20, 22, 0)

    sessions = told("sessions")
    keys = {"id", "client", "client_version", "kind", "path", "project", "branch", "started", "ended"}
    keys |= {"prompts", "tool_calls", "interruptions", "corrections", "tokens", "skills"}
    assert {frozenset(session) for session in sessions} == {frozenset(keys)}
    assert set(sessions[0]["tokens"]) == {"input", "output", "cache_read", "cache_write"}
    assert told("sessions", "--kind", "human") == sessions
    assert told("sessions", "--kind", "replay", expect=3) == []

    tasks = told("tasks")
    keys = {"id", "family", "title", "prompt", "occurrences", "sessions", "project", "commit", "skill"}
    keys |= {"checks", "split", "failed_before", "root", "skill_origin", "template", "values"}
    assert {frozenset(task) for task in tasks} == {frozenset(keys)}
    assert {task["split"] for task in tasks} == {None}

    status = told("status")
    assert (status["last_night"], status["pending"], status["sessions"]) == (None, [], {"human": 20})
    assert told("review", expect=3) == {"proposals": []}

    report = told("run")
    keys = {"night", "state", "tasks", "rollouts", "tokens", "cost_usd", "verdicts", "proposals"}
    assert keys <= set(report)
    assert {task["split"] for task in told("tasks")} == {"train", "gate", "test"}

    status = told("status")
    (proposal,) = status["pending"]
    keys = {"id", "state", "started", "ended", "spend", "gate_mode", "verdicts", "proposals", "decided"}
    assert set(status["last_night"]) == keys
    assert set(status["month"]) == {"usd", "ceiling_usd"}
    assert set(status["last_night"]["spend"]) == {"calls", "tokens", "usd", "reserved_usd"}
    assert status["last_night"]["proposals"] == [proposal]
    assert status["last_night"]["spend"]["calls"] == len(model.requests)

    (shown,) = told("review")["proposals"]
    assert [line["action"] for line in shown["history"]] == ["stage"]
    keys = {"id", "skill", "client", "branch", "verdict", "effect", "interval", "evidence", "cost_usd"}
    assert keys | {"nights", "diff", "hunks"} <= set(shown)
    assert (shown["id"], shown["verdict"]) == (proposal, "accept")

    keys = {"proposal", "state", "sentence", "live", "complete", "committed", "uncommitted"}
    (applied,) = told("apply", proposal)
    assert set(applied) == keys
    assert applied["state"] == "applied"
    assert told("revert", proposal)["state"] == "reverted"
    assert told("reject", proposal, "--reason", "no")["state"] == "rejected"
    assert told("review", expect=3) == {"proposals": []}
    assert [p["state"] for p in told("review", "--all")["proposals"]] == ["rejected"]


def test_settings_and_the_check_up_have_json_twins():
    values = json.loads(invoke("config", "show", "--json").stdout)
    assert {frozenset(value) for value in values} == {frozenset({"key", "value", "origin", "description"})}
    alpha = json.loads(invoke("config", "get", "gate.alpha", "--json").stdout)
    assert alpha in values
    written = json.loads(invoke("config", "set", "gate.alpha", "0.1", "--json").stdout)
    assert (written["value"], written["origin"]) == (0.1, "file")
    assert set(json.loads(invoke("config", "path", "--json").stdout)) == {"config", "data", "cache", "log"}
    findings = json.loads(invoke("doctor", "--json").stdout)
    assert {frozenset(f) for f in findings} == {frozenset({"name", "ok", "detail", "hint", "needed"})}


# --- exit codes and messages ---------------------------------------------------------------------


@pytest.mark.parametrize("command", [*COMMANDS, "config", *(f"config {name}" for name in CONFIG)])
def test_every_command_explains_itself(command: str):
    for option in ("--help", "-h"):
        done = invoke(*command.split(), option)
        assert done.exit_code == 0
        assert "Usage: " in done.stdout
        assert ESCAPE not in done.stdout
        if command != "config":
            assert "--json" in done.stdout


@pytest.mark.parametrize("group", ["", "config", "gate", "night", "plugin"])
def test_a_list_of_commands_cuts_no_sentence_off(group: str, monkeypatch):
    monkeypatch.setenv("COLUMNS", "78")
    listed = invoke(*group.split(), "--help").stdout.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["apply", "nothing"], 2, "there is no proposal 'nothing'"),
        (["apply", ""], 2, "there is no proposal ''"),
        (["apply", "a", "--hunks", "one"], 2, "not a list of numbers"),
        (["apply", "a", "--hunks", ""], 2, "not a list of numbers"),
        (["apply", "a", "--hunks", "1,,2"], 2, "not a list of numbers"),
        (["apply", "a", "--hunks", "0"], 2, "numbered from 1"),
        (["apply", "a", "b", "--hunks", "1"], 2, "one ID"),
        (["apply"], 2, "name the proposals to apply, or --all"),
        (["apply", "a", "--all"], 2, "--all takes neither"),
        (["apply", "--all"], 3, ""),
        (["snooze", "a", "--days", "0"], 2, "days"),
        (["snooze", "nothing"], 2, "there is no proposal"),
        (["reject", "nothing"], 2, "Missing option"),
        (["reject", "nothing", "--reason", "no"], 2, "there is no proposal"),
        (["revert", "nothing"], 2, "there is no proposal"),
        (["config", "get", "gate.alhpa"], 2, "did you mean gate.alpha?"),
        (["config", "set", "gate.alpha", "1.5"], 2, "gate.alpha"),
        (["config", "set", "gate.alpha", "nan"], 2, "gate.alpha"),
        (["config", "set", "gate.tasks", "many"], 2, "'many' is not a whole number"),
        (["config", "set", "gate.tasks", "1\nmode = 2"], 2, "gate.tasks"),
        (["config", "set", "gate.mode", "guess"], 2, "gate.mode"),
        (["config", "set", "gate.alpha", ""], 2, "'' is not a number"),
        (["sessions", "--kind", "alien"], 2, "alien"),
        (["sessions"], 3, "no sessions yet"),
        (["tasks"], 3, "no recurring tasks yet"),
        (["review"], 3, ""),
        (["status"], 0, ""),
        (["dream"], 2, "No such command"),
        (["run", "--fast"], 2, "No such option"),
    ],
)
def test_a_mistake_is_told_with_its_exit_code_and_without_a_traceback(arguments, code, said):
    done = invoke(*arguments)
    assert done.exit_code == code, done.output
    assert said in done.stderr
    assert "Traceback" not in done.output
    assert "bug" not in done.stderr


def test_without_an_agent_a_night_says_what_to_do(sleeper: Sleeper):
    sleeper.set(target_agent="auto", target_model="")
    done = run_command("run", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 1
    assert "no agent to run the tasks with" in done.stderr
    assert "hint: " in done.stderr
    refused = CliRunner().invoke(app, ["config", "set", "target.agent", "robot"])
    assert refused.exit_code == 2
    assert "copilot (real CLIs), command" in refused.stderr


def test_hunks_that_are_not_there_and_decided_proposals_are_told(slept: str, sleeper: Sleeper):
    done = invoke("apply", slept, "--hunks", "1,7")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "has no hunk 7" in done.stderr
    sleeper.sleep("apply", slept)
    done = invoke("apply", slept)
    assert (done.exit_code, done.stdout) == (4, "")
    assert "is already applied" in done.stderr


def test_when_one_of_several_cannot_be_applied_the_others_are_reported(slept: str, sleeper: Sleeper):
    done = invoke("apply", slept, "nothing", "--json")
    assert done.exit_code == 2
    assert [change["proposal"] for change in json.loads(done.stdout)] == [slept]
    assert "there is no proposal 'nothing'" in done.stderr
    assert json.loads(invoke("status", "--json").stdout)["pending"] == []


def test_a_conflict_ends_with_4_and_writes_nothing(slept: str, sleeper: Sleeper):
    live = sleeper.project / ".claude/skills/add-package-project/SKILL.md"
    live.parent.mkdir(parents=True)
    live.write_text("---\nname: add-package-project\ndescription: mine\n---\n\nMine.\n")
    done = invoke("apply", slept)
    assert done.exit_code == 4
    assert "Mine." in live.read_text()
    assert RULE not in live.read_text()
    assert "line 2:\n  <<<<<<< live" in done.stderr or "<<<<<<< live" in done.stderr
    assert "git merge skillopt/" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gate = [", "is not TOML"),
        ("[gate]\nalpha = 2\n", "gate.alpha"),
        ("[gate]\nalhpa = 0.1\n", "alhpa"),
        ("gate = 3\n", "gate"),
        (b"\xff\xfe\x00", "cannot read"),
        (None, "cannot read"),
    ],
)
def test_a_bad_settings_file_is_told_by_every_command_that_reads_it(text, said):
    path = locate().config
    path.parent.mkdir(parents=True)
    if text is None:
        path.mkdir()
    else:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for arguments in (
        ["run"],
        ["run", "--dry-run"],
        ["tasks"],
        ["config", "show"],
        ["config", "get", "gate.tasks"],
        ["config", "set", "gate.tasks", "9"],
    ):
        done = invoke(*arguments)
        assert done.exit_code == 2, f"{arguments}: {done.output}"
        assert said in done.stderr, arguments
        assert "bug" not in done.stderr
    assert invoke("doctor").exit_code == 1
    assert "settings" in invoke("doctor").stdout


def test_settings_that_are_a_link_stay_one(tmp_path: Path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    locate().config.parent.mkdir(parents=True)
    locate().config.symlink_to(real)
    assert invoke("config", "set", "gate.tasks", "9").exit_code == 0
    assert locate().config.is_symlink()
    assert real.read_text().startswith("# mine\n")
    assert "tasks = 9" in real.read_text()


def damage(path: Path) -> None:
    """Spoil everything behind the first page, which is all that opening looks at."""
    data = path.read_bytes()
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    path.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))


@pytest.mark.parametrize("kind", ["text", "folder", "damaged", "blocked"])
def test_a_database_that_cannot_be_used_is_told_with_a_way_out(kind: str, sleeper: Sleeper, monkeypatch):
    sleeper.work()
    path = locate().database
    if kind == "damaged":
        sleeper.sleep("harvest")
        damage(path)
    elif kind == "blocked":
        monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(sleeper.project / "README.md"))
    elif kind == "folder":
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_text("this was a database once, but is none any more " * 99)
    for arguments in (
        ["status"],
        ["sessions"],
        ["tasks"],
        ["harvest"],
        ["review", "--plain"],
        ["apply", "x"],
    ):
        done = invoke(*arguments)
        assert done.exit_code == 1, f"{arguments}: {done.output}"
        assert "hint: " in done.stderr
        assert "bug" not in done.stderr, f"{arguments}: {done.stderr}"
        assert "Traceback" not in done.output
    assert invoke("doctor").exit_code == 1


@pytest.mark.parametrize("keys", ["fly:x", "apply:t", "apply:"])
def test_keys_that_the_review_would_refuse_are_refused_when_they_are_set(keys: str):
    done = invoke("config", "set", "review.keys", keys)
    assert done.exit_code == 2, done.output
    assert "hint: " in done.stderr
    assert not locate().config.exists(), "nothing is written"
    assert invoke("config", "set", "review.keys", "apply:x").exit_code == 0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("-1", "ceilings.usd cannot be -1: it takes a number of at least 0"),
        ("-.5", "ceilings.usd"),
        ("inf", "for none write a number that no night reaches"),
        ("-inf", "ceilings.usd"),
        ("nan", "ceilings.usd"),
    ],
)
def test_a_ceiling_below_zero_or_without_end_is_refused_in_its_own_words(value: str, said: str):
    for arguments in (["ceilings.usd", value, "--json"], ["--json", "--", "ceilings.usd", value]):
        done = invoke("config", "set", *arguments)
        assert done.exit_code == 2, done.output
        assert said in done.stderr
        assert "No such option" not in done.stderr
    assert not locate().config.exists()


def test_every_place_is_listed():
    places = json.loads(invoke("config", "path", "--json").stdout)
    assert {name: Path(place) for name, place in places.items()} == {
        name: getattr(locate(), name) for name in ("config", "data", "cache", "log")
    }


def test_the_commands_without_json_are_those_that_are_said_to_have_none():
    def walk(command: Any, name: str) -> Iterator[str]:
        for one, below in getattr(command, "commands", {}).items():
            yield from walk(below, f"{name} {one}".strip())
        if not hasattr(command, "commands") and not any("--json" in one.opts for one in command.params):
            yield name

    assert set(walk(get_command(app), "")) == {"logs", "daemon"}


def test_without_home_the_commands_work_or_say_what_is_missing(sleeper: Sleeper):
    sleeper.work()
    for arguments in (["harvest"], ["status"], ["tasks"], ["config", "path"]):
        done = run(*arguments, env={"HOME": None})
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


def test_a_bug_leaves_its_traceback_in_the_log_and_a_line_for_the_user(monkeypatch):
    from skillopt_sleep.store import nights

    monkeypatch.setattr(nights, "last_night", lambda connection: 1 / 0)
    done = invoke("status")
    assert done.exit_code == 1
    assert "error: ZeroDivisionError" in done.stderr
    path = Path(re.findall(r"details are in (\S+)", done.stderr)[0])
    assert path.is_relative_to(locate().log)
    assert "Traceback" in path.read_text()


# --- what is printed, and where ------------------------------------------------------------------


def test_in_a_pipe_there_are_no_escape_codes_and_progress_goes_to_stderr(slept: str, sleeper: Sleeper):
    for arguments in (["review"], ["review", "--plain"], ["status"], ["tasks"], ["sessions"], ["harvest"]):
        # What finds out about the outputs by itself, and what draws a bar, is asked as a process.
        asked = run if arguments in (["review"], ["harvest"]) else run_command
        done = asked(*arguments, env={"TERM": "xterm-256color"})
        assert done.returncode == 0, done.stderr
        assert ESCAPE not in done.stdout + done.stderr
        assert done.stdout.strip()
    assert "harvest" in done.stderr
    assert "harvest 0/" not in done.stdout


def test_no_color_is_heeded_on_a_terminal(sleeper: Sleeper):
    import pty

    sleeper.work(days=2)
    for quiet in (True, False):
        parent, child = pty.openpty()
        env = {**os.environ, "TERM": "xterm-256color", **({"NO_COLOR": "1"} if quiet else {})}
        process = subprocess.Popen(
            [sys.executable, "-m", "skillopt_sleep", "harvest"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=child,
            env=env,
            start_new_session=True,
        )
        os.close(child)
        shown = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(parent)
        assert process.wait(timeout=30) == 0
        coloured = re.findall(rb"\x1b\[[0-9;]*3[0-9][0-9;]*m", shown)
        assert bool(coloured) is not quiet


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
@pytest.mark.parametrize("arguments", [["sessions"], ["sessions", "--json"], ["harvest"]])
def test_a_full_disk_under_the_output_is_an_error_with_its_message(arguments, sleeper: Sleeper):
    sleeper.work(days=2)
    sleeper.sleep("harvest")
    command = [sys.executable, "-m", "skillopt_sleep", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert done.returncode == 1
    assert b"error: the disk: No space left on device" in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("arguments", [["sessions"], ["sessions", "--json"], ["config", "show"]])
def test_a_reader_that_goes_away_is_no_error_to_shout_about(arguments, sleeper: Sleeper):
    sleeper.work(days=40, corrected=())
    sleeper.sleep("harvest")
    command = " ".join([sys.executable, "-m", "skillopt_sleep", *arguments])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1"], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [["harvest"], ["run", "--dry-run"], ["apply", "nothing"]])
def test_progress_or_an_error_that_nobody_reads_ends_with_a_documented_exit_code(arguments, sleeper: Sleeper):
    sleeper.work(days=2)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "skillopt_sleep", *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, check=False, timeout=60
    )
    os.close(writer)
    assert done.returncode == 1


def test_the_version_is_told_and_the_command_loads_nothing_heavy():
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"skillopt-sleep \d+\.\d+\.\d+\n", done.stdout)
    heavy = "textual git apscheduler watchdog httpx2 rich tomlkit sqlite3 psutil filelock".split()
    code = f"import sys, skillopt_sleep.cli; print(sorted(set({heavy}) & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_text_of_the_users_that_the_terminal_cannot_show_is_no_error(sleeper: Sleeper):
    sleeper.work(days=2)
    folder = next(sleeper.projects.iterdir())
    for path in folder.iterdir():
        path.write_text(path.read_text().replace("Add the", "Füge 日本 hinzu: Add the"))
    sleeper.sleep("harvest")
    done = run("sessions", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    assert "hinzu" in done.stdout


@pytest.mark.parametrize("arguments", [["sessions"], ["sessions", "--show", "ID"]])
def test_json_cannot_drive_a_terminal_either(arguments, sleeper: Sleeper):
    """A terminal obeys control characters of eight bits too, and hides others; JSON can escape them."""
    words = "first \u009b2J\u009d0;title\u009c \x7f \u202e \u2028 \U000e0041 日本 \U0001f600"
    path = write_session(sleeper.projects / "-w", "hidden", [(words, "done")], cwd="/w")
    sleeper.sleep("harvest")
    done = run_command(*[path.stem if part == "ID" else part for part in arguments], "--json")
    told = json.loads(done.stdout)
    [prompt] = told[0]["prompts"] if isinstance(told, list) else [turn["prompt"] for turn in told["turns"]]
    assert prompt == words
    assert not hides(done.stdout)
    assert "日本 \U0001f600" in done.stdout


@pytest.mark.parametrize("arguments", ["sessions", "sessions --json", "tasks", "harvest --json"])
def test_without_an_output_the_commands_end_as_ever(arguments, sleeper: Sleeper):
    sleeper.work(days=2)
    sleeper.sleep("harvest")
    command = f"{sys.executable} -m skillopt_sleep {arguments} >&-"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ
    )
    assert "bug" not in done.stderr
    assert done.returncode in {0, 3}


# --- doctor --------------------------------------------------------------------------------------


def test_the_check_up_passes_where_a_night_can_run_and_fails_where_not(sleeper: Sleeper):
    sleeper.work(days=2)
    done = invoke("doctor")
    assert done.exit_code == 0, done.stdout
    assert "MISSING" not in done.stdout
    assert "a night would replay with the chat model" in done.stdout
    assert git(sleeper.project, "status", "--porcelain") == ""
    sleeper.set(target_agent="auto", target_model="")
    done = run("doctor", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 1
    assert re.search(r"^MISSING +target", done.stdout, re.MULTILINE)
    done = run("doctor", "--json", env={"PATH": "/nonexistent"})
    assert done.returncode == 1
    missing = {f["name"] for f in json.loads(done.stdout) if f["needed"] and not f["ok"]}
    assert "git" in missing
    assert all(f["hint"] for f in json.loads(done.stdout) if f["needed"] and not f["ok"])


def test_the_check_up_refuses_a_git_that_could_not_stage(tmp_path: Path, monkeypatch):
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\necho git version 2.17.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = invoke("doctor")
    assert done.exit_code == 1
    assert re.search(r"MISSING +git +2\.17\.1 is too old\n +install git 2\.25 or newer", done.stdout)


def test_the_check_up_tells_of_the_judge_when_there_is_to_be_one(sleeper: Sleeper, model: ChatModel):
    assert "judge" not in [f["name"] for f in json.loads(sleeper.sleep("doctor", "--json"))]
    sleeper.set(judge_model=model.spec)
    assert re.search(r"^ok +judge +scripted at .* would judge", sleeper.sleep("doctor"), re.MULTILINE)
    sleeper.set(judge_model="local:/not/there.gguf")
    told = sleeper.sleep("doctor", expect=1)
    assert re.search(r"^MISSING +judge +the model file /not/there.gguf cannot be read", told, re.MULTILINE)


def test_the_check_up_names_the_variable_a_model_needs_and_what_it_would_cost(
    sleeper: Sleeper, monkeypatch: pytest.MonkeyPatch
):
    sleeper.set(optimizer_model="deepseek:some-model")
    done = invoke("doctor")
    assert done.exit_code == 1
    assert re.search(r"^MISSING +optimizer +DEEPSEEK_API_KEY is not set", done.stdout, re.MULTILINE)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-very-secret")
    done = invoke("doctor")
    assert done.exit_code == 0, done.stdout
    assert "price not known" in done.stdout
    sleeper.sleep("config", "set", "prices.some-model", "[0.5, 1.5]")
    done = invoke("doctor")
    assert "$0.5 in and $1.5 out per million tokens" in done.stdout
    assert "sk-very-secret" not in done.stdout


def test_the_check_up_says_who_would_run_the_tasks_and_why(
    sleeper: Sleeper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    sleeper.work(days=2)
    sleeper.sleep("harvest")
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 9.9.9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    sleeper.set(target_agent="auto", target_model="")
    done = invoke("doctor")
    assert re.search(r"^MISSING +target +no agent.*Claude Code is not signed in", done.stdout, re.MULTILINE)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-fake")
    done = invoke("doctor")
    assert (
        "would replay with Claude Code: it is installed and signed in, and 2 of your sessions" in done.stdout
    )
    assert re.search(
        r"optimizer +claude 9.9.9 would write the edits: Claude Code runs the tasks", done.stdout
    )
