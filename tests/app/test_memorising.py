"""A proposal goes into a memory file instead of a skill, and out again, around what the user writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillopt_sleep.cli import app
from skillopt_sleep.paths import locate
from skillopt_sleep.store.proposals import read_proposal
from skillopt_sleep.tending import tend
from skillopt_staging.errors import Conflict
from skillopt_staging.proposals import State
from skillopt_staging.regions import read_region
from tests.conftest import git
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT
from tests.support.staging import RULE


def apply(*arguments: str, expect: int = 0) -> str:
    done = CliRunner().invoke(app, ["apply", *arguments])
    assert done.exit_code == expect, done.output
    return done.output


def test_a_projects_memory_file_gets_a_region_and_loses_it_again(desk, database, staged, live, repository):
    memory = repository / "CLAUDE.md"
    memory.write_text("# Mine\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "memory")
    assert "not gated as it stands" in apply(staged.id, "--memory")
    text = memory.read_text()
    assert text.startswith(
        "# Mine\n\n<!-- skillopt:begin commit-messages -->\n## commit-messages\n\nWrite commit"
    )
    assert RULE in (read_region(text, "commit-messages") or "")
    assert live.read_text() == COMMITS_BASE
    assert git(repository, "branch", "--list", "skillopt/*").split() == [
        "skillopt/2026-01-02-commit-messages-memory"
    ]
    memory.write_text(text.replace("# Mine", "# Mine and more"))
    desk.carry_out("revert", staged.id)
    assert memory.read_text() == "# Mine and more\n"
    assert read_proposal(database, staged.id).state is State.REVERTED


def test_a_users_memory_file_is_made_and_kept_in_the_vault(desk, database, users, private_home):
    memory = private_home / ".claude/CLAUDE.md"
    apply(users.id, "--memory")
    assert RULE in memory.read_text()
    assert RULE in git(locate().vault, "show", "main:home/.claude/CLAUDE.md")
    assert not Path(users.staged.live).exists()
    desk.carry_out("revert", users.id)
    assert not memory.exists()


def test_one_that_was_moved_can_be_rejected_reopened_and_carried_over(desk, database, staged, repository):
    (repository / "CLAUDE.md").write_text("# Mine\n")
    desk.carry_out("move", staged.id)
    desk.carry_out("move", staged.id)
    desk.carry_out("reject", staged.id, "no")
    assert git(repository, "branch", "--list", "skillopt/*") == ""
    desk.carry_out("reopen", staged.id)
    (repository / "CLAUDE.md").write_text("# Mine and more\n")
    assert "carried over" in tend(database, locate())[0]
    apply(staged.id, "--memory")
    assert (repository / "CLAUDE.md").read_text().startswith("# Mine and more\n\n<!-- skillopt:begin")


def test_hunks_do_not_go_into_memory(staged):
    assert "whole proposal" in apply(staged.id, "--memory", "--hunks", "1", expect=2)


def test_without_the_flag_a_reverted_one_goes_into_its_skill_again_as_it_was_gated(
    desk, database, staged, live, repository
):
    memory = repository / "CLAUDE.md"
    apply(staged.id, "--memory")
    assert f"is for {live} again" in desk.carry_out("revert", staged.id).sentence
    assert git(repository, "branch", "--list", "skillopt/*").split() == [staged.staged.branch]
    assert "not gated" not in apply(staged.id)
    assert (live.read_text(), memory.exists()) == (COMMITS_TEXT, False)
    applied = read_proposal(database, staged.id)
    assert (applied.text, applied.ungated, applied.as_skill) == (staged.text, "", None)
    assert "already applied" in apply(staged.id, "--memory", expect=4)


def test_one_whose_memory_file_could_not_take_it_goes_into_its_skill(staged, live, repository):
    memory = repository / "CLAUDE.md"
    memory.write_text("# Mine\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "memory")
    memory.write_text("# Mine and more\n")
    assert "has edits" in apply(staged.id, "--memory", "--commit", expect=4)
    assert "not gated" not in apply(staged.id)
    assert live.read_text() == COMMITS_TEXT
    assert memory.read_text() == "# Mine and more\n"


@pytest.mark.parametrize("scope", ["project", "user"])
def test_what_the_user_wrote_beside_the_region_of_a_new_memory_file_stays(
    scope, desk, request, repository, private_home
):
    made = request.getfixturevalue("staged" if scope == "project" else "users")
    memory = repository / "CLAUDE.md" if scope == "project" else private_home / ".claude/CLAUDE.md"
    apply(made.id, "--memory")
    ours = memory.read_text()
    memory.write_text(f"# Above\n{ours}mine\n")
    desk.carry_out("revert", made.id)
    assert memory.read_text() == "# Above\nmine\n"
    memory.unlink()
    apply(made.id, "--memory")
    memory.write_text(memory.read_text() + "\n")
    desk.carry_out("revert", made.id)
    assert not memory.exists(), "nothing but empty lines"
    apply(made.id, "--memory")
    memory.write_text(memory.read_text().replace(RULE, "Never mind."))
    with pytest.raises(Conflict):
        desk.carry_out("revert", made.id)
    assert "Never mind." in memory.read_text()
