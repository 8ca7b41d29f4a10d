"""One true night with the real Claude Code: transcripts in, a skill out, and the client obeys it.

The client is real; the model behind it is scripted. It behaves like one that follows skills: it calls the
skill whose name it sees on offer, and does as the text says that it then reads.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.person import CLAUDE, Person, require_claude
from tests.support.scripted_model_server import MockModelServer

pytestmark = [pytest.mark.real_cli, require_claude]

MODULES = (
    "billing invoices shipping returns catalogue search accounts payments coupons reviews stock pricing"
    " carts refunds"
).split()
CORRECTION = "no, use `make check`, not `python3 -m unittest`"
RULE = "Run the tests of a module with `make check`, never with `python3 -m unittest`."
WRONG = [{"do": [{"shell": "python3 -m unittest -q || true"}]}, {"do": [{"say": "I ran unittest."}]}]
RIGHT = [{"do": [{"shell": "make check"}]}, {"do": [{"say": "make check passed."}]}]


def plays(skill: str = "", *, obeys: bool = True) -> dict:
    """The model's script: it knows a skill once it was mined, and obeys what it reads or not."""
    edit = {"rule": RULE, "because": ["c1"]}
    edits = {"reasoning": "the user wants make check", "edits": [edit]}
    asked = {"user_contains": "Run the tests"}
    known = [
        {
            "name": "has read the skill",
            "when": {**asked, "any_contains": RULE[:40]},
            "steps": [{"do": [{"say": "-"}]}, *(RIGHT if obeys else WRONG)],
        },
        {
            "name": "sees the skill on offer",
            "when": {**asked, "any_contains": skill},
            "steps": [{"do": [{"skill": skill}]}, *WRONG],
        },
    ]
    return {
        "plays": [
            {
                "name": "optimizer",
                "when": {"tool_available": "StructuredOutput"},
                "steps": [{"do": [{"structured": edits}]}],
            },
            {"name": "is corrected", "when": {"user_contains": CORRECTION}, "steps": RIGHT},
            *(known if skill else []),
            {"name": "knows no better", "when": asked, "steps": WRONG},
        ]
    }


@pytest.fixture
def model(tmp_path: Path):
    server = MockModelServer(plays(), str(tmp_path / "requests.jsonl")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the project lies in each test, and what is kept of the days that were worked in it."""
    return tmp_path_factory.mktemp("days")


@pytest.fixture
def project(repository: Path, place: Path) -> Path:
    (repository / "Makefile").write_text("check:\n\t@echo all modules pass\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "A way to check")
    shutil.rmtree(place / "project", ignore_errors=True)
    return repository.rename(place / "project")


@pytest.fixture
def person(private_home: Path, project: Path, model: MockModelServer) -> Person:
    return Person(private_home, project, model.base_url)


def sleep(person: Person, *arguments: str, expect: int = 0) -> str:
    """Run our own command as the person would."""
    programs = person.home / "bin"
    programs.mkdir(exist_ok=True)
    link = programs / "claude"
    if not link.exists():
        link.symlink_to(CLAUDE)
    env = {**os.environ, **{k: v for k, v in person.env.items() if k.startswith("ANTHROPIC_")}}
    env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "skillopt_sleep", *arguments],
        cwd=person.project,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def work_for_days(person: Person, place: Path) -> None:
    """Ask the same kind of thing in many sessions; correct the agent in two of them.

    What the client and the project keep of it is the same for all: who comes first does the work.
    """
    project, transcripts = place / "project then", place / "transcripts then"
    if transcripts.exists():
        shutil.rmtree(person.project)
        shutil.copytree(project, person.project, symlinks=True)
        shutil.copytree(transcripts, person.home / ".claude", symlinks=True)
        return
    for number, module in enumerate(MODULES):
        session, answer = person.ask(f"Run the tests for the {module} module")
        assert answer == "I ran unittest."
        if number in {3, 11}:
            person.ask(CORRECTION, session=session)
    shutil.copytree(person.project, project, symlinks=True)
    shutil.copytree(person.home / ".claude", transcripts, symlinks=True)


def read_requests(model: MockModelServer, since: int = 0) -> list[str]:
    return Path(model.log_path).read_text().splitlines()[since:]


def state_of(project: Path) -> tuple[str, ...]:
    return (
        git(project, "rev-parse", "HEAD"),
        git(project, "status", "--porcelain", "--untracked-files=all"),
        (project / ".git" / "index").read_bytes().hex(),
    )


def test_a_correction_becomes_a_skill_that_the_real_client_loads_and_obeys(
    person: Person, project: Path, place: Path, model: MockModelServer
):
    work_for_days(person, place)
    before = state_of(project)

    harvested = json.loads(sleep(person, "harvest", "--json"))
    assert harvested["sessions"] == len(MODULES)
    assert harvested["skipped"] == 0
    sessions = json.loads(sleep(person, "sessions", "--json"))
    assert {s["kind"] for s in sessions} == {"human"}
    assert [s["corrections"] for s in sessions if s["corrections"]] == [[CORRECTION], [CORRECTION]]

    tasks = json.loads(sleep(person, "tasks", "--json"))
    assert len(tasks) == len(MODULES)
    (skill,) = {task["skill"] for task in tasks}
    for task in tasks:
        learned = [check for check in task["checks"] if check["type"] == "command"]
        assert [(c["command"], c["negate"]) for c in learned] == [
            ("make check", False),
            ("python3 -m unittest", True),
        ]
        assert all(check["origin"]["quote"] == CORRECTION for check in learned)
    verified = [c["command"] for task in tasks for c in task["checks"] if c["type"] == "run"]
    assert verified == ["make check"] * 2, "two sessions ended with a check command that succeeded"

    model.set_script(plays(skill))
    night = json.loads(sleep(person, "run", "--json"))
    assert night["state"] == "done"
    (verdict,) = night["verdicts"]
    assert verdict["decision"] == "accept", verdict
    assert (verdict["losses"], verdict["broken"]) == (0, [])
    (proposal,) = night["proposals"]
    assert state_of(project) == before, "a night changes nothing of the user's"

    shown = sleep(person, "review", "--plain")
    assert RULE in shown
    assert proposal in shown
    assert verdict["reason"].removeprefix("accepted: ") in shown
    branch = f"skillopt/{proposal}"
    assert RULE in git(project, "show", f"{branch}:.claude/skills/{skill}/SKILL.md")
    assert "Sessions: " in git(project, "log", "-1", "--format=%B", branch)

    _, answer = person.ask("Run the tests for the warehouse module")
    assert answer == "I ran unittest.", "nothing is live before it is applied"
    sleep(person, "apply", proposal)
    live = project / ".claude" / "skills" / skill / "SKILL.md"
    assert RULE in live.read_text()

    seen = len(read_requests(model))
    _, answer = person.ask("Run the tests for the warehouse module")
    assert answer == "make check passed."
    requests = read_requests(model, seen)
    assert "Base directory for this skill" not in requests[0]
    assert skill in requests[0], "its description is on offer"
    assert any("Base directory for this skill" in r and RULE in r for r in requests[1:])

    sleep(person, "revert", proposal)
    assert not live.exists()
    _, answer = person.ask("Run the tests for the warehouse module")
    assert answer == "I ran unittest."
    assert state_of(project)[:2] == before[:2]


def test_a_skill_that_does_not_help_is_not_staged(
    person: Person, project: Path, place: Path, model: MockModelServer
):
    work_for_days(person, place)
    before = state_of(project)
    refs = git(project, "for-each-ref")
    sleep(person, "harvest")
    (skill,) = {task["skill"] for task in json.loads(sleep(person, "tasks", "--json"))}
    model.set_script(plays(skill, obeys=False))
    night = json.loads(sleep(person, "run", "--json"))
    assert night["proposals"] == []
    assert [v["decision"] for v in night["verdicts"]] in ([], ["reject"], ["not enough evidence yet"])
    assert night["rollouts"] >= 2
    assert "No proposals are waiting" in sleep(person, "review", "--plain", expect=3)
    assert (state_of(project), git(project, "for-each-ref")) == (before, refs)


def test_our_own_replays_are_never_harvested(person: Person, model: MockModelServer):
    for module in MODULES[:2]:
        person.ask(f"Run the tests for the {module} module")
    person.env["CLAUDE_CODE_ENTRYPOINT"] = "skillopt-sleep-replay"
    person.ask("Run the tests for the shipping module")
    sleep(person, "harvest")
    kinds = sorted(s["kind"] for s in json.loads(sleep(person, "sessions", "--json")))
    assert kinds == ["human", "human", "replay"]
