"""A commit on request takes the applied files and nothing else, by the user's own rules."""

from __future__ import annotations

import pytest

from skillopt_staging.apply import apply
from skillopt_staging.committing import commit_files, require_committable
from skillopt_staging.errors import Busy, NeedsDecision, StagingError

PATH = ".claude/skills/tidy-tests/SKILL.md"


def commit(staged):
    require_committable(staged)
    apply(staged)
    return commit_files(staged, "Teach tidy-tests\n\nNight: 1\n")


def test_only_the_skill_is_committed_and_everything_else_stays_as_it_is(repository, skill, git, propose):
    (repository / "README.md").write_text("staged\n")
    git(repository, "add", "README.md")
    (repository / "README.md").write_text("edited after\n")
    (repository / "untracked").write_text("x")
    made = commit(propose())
    assert git(repository, "rev-parse", "main") == made
    assert git(repository, "show", "--format=%s", "--name-status", "HEAD") == f"Teach tidy-tests\n\nM\t{PATH}"
    assert git(repository, "status", "--porcelain").split("\n") == ["MM README.md", "?? untracked"]
    assert git(repository, "show", ":README.md") == "staged"


def test_a_new_skill_is_added_and_committed(repository, git, propose):
    made = commit(propose())
    assert git(repository, "show", "--format=", "--name-status", made) == f"A\t{PATH}"
    assert git(repository, "status", "--porcelain") == ""


def test_a_first_commit_is_made_on_an_unborn_branch(tmp_path, git, propose):
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "-q")
    made = commit(propose(root=root))
    assert git(root, "rev-parse", "main") == made


def test_the_users_hooks_run_and_may_refuse(repository, skill, git, propose):
    hook = repository / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not on a Monday >&2\nexit 1\n")
    hook.chmod(0o755)
    staged = propose()
    before = git(repository, "rev-parse", "HEAD")
    with pytest.raises(StagingError, match="not on a Monday"):
        commit(staged)
    assert git(repository, "rev-parse", "HEAD") == before
    assert git(repository, "status", "--porcelain") == f" M {PATH}"
    assert "make test" in skill.read_text()
    hook.unlink()
    assert commit_files(staged, "Teach") == git(repository, "rev-parse", "HEAD")
    assert commit_files(staged, "Teach") == ""


def test_a_refused_new_file_is_left_untracked(repository, git, propose):
    hook = repository / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(StagingError):
        commit(propose())
    assert git(repository, "status", "--porcelain", "--untracked-files=all") == f"?? {PATH}"


def test_a_required_signature_is_asked_for_and_its_failure_told(repository, skill, git, propose, tmp_path):
    program = tmp_path / "gpg"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/asked'\nexit 1\n")
    program.chmod(0o755)
    git(repository, "config", "commit.gpgsign", "true")
    git(repository, "config", "gpg.program", str(program))
    with pytest.raises(StagingError, match="sign"):
        commit(propose())
    assert (tmp_path / "asked").exists()


def detach(repository, git):
    git(repository, "checkout", "-q", "--detach")


def merge(repository, git):
    (repository / ".git/MERGE_HEAD").write_text(git(repository, "rev-parse", "HEAD") + "\n")


def rebase(repository, git):
    (repository / ".git/rebase-merge").mkdir()


def edit(repository, git):
    with (repository / PATH).open("a") as file:
        file.write("mine\n")


def ignore(repository, git):
    git(repository, "rm", "-q", "--cached", PATH)
    (repository / ".gitignore").write_text(".claude\n")
    git(repository, "commit", "-q", "-m", "private")


@pytest.mark.parametrize("make", [detach, merge, rebase, edit, ignore], ids=lambda make: make.__name__)
def test_a_commit_that_would_take_more_or_go_nowhere_is_refused_before_anything_is_written(
    make, repository, skill, git, propose
):
    staged = propose()
    make(repository, git)
    before = skill.read_bytes()
    with pytest.raises(NeedsDecision) as caught:
        commit(staged)
    assert "leave out --commit" in caught.value.hint
    assert skill.read_bytes() == before


def test_a_locked_index_is_busy(repository, skill, propose):
    (repository / ".git/index.lock").write_text("")
    staged = propose()
    with pytest.raises(Busy):
        commit(staged)


def test_names_that_look_like_patterns_are_taken_literally(repository, git, propose):
    (repository / "skills/a").mkdir(parents=True)
    (repository / "skills/a/SKILL.md").write_text("other\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "other")
    (repository / "skills/a/SKILL.md").write_text("mine\n")
    made = commit(propose(path="skills/*/SKILL.md"))
    assert git(repository, "show", "--format=", "--name-only", made) == "skills/*/SKILL.md"
    assert git(repository, "status", "--porcelain") == " M skills/a/SKILL.md"
