"""Subfolders and worktrees of a repository are one project, as far as the disk or the path tells."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from skillopt_replay.tasks import Task
from skillopt_sleep.errors import AppError
from skillopt_sleep.night.catalogue import find_skills
from skillopt_sleep.night.places import make_locator
from skillopt_sleep.night.projects import Projects
from tests.conftest import git


def find(folder: Path | str, home: Path, remembered=None) -> str:
    return Projects(remembered or {}, home=home).find_root(str(folder))


def test_a_subfolder_belongs_to_its_repository_even_when_it_is_gone(repository: Path, private_home: Path):
    (repository / "src" / "deep").mkdir(parents=True)
    for folder in (repository, repository / "src" / "deep", repository / "never" / "there"):
        assert find(folder, private_home) == str(repository)


@pytest.mark.parametrize("inside", [True, False])
def test_a_worktree_belongs_to_the_main_one(
    repository: Path, private_home: Path, tmp_path: Path, inside: bool
):
    worktree = repository / ".claude" / "worktrees" / "hotfix" if inside else tmp_path / "hotfix"
    git(repository, "worktree", "add", "-q", "--detach", str(worktree))
    assert find(worktree, private_home) == find(worktree / "src", private_home) == str(repository)


def test_a_worktree_of_a_bare_repository_belongs_to_it(repository: Path, private_home: Path, tmp_path: Path):
    bare, worktree = tmp_path / "bare.git", tmp_path / "work"
    git(repository, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", "-q", "--detach", str(worktree))
    assert find(worktree, private_home) == str(bare)


def test_a_worktree_that_was_removed_is_remembered(repository: Path, private_home: Path, tmp_path: Path):
    worktree = tmp_path / "hotfix"
    git(repository, "worktree", "add", "-q", "--detach", str(worktree))
    projects = Projects({}, home=private_home)
    assert projects.find_root(str(worktree)) == str(repository)
    git(repository, "worktree", "remove", str(worktree))
    assert find(worktree, private_home) == str(worktree)
    assert find(worktree, private_home, projects.found) == str(repository)


def test_an_empty_folder_called_as_gits_makes_no_repository(repository: Path, private_home: Path):
    (repository / "src" / ".git").mkdir(parents=True)
    assert find(repository / "src", private_home) == str(repository)


def test_a_submodule_is_a_project_of_its_own(repository: Path, private_home: Path):
    module = repository / "vendor" / "lib"
    (repository / ".git" / "modules" / "lib").mkdir(parents=True)
    module.mkdir(parents=True)
    (module / ".git").write_text("gitdir: ../../.git/modules/lib\n")
    assert find(module / "src", private_home) == str(module)


def test_a_home_that_is_a_repository_holds_no_projects(private_home: Path):
    git(private_home, "init", "-q")
    (private_home / "notes").mkdir()
    assert find(private_home / "notes", private_home) == str(private_home / "notes")
    assert find(private_home, private_home) == str(private_home)


@pytest.mark.parametrize(
    ("folder", "root"),
    [
        ("/gone/repo/.claude/worktrees/hotfix", "/gone/repo"),
        ("/gone/repo/.worktrees/hotfix/src", "/gone/repo"),
        ("/gone/repo", "/gone/repo"),
        ("/gone/repo/", "/gone/repo"),
        (r"C:\Users\ana\shop", r"C:\Users\ana\shop"),
        (r"C:\shop\.claude\worktrees\hotfix", r"C:\shop"),
        ("relative/folder", "relative/folder"),
        ("/a\0b", "/a\N{REPLACEMENT CHARACTER}b"),
        ("/", "/"),
    ],
)
def test_what_is_not_on_disk_is_told_by_its_path(folder: str, root: str, private_home: Path):
    assert find(folder, private_home) == root


def test_a_git_file_of_rubbish_makes_a_project_of_its_folder(private_home: Path, tmp_path: Path):
    for number, rubbish in enumerate((b"", b"\xff\xfe", b"gitdir: " + b"x" * 9000, b"gitdir: /nowhere\n")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / ".git").write_bytes(rubbish)
        assert find(folder, private_home) == str(folder)


def test_a_loop_of_links_is_a_project_of_its_own(private_home: Path, tmp_path: Path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert find(tmp_path / "a" / "x", private_home) == str(tmp_path / "a" / "x")


def test_what_is_remembered_holds_when_the_repository_is_gone(repository: Path, private_home: Path):
    shutil.rmtree(repository / ".git")
    folder = repository / "src"
    assert find(folder, private_home, {str(folder): str(repository)}) == str(repository)


@pytest.mark.timeout(30)
def test_pipes_in_a_project_are_not_waited_for(repository: Path, private_home: Path, tmp_path: Path):
    skill = repository / ".claude/skills/tidy/SKILL.md"
    skill.parent.mkdir(parents=True)
    os.mkfifo(skill)
    assert find_skills([str(repository)], env={"HOME": str(private_home)}, home=private_home) == []
    task = Task(
        id="t", family="f", title="T", prompt="p", sessions=("s",), occurrences=2, client="claude",
        skill="tidy", group="g", checks=(), project=str(repository),
    )  # fmt: skip
    with pytest.raises(AppError, match="is no file"):
        make_locator({"HOME": str(private_home)})([task])
    linked = tmp_path / "linked"
    (linked / "own").mkdir(parents=True)
    (linked / ".git").write_text("gitdir: own")
    os.mkfifo(linked / "own/commondir")
    assert Projects({}, home=private_home).find_root(str(linked)) == str(linked)
