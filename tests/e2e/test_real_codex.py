"""One true night with the real Codex: rollouts in, a skill out, and the client obeys it.

The client is real, as the person's, the agent and the optimizer; the model behind it is scripted. It behaves
like one that follows skills: it reads the one whose name it sees on offer, and does as the text says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import git
from tests.replay.real_suite import marks_for
from tests.support.codex_person import CODEX, CodexPerson
from tests.support.scripted_model_server import MockModelServer

pytestmark = marks_for(CODEX, "SKILLOPT_TEST_CODEX")

MODULES = (
    "billing invoices shipping returns catalogue search accounts payments coupons reviews stock pricing"
    " carts wishlists refunds taxes exports imports ledgers vouchers"
).split()
CORRECTION = "no, use `make check`, not `python3 -m unittest`"
RULE = "Run the tests of a module with `make check`, never with `python3 -m unittest`."
WRONG = [{"do": [{"shell": "python3 -m unittest -q || true"}]}, {"do": [{"say": "I ran unittest."}]}]
RIGHT = [{"do": [{"shell": "make check"}]}, {"do": [{"say": "make check passed."}]}]


def plays(skill: str = "") -> dict:
    """The model's script: it knows a skill once it was mined, and obeys what it reads."""
    edit = {"rule": RULE, "because": ["c1"]}
    edits = {"reasoning": "the user wants make check", "edits": [edit]}
    asked = {"user_contains": "Run the tests"}
    known = [
        {
            "name": "has read the skill",
            "when": {**asked, "any_contains": RULE[:40]},
            "steps": [{"do": [{"say": "-"}]}, *RIGHT],
        },
        {
            "name": "sees the skill on offer",
            "when": {**asked, "any_contains": f"{skill}/SKILL.md"},
            "steps": [{"do": [{"skill": skill}]}, *WRONG],
        },
    ]
    return {
        "plays": [
            {
                "name": "optimizer",
                "when": {"system_contains": "Reply with JSON"},
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


@pytest.fixture
def project(repository: Path) -> Path:
    (repository / "Makefile").write_text("check:\n\t@echo all modules pass\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "A way to check")
    return repository


@pytest.fixture
def person(private_home: Path, project: Path, model: MockModelServer) -> CodexPerson:
    return CodexPerson(private_home, project, model.base_url)


def sleep(person: CodexPerson, *arguments: str) -> str:
    """Run our own command as the person would."""
    programs = person.home / "bin"
    programs.mkdir(exist_ok=True)
    link = programs / "codex"
    if not link.exists():
        link.symlink_to(CODEX)
    env = {**os.environ, "MOCK_KEY": "sk-fake", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "skillopt_sleep", *arguments],
        cwd=person.project,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_correction_becomes_a_skill_that_the_real_client_loads_and_obeys(
    person: CodexPerson, project: Path, model: MockModelServer
):
    for number, module in enumerate(MODULES):
        prompt = f"Run the tests for the {module} module"
        answer = person.ask(prompt, *([CORRECTION] if number in {3, 11} else []))
        assert answer == ("make check passed." if number in {3, 11} else "I ran unittest.")
    harvested = json.loads(sleep(person, "harvest", "--json"))
    assert (harvested["sessions"], harvested["skipped"]) == (len(MODULES), 0)
    sessions = json.loads(sleep(person, "sessions", "--json"))
    assert {(s["client"], s["kind"]) for s in sessions} == {("codex", "human")}
    (skill,) = {task["skill"] for task in json.loads(sleep(person, "tasks", "--json"))}

    model.set_script(plays(skill))
    night = json.loads(sleep(person, "run", "--json"))
    assert night["state"] == "done"
    assert "codex 0.171.0" in json.dumps(night)
    (verdict,) = night["verdicts"]
    assert verdict["decision"] == "accept", verdict
    (proposal,) = night["proposals"]
    assert RULE in sleep(person, "review", "--plain")

    prompt = "Run the tests for the warehouse module"
    assert person.ask(prompt) == "I ran unittest.", "nothing is live before it is applied"
    sleep(person, "apply", proposal)
    assert person.ask(prompt) == "make check passed."
    sleep(person, "revert", proposal)
    assert person.ask(prompt) == "I ran unittest."

    sleep(person, "harvest")
    kinds = {s["kind"] for s in json.loads(sleep(person, "sessions", "--json"))}
    assert kinds == {"human"}, "nothing of the night was taken for a session of anybody"
