"""Mining through the index: what was found keeps its names, whatever is harvested later."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from skillopt_harvesters import Kind, Session, Turn
from skillopt_replay.skills import new_skill
from skillopt_sleep.night.mining import mine_tasks
from skillopt_sleep.settings import Mine, Settings
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.index import save_session
from tests.app.conftest import Sleeper
from tests.conftest import git


@pytest.fixture
def index(tmp_path: Path):
    connection = connect(tmp_path / "state" / "state.db")
    yield connection
    connection.close()


def hold(
    index: sqlite3.Connection, day: int, prompt: str, *said: str, skills=(), project="/p", **others
) -> None:
    started = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:00:00.000Z"
    turns = [Turn(prompt=prompt, answer="Done.", skills=tuple(skills), started=started)]
    turns += [Turn(prompt=text, answer="Done.", started=started) for text in said]
    session = Session(
        id=f"s{day:03}",
        client="claude",
        client_version="2",
        kind=Kind.HUMAN,
        path=f"/t/{day}.jsonl",
        project=project,
        started=started,
        turns=tuple(turns),
        **others,
    )
    save_session(index, session)


def name(tasks) -> dict[str, tuple[str, str, str]]:
    return {task.prompt: (task.id, task.family, task.skill) for task in tasks}


def test_families_that_turn_out_to_be_one_keep_the_names_their_tasks_had(index, private_home: Path):
    env = {"HOME": str(private_home)}
    for day, thing in enumerate(("the parser", "the audit log", "the price cache")):
        hold(index, 2 * day + 10, f"Draft what customers should know about {thing}")
        hold(index, 2 * day + 11, f"Tell the sales team what is new in {thing}")
    before = name(mine_tasks(index, Settings(), env))
    assert len({skill for _, _, skill in before.values()}) == 2
    said = "Group it by audience and keep the link to the ticket", "mention the German holidays first"
    hold(index, 50, "Draft what customers should know about the tax rules", *said)
    hold(index, 51, "Tell the sales team what is new in the tax rules", *said)
    # An older session, which would found the family anew.
    hold(index, 1, "Draft what all customers should know about the login form")
    after = mine_tasks(index, Settings(), env)
    assert {prompt: name(after)[prompt] for prompt in before} == before
    new = [task for task in after if task.prompt not in before]
    assert len(new) == 3
    assert {task.family for task in new} <= {family for _, family, _ in before.values()}


def test_a_removed_worktree_stays_with_its_project(
    index, repository: Path, private_home: Path, tmp_path: Path
):
    env = {"HOME": str(private_home)}
    worktree = tmp_path / "hotfix"
    git(repository, "worktree", "add", "-q", "--detach", str(worktree))
    hold(index, 1, "add a changelog entry for the parser", project=str(repository))
    hold(index, 2, "add a changelog entry for the lexer", project=str(worktree))
    before = name(mine_tasks(index, Settings(), env))
    assert len(before) == 2
    git(repository, "worktree", "remove", str(worktree))
    assert name(mine_tasks(index, Settings(), env)) == before


def test_a_loaded_skill_is_taken_only_when_it_is_the_users_or_the_projects(index, private_home: Path):
    env = {"HOME": str(private_home)}
    for day in range(1, 4):
        hold(index, day, f"add a changelog entry for module{day}", skills=["house-notes"])
        hold(index, day + 10, f"profile module{day} and find the hot spot", skills=["pdf"])
        hold(index, day + 20, f"translate the texts of module{day}", skills=["tools:house-notes"])
    live = private_home / ".claude" / "skills" / "house-notes" / "SKILL.md"
    live.parent.mkdir(parents=True)
    live.write_text(new_skill("house-notes", "How we write", "Briefly.").text)
    told = {
        task.prompt.split()[0]: (task.skill, task.skill_origin) for task in mine_tasks(index, Settings(), env)
    }
    assert told["add"] == ("house-notes", "loaded")
    assert told["profile"][1] == told["translate"][1] == "new"


def test_what_recurs_only_over_projects_is_a_task_only_when_they_are_one(index, private_home: Path):
    env = {"HOME": str(private_home)}
    hold(index, 1, "add a changelog entry for the parser", project="/a")
    hold(index, 2, "add a changelog entry for the lexer", project="/b")
    assert mine_tasks(index, Settings(), env) == []
    told = mine_tasks(index, Settings(mine=Mine(across_projects=True)), env)
    assert [task.root for task in told] == [None, None]


def test_tasks_say_what_varies_and_why_they_have_their_skill(sleeper: Sleeper):
    sleeper.work(days=4)
    sleeper.sleep("harvest")
    told = json.loads(sleeper.sleep("tasks", "--json"))
    assert {task["template"] for task in told} == {"Add the {0} package to the project"}
    assert [task["values"] for task in told] == [["rich"], ["httpx"], ["click"], ["attrs"]]
    assert {task["skill_origin"] for task in told} == {"new"}
    assert "the new skill add-package-project" in sleeper.sleep("tasks")
