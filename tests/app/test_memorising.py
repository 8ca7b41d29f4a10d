"""A proposal goes into a memory file instead of a skill, and out again, around what the user writes."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from skillopt_sleep.cli import app
from skillopt_sleep.paths import locate
from skillopt_sleep.store.proposals import read_proposal
from skillopt_sleep.tending import tend
from skillopt_staging.proposals import State
from skillopt_staging.regions import read_region
from tests.conftest import git
from tests.support.proposals import COMMITS_BASE
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
    apply(staged.id)
    assert (repository / "CLAUDE.md").read_text().startswith("# Mine and more\n\n<!-- skillopt:begin")


def test_hunks_do_not_go_into_memory(staged):
    assert "whole proposal" in apply(staged.id, "--memory", "--hunks", "1", expect=2)
