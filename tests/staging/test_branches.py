"""A proposal is one branch with one commit and a note, found again and taken away again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skillopt_staging import branches
from skillopt_staging.branches import discard, read, read_note, trailers
from skillopt_staging.errors import Busy, NeedsDecision, StagingError
from skillopt_staging.plumbing import Repository

PATH = ".claude/skills/tidy-tests/SKILL.md"
BASE = (
    "---\nname: tidy-tests\ndescription: How to run the tests here.\n---\n\n"
    "# Tests\n\nRun them all.\n\n## Before\n\nInstall first.\n\n## After\n\nLook at the log.\n"
)
BETTER = BASE.replace("Run them all.\n", "Run them all with make test.\n")


def test_a_branch_has_one_commit_on_top_of_head_that_changes_one_file(
    repository, skill, git, propose, photograph
):
    before = photograph(repository)
    staged = propose(message=trailers("Sharpen tidy-tests", {"Skillopt-Night": "2026-01-02"}))
    assert photograph(repository) == before
    assert git(repository, "rev-parse", staged.branch) == staged.commit
    assert (
        git(repository, "rev-parse", f"{staged.commit}^@")
        == staged.base
        == git(repository, "rev-parse", "HEAD")
    )
    assert git(repository, "diff", "--name-status", "HEAD", staged.commit) == f"M\t{PATH}"
    assert git(repository, "show", f"{staged.commit}:{PATH}") + "\n" == BETTER
    assert read(staged) == (BASE, BETTER)
    shown = git(repository, "log", "-1", "--format=%(trailers:key=Skillopt-Night)", staged.commit)
    assert shown.strip() == "Skillopt-Night: 2026-01-02"


def test_the_evidence_lies_in_a_note_beside_the_commit(repository, skill, git, propose):
    note = '{"wins": 7,\n\n\n "quote": "  naïve  "}\n# not a comment\n'
    staged = propose(note=note)
    assert read_note(staged) == note
    assert git(repository, "notes", "--ref=skillopt", "show", staged.commit) == note.rstrip("\n")


def test_a_new_skill_is_staged_where_no_file_was(repository, git, propose, photograph):
    before = photograph(repository)
    staged = propose()
    assert photograph(repository) == before
    assert git(repository, "diff", "--name-status", "HEAD", staged.commit) == f"A\t{PATH}"
    assert read(staged) == ("", BETTER)


def test_the_mode_of_the_file_is_kept(repository, skill, git, propose):
    skill.chmod(0o755)
    git(repository, "commit", "-q", "-a", "-m", "executable")
    staged = propose()
    assert git(repository, "ls-tree", staged.commit, PATH).startswith("100755 ")


def test_staging_the_same_again_gives_the_same_branch(repository, skill, git, propose):
    first = propose(note="{}")
    git(repository, "commit", "-q", "--allow-empty", "-m", "the user went on")
    assert propose(note='{"night": 2}') == first
    assert read_note(first) == '{"night": 2}'


def test_a_branch_with_other_content_is_never_overwritten(repository, skill, git, propose):
    first = propose()
    with pytest.raises(StagingError, match="exists and holds something else"):
        propose(BETTER + "More.\n")
    assert git(repository, "rev-parse", first.branch) == first.commit


def test_a_branch_in_the_way_of_ours_is_named(repository, skill, git, propose):
    git(repository, "branch", "skillopt")
    with pytest.raises(StagingError, match="'refs/heads/skillopt' exists"):
        propose()


def test_a_held_ref_means_try_again_later(repository, skill, git, propose):
    held = repository / ".git/refs/heads/skillopt"
    held.mkdir()
    (held / "2026-01-02-tidy-tests.lock").write_text("")
    with pytest.raises(Busy) as caught:
        propose()
    assert caught.value.exit_code == 75
    (held / "2026-01-02-tidy-tests.lock").unlink()
    assert propose().commit


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/x",
        "a/../../x",
        "a//b",
        "",
        ".",
        "./a",
        ".git/config",
        "a/.GIT/x",
        "a/git~1/x",
        "a\0b",
        "x/",
    ],
)
def test_a_path_that_could_lead_out_is_refused(path, repository, propose, photograph):
    before = photograph(repository)
    with pytest.raises(StagingError, match="is no path inside a repository"):
        propose(path=path, live=repository / "SKILL.md")
    assert photograph(repository) == before


def test_a_committed_link_on_the_way_is_refused(repository, git, propose, tmp_path):
    (repository / "skills").symlink_to(tmp_path)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "link")
    with pytest.raises(StagingError, match="skills is a symbolic link"):
        propose(path="skills/x/SKILL.md", live=tmp_path / "x/SKILL.md")


def test_a_link_in_the_working_tree_alone_is_refused_too(repository, propose, tmp_path):
    (repository / "skills").symlink_to(tmp_path)
    with pytest.raises(StagingError, match="skills is a symbolic link"):
        propose(path="skills/x/SKILL.md")


def test_a_committed_link_in_place_of_the_file_is_refused(repository, git, propose):
    (repository / "SKILL.md").symlink_to("README.md")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "link")
    with pytest.raises(StagingError, match=r"SKILL.md is a symbolic link in the repository"):
        propose(path="SKILL.md")


def test_a_file_where_a_folder_should_be_is_refused(repository, propose):
    with pytest.raises(StagingError, match=r"README.md is a file in the repository, not a folder"):
        propose(path="README.md/SKILL.md", live=repository / "elsewhere")


@pytest.mark.parametrize("branch", ["", "-x", "a..b", "a b", "x.lock", "a\0b"])
def test_a_bad_branch_name_is_refused(branch, repository, propose):
    with pytest.raises(StagingError, match="is no name for a branch"):
        propose(branch=branch)


def test_the_text_the_change_starts_from_may_be_older_than_the_live_file(repository, skill, propose):
    skill.write_text(BASE + "The user went on.\n")
    assert read(propose(base_text=BASE)) == (BASE, BETTER)


def test_nothing_is_staged_when_nothing_changes(repository, skill, git, propose):
    with pytest.raises(StagingError, match="holds already"):
        propose(BASE)
    assert git(repository, "branch", "--list", "skillopt/*") == ""


def test_a_live_file_that_is_no_text_is_refused(repository, skill, propose):
    skill.write_bytes(b"\xff\xfe")
    with pytest.raises(StagingError, match="is not UTF-8 at byte 0"):
        propose()


def meanwhile(monkeypatch, owner, name, act):
    """Let `act` happen right after the first call of a function, as another process could."""
    real = getattr(owner, name)
    done = []

    def wrapped(*arguments, **options):
        result = real(*arguments, **options)
        if not done:
            done.append(act())
        return result

    monkeypatch.setattr(owner, name, wrapped)


def test_a_branch_somebody_creates_in_the_last_moment_stays_theirs(
    repository, skill, git, propose, monkeypatch
):
    branch = "skillopt/2026-01-02-tidy-tests"
    meanwhile(monkeypatch, Repository, "commit", lambda: git(repository, "branch", branch))
    with pytest.raises(NeedsDecision, match="has moved"):
        propose(branch=branch)
    assert git(repository, "rev-parse", branch) == git(repository, "rev-parse", "HEAD")
    assert git(repository, "for-each-ref", "refs/skillopt", "refs/notes") == ""


def test_a_branch_somebody_moves_in_the_last_moment_is_not_deleted(
    repository, skill, git, propose, monkeypatch
):
    staged = propose()
    move = lambda: git(repository, "branch", "-f", staged.branch, "HEAD")  # noqa: E731
    meanwhile(monkeypatch, branches, "_require_not_checked_out", move)
    with pytest.raises(NeedsDecision, match="has moved"):
        discard(staged)
    assert git(repository, "rev-parse", staged.branch) == git(repository, "rev-parse", "HEAD")
    assert read(staged) == (BASE, BETTER)


def test_discard_removes_the_branch_and_keeps_the_note(repository, skill, git, propose, photograph):
    before = photograph(repository, ours=())
    staged = propose()
    discard(staged)
    assert photograph(repository, ours=()) == before
    assert read_note(staged) == '{"wins": 7}'
    assert git(repository, "for-each-ref", "refs/skillopt") == ""
    discard(staged)


def test_discard_leaves_a_branch_the_user_worked_on(repository, skill, git, propose):
    staged = propose()
    git(repository, "branch", "-f", staged.branch, "HEAD")
    with pytest.raises(NeedsDecision, match="has other commits"):
        discard(staged)
    assert git(repository, "rev-parse", staged.branch) == git(repository, "rev-parse", "HEAD")


def test_discard_leaves_a_branch_that_is_checked_out(repository, skill, git, propose, tmp_path):
    staged = propose()
    git(repository, "worktree", "add", "-q", str(tmp_path / "look"), staged.branch)
    with pytest.raises(NeedsDecision, match="checked out"):
        discard(staged)
    assert git(repository, "rev-parse", staged.branch) == staged.commit


def test_what_was_staged_outlives_garbage_collection(repository, skill, git, propose):
    staged = propose(base_text="an older text\n")
    git(repository, "branch", "-D", staged.branch)
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    assert read(staged) == ("an older text\n", BETTER)


STAGER = """
import sys
from pathlib import Path
from skillopt_staging.branches import stage
root, number = Path(sys.argv[1]), sys.argv[2]
path = f"skills/s{number}/SKILL.md"
for round in range(2):
    stage(root, branch=f"skillopt/{round}-{number}", path=path, text=f"text {number} {round}\\n",
          message="x", note=f'{{"number": {number}}}', live=root / path)
"""


def test_runs_at_the_same_time_lose_no_branch_and_no_note(repository, skill, git, photograph):
    before = photograph(repository)
    children = [
        subprocess.Popen([sys.executable, "-c", STAGER, str(repository), str(number)]) for number in range(3)
    ]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert photograph(repository) == before
    assert len(git(repository, "branch", "--list", "skillopt/*").split("\n")) == 6
    assert len(git(repository, "notes", "--ref=skillopt", "list").split("\n")) == 6


@pytest.mark.parametrize("name", ["name: other", "", "name: 'tidy-test'"])
def test_a_skill_is_never_renamed(name, skill, propose):
    with pytest.raises(StagingError, match="renames the skill 'tidy-tests'"):
        propose(skill.read_text().replace("name: tidy-tests", name))
    assert propose(skill.read_text().replace("name: tidy-tests", 'name: "tidy-tests"'))
