"""A project may be anybody's: what lies in it and in its .git gets at nothing outside and stops no night."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from skillopt_replay.agents.codex import _find_skills
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import RUN_PREFIX
from skillopt_replay.git import GitFailed
from skillopt_replay.sandbox import Toolchains
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.setup import Setup, set_up
from skillopt_replay.skill_folders import read_skill
from skillopt_replay.skills import SkillInvalid
from skillopt_replay.templates import Templates
from skillopt_replay.workspace import prepare
from tests.conftest import git

SECRET = "the-planted-secret"
DEEP = 1_200  # more than Python calls itself


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def nest(folder: Path, name: str) -> None:
    """Make a file so many folders below."""
    home = Path.cwd()
    folder.mkdir(parents=True)
    os.chdir(folder)
    for _ in range(DEEP):
        os.mkdir("a")  # noqa: PTH102 - its path has no name that is short enough
        os.chdir("a")
    Path(name).write_text("x")
    os.chdir(home)


def lay_trap(repository: Path, trap: Path) -> None:
    """Have git start a program of the project's where it lacks something."""
    settings = {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin",
        "remote.origin.url": repository.as_uri(), "remote.origin.promisor": "true",
        "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        "remote.origin.uploadpack": f"touch {trap}; false #",
    }  # fmt: skip
    for name, value in settings.items():
        git(repository, "config", name, value)


async def test_programs_of_the_projects_are_not_taken_for_ours_where_the_path_has_a_relative_folder(
    repository, runs, make_task, tmp_path, monkeypatch
):
    for name in ("cp", "git"):
        (repository / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path / 'ran'}\n")
        (repository / name).chmod(0o755)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "programs")
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    for _ in range(2):  # the second is set up by a copy of what the first one left
        made = await prepare(make_task(project=str(repository)), runs)
        await set_up(made, Setup(command="echo x > made"), NoSandbox(), Toolchains())
        assert (made.path / "made").read_text() == "x\n"
    assert not (tmp_path / "ran").exists()


async def test_what_a_partial_clone_lacks_starts_no_program_that_its_settings_name(
    repository, runs, make_task, tmp_path
):
    trap = tmp_path / "SPRUNG"
    lay_trap(repository, trap)
    for commit in ("1" * 40, None):
        made = await prepare(make_task(project=str(repository), commit=commit), runs)
        assert (made.path / "README.md").read_text() == "# Project\n"
    missing = git(repository, "rev-parse", "HEAD:README.md")
    (repository / ".git/objects" / missing[:2] / missing[2:]).unlink()
    with pytest.raises(GitFailed):
        await prepare(make_task(project=str(repository)), runs)
    assert not trap.exists()


async def test_submodules_kept_behind_a_link_are_other_repositories(repository, runs, make_task, tmp_path):
    other = tmp_path / "repositories" / "private"
    other.mkdir(parents=True)
    git(other, "init", "-q")
    (other / "secret.txt").write_text(SECRET)
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "private")
    (repository / ".git/modules").symlink_to(other.parent)
    (repository / ".gitmodules").write_text('[submodule "private/.git"]\n\tpath = sub\n\turl = ./x\n')
    commit = git(other, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    git(repository, "add", ".gitmodules")
    git(repository, "commit", "-q", "-m", "submodule")
    made = await prepare(make_task(project=str(repository)), runs)
    assert made.notes[1:] == ("submodule sub left out: the project does not hold it",)
    assert not (made.path / "sub/secret.txt").exists()


async def test_a_store_of_large_files_that_links_out_lends_nothing(repository, runs, make_task, tmp_path):
    (tmp_path / "key").write_text(SECRET)
    (repository / ".gitattributes").write_text("*.bin filter=lfs\n")
    oids = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("a.bin", "b.bin")}
    for name, oid in oids.items():
        size = len(SECRET)
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n"
        (repository / name).write_text(pointer)
        stored = repository / ".git/lfs/objects" / oid[:2] / oid[2:4] / oid
        stored.parent.mkdir(parents=True)
        if name == "a.bin":
            stored.symlink_to(tmp_path / "key")
        else:
            stored.write_text("x" * size)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "large")
    made = await prepare(make_task(project=str(repository)), runs)
    for name in oids:
        assert (made.path / name).read_text().startswith("version https://git-lfs")
    assert made.notes[1].endswith("not in the project's store: a.bin, b.bin")
    assert sorted(path.name for path in made.path.iterdir()) == [
        ".git", ".gitattributes", "README.md", "a.bin", "b.bin",
    ]  # fmt: skip


async def test_a_repository_whose_files_lie_elsewhere_is_an_error(repository, runs, make_task, tmp_path):
    git(repository, "config", "core.worktree", str(tmp_path))
    made = await prepare(make_task(project=str(repository)), runs)
    assert made.path.name == "project"
    git(repository, "config", "core.worktree", str(runs))
    runs.mkdir(exist_ok=True)
    with pytest.raises(ReplayError, match="git does not tell where"):
        await prepare(make_task(project=str(repository)), runs)


async def test_a_project_with_a_name_that_no_list_can_hold_is_an_error(repository, runs, make_task, tmp_path):
    moved = repository.rename(tmp_path / "two\nlines")
    for project in (str(moved), f"{tmp_path}/a\0b", "~nobody-of-that-name/project"):
        with pytest.raises(ReplayError):
            await prepare(make_task(project=project), runs)


async def test_a_head_that_names_what_no_file_can_be_called_is_looked_at_all_the_same(
    repository, runs, make_task
):
    commit = git(repository, "rev-parse", "HEAD")
    (repository / ".git/HEAD").write_bytes(b"ref: refs/heads/a\0b")
    kept = Templates(runs, slots=1)
    for _ in range(2):
        made = await kept.take(
            make_task(project=str(repository), commit=commit), None, NoSandbox(), Toolchains()
        )
        assert (made.path / "README.md").is_file()
    await kept.close()


async def test_what_is_nested_deeper_than_python_calls_itself_is_copied(
    repository, runs, make_task, tmp_path
):
    nest(tmp_path / "plain", "file")
    made = await prepare(make_task(project=str(tmp_path / "plain")), runs)
    assert "a copy of its 1 files" in made.notes[0]
    await made.dispose()
    script = f"mkdir -p $(printf 'a/%.0s' $(seq {DEEP})); cd $(printf 'a/%.0s' $(seq {DEEP})); echo x > file"
    for note in ("set up by", "as kept"):
        made = await prepare(make_task(project=str(repository)), runs)
        made = await set_up(made, Setup(command=script), NoSandbox(), Toolchains())
        assert note in made.notes[-1]
        found = subprocess.run(["find", "-name", "file"], cwd=made.path, capture_output=True, check=True)
        assert found.stdout.count(b"a/") == DEEP
        await made.dispose()


async def test_a_skill_that_is_nested_so_deep_is_taken_out_and_refused(repository, runs, make_task):
    nest(repository / ".claude/skills/heron-greet", "file")
    (repository / ".claude/skills/heron-greet/SKILL.md").write_text("---\nname: heron-greet\n---\nx\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "skill")
    made = await prepare(make_task(project=str(repository)), runs)
    assert list((made.path / ".claude/skills").iterdir()) == []
    await made.dispose()
    with pytest.raises(SkillInvalid, match="longer than 200 characters"):
        read_skill(repository / ".claude/skills/heron-greet")


def test_skills_of_a_project_that_lie_outside_of_it_are_not_its_own(runs, tmp_path):
    root = runs / f"{RUN_PREFIX}1"
    for place in (tmp_path / "mine/private", root / ".agents/others/own"):
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text("x")
    (root / ".codex").mkdir()
    (root / ".codex/skills").symlink_to(tmp_path / "mine")
    (root / ".agents/skills").symlink_to("others")
    nest(root / ".agents/others/deep", "SKILL.md")
    found = _find_skills(root)
    assert root / ".agents/skills/own/SKILL.md" in found
    assert len(found) == 2
    assert all(path.is_relative_to(root / ".agents/skills") for path in found)


@pytest.mark.parametrize("name", ["link/theirs", "link/../beside", ".."])
async def test_a_task_whose_skill_is_a_path_removes_nothing(repository, runs, make_task, tmp_path, name):
    theirs = [tmp_path / "home/theirs/file", tmp_path / "beside/file"]
    for path in theirs:
        path.parent.mkdir(parents=True)
        path.write_text("theirs")
    (repository / ".claude/skills/beside").mkdir(parents=True)
    (repository / ".claude/skills/beside/SKILL.md").write_text("mine")
    (repository / ".claude/skills/link").symlink_to(tmp_path / "home")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "a link")
    with pytest.raises(ReplayError, match="is no name of a skill"):
        await prepare(make_task(project=str(repository), skill=name), runs)
    assert [path.read_text() for path in theirs] == ["theirs"] * 2
