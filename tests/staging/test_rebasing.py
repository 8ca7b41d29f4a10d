"""Proposals that grew old are carried over to what is there now, or found to be past help."""

from __future__ import annotations

from skillopt_staging.apply import apply
from skillopt_staging.branches import read, read_note
from skillopt_staging.rebasing import Standing, rebase

PATH = ".claude/skills/tidy-tests/SKILL.md"


def again(staged):
    return rebase(staged, message="Sharpen tidy-tests", note='{"again": 1}')


def commit(repository, git, name="more.txt"):
    (repository / name).write_text("more\n")
    git(repository, "add", name)
    git(repository, "commit", "-qm", name)


def test_a_commit_elsewhere_moves_the_branch_onto_it_and_keeps_the_texts(
    repository, skill, git, propose, photograph
):
    staged = propose()
    commit(repository, git)
    before = photograph(repository)
    found = again(staged)
    assert photograph(repository) == before
    assert found.standing is Standing.MOVED
    assert found.staged.base == git(repository, "rev-parse", "HEAD")
    assert git(repository, "rev-parse", staged.branch) == found.staged.commit
    assert git(repository, "diff", "--name-only", "HEAD", staged.branch) == PATH
    assert read(found.staged) == read(staged)
    assert read_note(found.staged) == '{"again": 1}'
    assert again(found.staged).standing is Standing.CURRENT


def test_an_edit_elsewhere_in_the_skill_is_taken_along(repository, skill, git, propose):
    staged = propose()
    edited = skill.read_text().replace("Look at the log.", "Look at my log.")
    skill.write_text(edited)
    found = again(staged)
    assert found.standing is Standing.MERGED
    base, text = read(found.staged)
    assert base == edited
    assert text == edited.replace("Run them all.", "Run them all with make test.")
    assert apply(found.staged, require_clean=True).complete
    assert skill.read_text() == text


def test_an_edit_in_the_same_place_leaves_it_past_help(repository, skill, git, propose):
    staged = propose()
    skill.write_text(skill.read_text().replace("Run them all.", "Run some."))
    found = again(staged)
    assert (found.standing, found.staged) == (Standing.STALE, staged)
    assert "same place" in found.reason
    skill.unlink()
    assert "removed" in again(staged).reason


def test_what_the_user_merged_is_live(repository, skill, git, propose):
    staged = propose()
    git(repository, "merge", "-q", staged.branch)
    assert again(staged).standing is Standing.LIVE


def test_a_branch_in_the_users_hands_is_left_alone(repository, skill, git, propose):
    staged = propose()
    commit(repository, git)
    git(repository, "checkout", "-q", staged.branch)
    assert again(staged).standing is Standing.CURRENT
    git(repository, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(repository, "checkout", "-q", "main")
    theirs = git(repository, "rev-parse", staged.branch)
    assert again(staged).standing is Standing.CURRENT
    assert git(repository, "rev-parse", staged.branch) == theirs
    git(repository, "branch", "-qD", staged.branch)
    assert again(staged).standing is Standing.CURRENT
    assert git(repository, "branch", "--list", "skillopt/*") == ""
