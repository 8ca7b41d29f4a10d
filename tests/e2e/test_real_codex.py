"""One true night with the real Codex: rollouts in, a skill out, and the client obeys it.

The client is real, as the person's, the agent and the optimizer; the model behind it is scripted. It behaves
like one that follows skills: it reads the one whose name it sees on offer, and does as the text says.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import psutil
import pytest

from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect
from tests.conftest import git
from tests.replay.real_suite import marks_for
from tests.support.codex_person import CODEX, CodexPerson
from tests.support.scripted_model_server import MockModelServer

pytestmark = marks_for(CODEX, "SKILLOPT_TEST_CODEX")

MODULES = (
    "billing invoices shipping returns catalogue search accounts payments coupons reviews stock pricing"
    " carts refunds"
).split()
CORRECTION = "no, use `make check`, not `python3 -m unittest`"
KILLS = int(os.environ.get("SKILLOPT_TEST_KILLS", "1"))
REQUEST = 1240  # tokens
LONGEST = 4  # requests of a run or of the optimizer
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


def start(person: CodexPerson, *arguments: str) -> subprocess.Popen[str]:
    """Start our own command as the person would."""
    programs = person.home / "bin"
    programs.mkdir(exist_ok=True)
    link = programs / "codex"
    if not link.exists():
        link.symlink_to(CODEX)
    env = {**os.environ, "MOCK_KEY": "sk-fake", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.Popen(
        [sys.executable, "-m", "skillopt_sleep", *arguments],
        cwd=person.project,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sleep(person: CodexPerson, *arguments: str) -> str:
    """Run our own command as the person would, to its end."""
    child = start(person, *arguments)
    told, said = child.communicate(timeout=240)
    assert child.returncode == 0, f"{arguments}: {child.returncode}\n{told}\n{said}"
    return told


def work_for_days(person: CodexPerson, modules: Sequence[str], corrected: Collection[int]) -> str:
    """Have the client run tests and be corrected at times; return the skill that is mined from it."""
    for number, module in enumerate(modules):
        prompt = f"Run the tests for the {module} module"
        answer = person.ask(prompt, *([CORRECTION] if number in corrected else []))
        assert answer == ("make check passed." if number in corrected else "I ran unittest.")
    harvested = json.loads(sleep(person, "harvest", "--json"))
    assert (harvested["sessions"], harvested["skipped"]) == (len(modules), 0)
    sessions = json.loads(sleep(person, "sessions", "--json"))
    assert {(s["client"], s["kind"]) for s in sessions} == {("codex", "human")}
    (skill,) = {task["skill"] for task in json.loads(sleep(person, "tasks", "--json"))}
    return skill


def test_a_correction_becomes_a_skill_that_the_real_client_loads_and_obeys(
    person: CodexPerson, project: Path, model: MockModelServer
):
    skill = work_for_days(person, MODULES, {3, 11})
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


def test_a_night_killed_with_clients_under_way_leaves_none_running_and_pays_nothing_twice(
    person: CodexPerson, model: MockModelServer
):
    skill = work_for_days(person, MODULES[:6], {1, 4})
    sleep(person, "config", "set", "gate.min_tasks", "2")
    model.set_script(plays(skill))
    before = len(model.requests)
    chance = random.Random(20261130)
    lost = 0
    for kill in range(KILLS):
        night = start(person, "run", "--json")
        wait_for_requests(model, len(model.requests) + chance.randint(2, 6), night)
        time.sleep(chance.uniform(0.0, 0.3))
        below = psutil.Process(night.pid).children(recursive=True)
        assert night.poll() is None, f"it ended before kill {kill}"
        night.kill()
        night.communicate()
        _, alive = psutil.wait_procs(below, timeout=20)
        assert [one.name() for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
        lost += check_ledger(model, before, lost)
    night = json.loads(sleep(person, "run", "--json"))
    assert night["state"] == "done"
    assert check_ledger(model, before, lost) == 0, "nothing was cut off since"


def wait_for_requests(model: MockModelServer, number: int, night: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while len(model.requests) < number and night.poll() is None:
        assert time.monotonic() < deadline, "the night never came so far"
        time.sleep(0.005)


def check_ledger(model: MockModelServer, before: int, lost: int) -> int:
    """Hold the ledger against the service's own log; return how many calls were cut off beyond `lost`."""
    connection = connect(locate().database)
    try:
        rows = connection.execute("select key, state, tokens, reserved_tokens from calls").fetchall()
    finally:
        connection.close()
    billed = REQUEST * (len(model.requests) - before)
    told = sum(row["tokens"] or 0 for row in rows)
    untold = [row for row in rows if row["tokens"] is None]
    assert told <= billed, "nothing is counted that nobody was asked"
    counted = told + sum(row["reserved_tokens"] for row in untold)
    assert billed <= counted, "and nothing that somebody was asked is missing"
    assert billed <= told + len(untold) * LONGEST * REQUEST, "what was told was not asked for again"
    keys = [row["key"].partition("#")[0] for row in rows if row["state"] == "done"]
    assert len(keys) == len(set(keys)), "what ended well was not made again"
    return len(untold) - lost
