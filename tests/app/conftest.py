"""Somebody who has worked for days, a scripted model behind a real server, and our own command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from skillopt_sleep.config import set_value
from skillopt_sleep.desk import StoreDesk
from skillopt_sleep.paths import locate
from skillopt_sleep.records import Proposal
from skillopt_sleep.store.database import connect
from tests.conftest import git
from tests.support.chat_server import ChatModel, serve
from tests.support.proposals import COMMITS_BASE
from tests.support.staging import SKILL, stage
from tests.support.transcripts import work_for_days


class Sleeper:
    """Runs our command as the user in `project` would; `projects` is where the client keeps transcripts."""

    def __init__(self, home: Path, project: Path, model: ChatModel) -> None:
        self.home = home
        self.project = project
        self.projects = home / ".claude" / "projects"
        self.model = model

    def work(self, **options: Any) -> None:
        work_for_days(self.projects, self.project, **options)

    def set(self, **settings: object) -> None:
        """Write settings; `gate_tasks=5` is gate.tasks."""
        for name, value in settings.items():
            set_value(locate().config, name.replace("_", ".", 1), str(value))

    def sleep(self, *arguments: str, expect: int = 0) -> str:
        """Run the command in this process and return what it printed."""
        from skillopt_sleep.cli import app

        done = CliRunner().invoke(app, list(arguments))
        told = f"{arguments}: {done.exit_code}\n{done.stdout}\n{done.stderr}"
        assert done.exit_code == expect, told
        assert "Traceback" not in done.output, told
        assert "this is a bug" not in done.output, told
        return done.stdout

    def night(self, *arguments: str, expect: int = 0) -> dict[str, Any]:
        """Work a night and return its report."""
        report: dict[str, Any] = json.loads(self.sleep("run", "--json", *arguments, expect=expect))
        return report

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command as a child in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "skillopt_sleep", *arguments],
            cwd=self.project if self.project.is_dir() else self.home,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_heed_signals,  # noqa: PLW1509 - it only sets signals
        )


def _heed_signals() -> None:
    """Undo what a suite that was started in the background, or by nohup, would hand down."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)


@pytest.fixture
def model():
    with serve(ChatModel()) as served:
        yield served


@pytest.fixture
def sleeper(private_home: Path, repository: Path, model: ChatModel) -> Sleeper:
    """Somebody with a git project, a chat target and an optimizer behind the same server, no sessions yet."""
    with (private_home / ".gitconfig").open("a") as config:
        config.write("[core]\n\tfsync = none\n")
    someone = Sleeper(private_home, repository, model)
    someone.set(target_agent="chat", target_model=model.spec)
    return someone


def photograph(project: Path) -> dict[str, object]:
    """Return everything of a repository that a night may not change."""
    refs = git(project, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    ours = ("refs/heads/skillopt/", "refs/skillopt/", "refs/notes/skillopt")
    return {
        "head": (project / ".git/HEAD").read_text(),
        "index": (project / ".git/index").read_bytes(),
        "status": git(project, "status", "--porcelain", "--ignored", "--untracked-files=all"),
        "refs": [ref for ref in refs if not ref.startswith(ours)],
        "config": (project / ".git/config").read_bytes(),
        "files": sorted(str(path) for path in project.rglob("*") if ".git" not in path.parts),
    }


@pytest.fixture
def live(repository: Path) -> Path:
    """The live file of a project that has the skill, committed."""
    path = repository / ".claude" / "skills" / SKILL / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(COMMITS_BASE)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "a skill")
    return path


@pytest.fixture
def database():
    connection = connect(locate().database)
    yield connection
    connection.close()


@pytest.fixture
def desk() -> StoreDesk:
    return StoreDesk(locate())


@pytest.fixture
def staged(database, live: Path) -> Proposal:
    return stage(database, live)


@pytest.fixture
def users(database, private_home: Path) -> Proposal:
    """A new skill of the user's, staged in the vault."""
    path = private_home / ".claude" / "skills" / SKILL / "SKILL.md"
    return stage(database, path, night="2026-01-05", base="", repository=None)
