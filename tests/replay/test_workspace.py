"""A workspace holds the project as it was, and nothing that leads back to it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from skillopt_replay.baseline import show_changes
from skillopt_replay.copying import TooLarge, copy_folder
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import clear_leftovers, make_folder, remove_tree, walk
from skillopt_replay.workspace import RUN_PREFIX, prepare, root_of


def git(path: Path, *arguments: str, date: str | None = None) -> str:
    env = dict(os.environ)
    if date:
        env |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    return subprocess.run(
        ["git", "-C", str(path), *arguments], check=True, capture_output=True, text=True, env=env
    ).stdout.strip()


def commit(path: Path, name: str, text: str, date: str | None = None) -> str:
    (path / name).parent.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", f"{name}: {text}", date=date)
    return git(path, "rev-parse", "HEAD")


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


async def test_the_commit_of_the_task_is_checked_out_without_what_came_later(repository, runs, make_task):
    wanted = commit(repository, "a.txt", "then")
    commit(repository, "a.txt", "later")
    git(repository, "tag", "v1")
    workspace = await prepare(make_task(project=str(repository), commit=wanted), runs)
    assert (workspace.path / "a.txt").read_text() == "then"
    assert git(workspace.path, "log", "--all", "--format=%s").splitlines() == ["a.txt: then", "first"]
    assert git(workspace.path, "tag") == git(workspace.path, "remote") == ""
    assert git(workspace.path, "status", "--porcelain") == ""
    assert workspace.notes == (f"commit {wanted[:12]}",)
    assert workspace.path.name.startswith(RUN_PREFIX)
    assert await workspace.dispose() == ()
    assert list(runs.iterdir()) == []


async def test_nothing_in_the_workspace_leads_back(repository, runs, make_task):
    head = commit(repository, "a.txt", "text")
    hook = repository / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {repository}/hook-ran\n")
    hook.chmod(0o755)
    workspace = await prepare(make_task(project=str(repository), commit=head), runs)
    inside = workspace.path / ".git"
    assert not (inside / "objects/info/alternates").exists()
    assert not (repository / "hook-ran").exists()
    assert git(workspace.path, "config", "core.hooksPath") == "/dev/null"
    inodes = {p.stat().st_ino for p in (repository / ".git/objects").rglob("*") if p.is_file()}
    assert not inodes & {p.stat().st_ino for p in (inside / "objects").rglob("*") if p.is_file()}
    named = [p for p in inside.rglob("*") if p.is_file() and str(repository).encode() in p.read_bytes()]
    assert named == []
    (repository / "README.md").unlink()
    assert (workspace.path / "README.md").exists()


async def test_uncommitted_files_stay_out(repository, runs, make_task):
    (repository / "README.md").write_text("changed")
    (repository / "new.txt").write_text("new")
    workspace = await prepare(make_task(project=str(repository)), runs)
    assert sorted(p.name for p in workspace.path.iterdir()) == [".git", "README.md"]
    assert (workspace.path / "README.md").read_text() == "# Project\n"


async def test_a_commit_that_no_branch_holds_any_more_is_still_found(repository, runs, make_task):
    amended = commit(repository, "a.txt", "before")
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    commit(repository, "a.txt", "after")
    workspace = await prepare(make_task(project=str(repository), commit=amended[:10]), runs)
    assert (workspace.path / "a.txt").read_text() == "before"


@pytest.mark.parametrize("recorded", [None, "f" * 40, "--output=/tmp/x"])
async def test_without_the_commit_the_last_one_before_the_task_is_taken(
    repository, runs, make_task, recorded
):
    git(
        repository,
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--date=2026-01-01T00:00:00Z",
        date="2026-01-01T00:00:00Z",
    )
    then = commit(repository, "a.txt", "then", date="2026-01-05T00:00:00Z")
    commit(repository, "a.txt", "later", date="2026-01-09T00:00:00Z")
    task = make_task(project=str(repository), commit=recorded, started="2026-01-07T12:00:00Z")
    workspace = await prepare(task, runs)
    assert (workspace.path / "a.txt").read_text() == "then"
    gone = f"commit {recorded[:12]} is gone; " if recorded else ""
    assert workspace.notes == (f"{gone}commit {then[:12]}, the last one before the task",)


async def test_a_task_older_than_the_project_gets_the_newest_commit(repository, runs, make_task):
    workspace = await prepare(make_task(project=str(repository), started="2001-01-01T00:00:00Z"), runs)
    head = git(repository, "rev-parse", "HEAD")
    assert workspace.notes == (f"commit {head[:12]}, the newest",)


async def test_a_task_asked_in_a_subfolder_works_there(repository, runs, make_task):
    commit(repository, "packages/web/index.js", "1")
    workspace = await prepare(make_task(project=str(repository / "packages" / "web")), runs)
    assert workspace.path == workspace.root / "packages" / "web"
    assert (workspace.path / "index.js").exists()
    assert (workspace.root / "README.md").exists()
    assert root_of(workspace.path) == workspace.root


async def test_a_subfolder_that_did_not_exist_yet_is_made(repository, runs, make_task):
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, "late/a.txt", "1")
    workspace = await prepare(make_task(project=str(repository / "late"), commit=first), runs)
    assert workspace.path.is_dir()
    assert "late is not in that commit" in workspace.notes


async def test_a_subfolder_that_was_a_link_out_of_the_project_is_no_place_to_work(
    repository, runs, make_task, tmp_path
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repository / "tools").symlink_to(elsewhere)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "link")
    linked = git(repository, "rev-parse", "HEAD").strip()
    (repository / "tools").unlink()
    (repository / "tools/inner").mkdir(parents=True)
    with pytest.raises(ReplayError, match="leads out"):
        await prepare(make_task(project=str(repository / "tools/inner"), commit=linked), runs)
    assert list(elsewhere.iterdir()) == []


async def test_a_linked_worktree_and_a_shallow_clone_are_projects_too(repository, runs, make_task, tmp_path):
    commit(repository, "a.txt", "1")
    head = commit(repository, "a.txt", "2")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), head)
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", repository.as_uri(), str(tmp_path / "shallow")], check=True
    )
    for project in (tmp_path / "tree", tmp_path / "shallow"):
        workspace = await prepare(make_task(project=str(project), commit=head), runs)
        assert (workspace.path / "a.txt").read_text() == "2"


async def test_the_users_git_settings_and_environment_take_no_part(
    repository, runs, make_task, monkeypatch, private_home
):
    (private_home / ".gitconfig").write_text(
        '[core]\n\tautocrlf = true\n[filter "lfs"]\n\tsmudge = false\n\trequired = true\n'
    )
    (repository / ".gitattributes").write_text("*.bin filter=lfs\n")
    (repository / "big.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(repository, "-c", "user.name=a", "-c", "user.email=b", "add", "-A")
    git(repository, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "large")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(private_home / ".gitconfig"))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_WORK_TREE", "/nonexistent")
    workspace = await prepare(make_task(project=str(repository)), runs)
    assert (workspace.path / "big.bin").read_text().startswith("version https://git-lfs")
    assert (workspace.path / "README.md").read_bytes() == b"# Project\n"


@pytest.fixture
def library(tmp_path):
    """Another project, to be a submodule."""
    path = tmp_path / "library"
    path.mkdir()
    git(path, "init", "-q")
    commit(path, "lib.txt", "library")
    return path


def add_submodule(repository: Path, library: Path, name: str = "x") -> str:
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), name)
    git(repository, "commit", "-q", "-m", "submodule")
    return git(repository, "rev-parse", "HEAD")


async def test_submodules_come_from_what_the_project_holds_itself(repository, library, runs, make_task):
    head = add_submodule(repository, library, "libs/x")
    library.rename(library.parent / "moved-away")
    workspace = await prepare(make_task(project=str(repository), commit=head), runs)
    assert (workspace.path / "libs/x/lib.txt").read_text() == "library"
    assert workspace.notes == (f"commit {head[:12]}",)
    assert git(workspace.path, "status", "--porcelain") == ""
    assert git(workspace.path / "libs/x", "remote") == ""
    assert str(repository).encode() not in (workspace.path / "libs/x/.git/config").read_bytes()


async def test_a_submodule_the_project_does_not_hold_is_left_out_and_named(
    repository, library, runs, make_task, tmp_path
):
    head = add_submodule(repository, library)
    subprocess.run(["git", "clone", "-q", str(repository), str(tmp_path / "clone")], check=True)
    workspace = await prepare(make_task(project=str(tmp_path / "clone"), commit=head), runs)
    assert workspace.notes[1:] == ("submodule x left out: the project does not hold it",)
    assert list((workspace.path / "x").iterdir()) == []


async def test_a_submodules_name_leads_nowhere_else(repository, library, runs, make_task):
    add_submodule(repository, library)
    git(repository / ".git", "clone", "-q", "--bare", str(library), "outside.git")
    text = (repository / ".gitmodules").read_text().replace('"x"', '"../outside.git"')
    head = commit(repository, ".gitmodules", text)
    workspace = await prepare(make_task(project=str(repository), commit=head), runs)
    assert "submodule x left out: the project does not hold it" in workspace.notes


async def test_large_files_come_from_the_local_store_and_missing_ones_are_named(repository, runs, make_task):
    content = b"large content"
    oid = hashlib.sha256(content).hexdigest()
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"
    (repository / ".gitattributes").write_text("*.bin filter=lfs\n")
    (repository / "there.bin").write_text(pointer.format(oid, len(content)))
    commit(repository, "missing.bin", pointer.format("0" * 64, 5))
    stored = repository / ".git/lfs/objects" / oid[:2] / oid[2:4] / oid
    stored.parent.mkdir(parents=True)
    stored.write_bytes(content)
    workspace = await prepare(make_task(project=str(repository)), runs)
    assert (workspace.path / "there.bin").read_bytes() == content
    assert (workspace.path / "there.bin").stat().st_ino != stored.stat().st_ino
    assert (workspace.path / "missing.bin").read_text().startswith("version")
    assert "their content is not in the project's store: missing.bin" in workspace.notes[1]
    assert git(workspace.path, "status", "--porcelain") == ""
    assert await show_changes(workspace.baseline) == ("", ())


@pytest.mark.parametrize("place", [".claude/skills", ".agents/skills", "sub/.claude/skills"])
async def test_the_projects_own_skill_of_that_name_is_gone_without_a_trace(
    repository, runs, make_task, place
):
    commit(repository, f"{place}/heron-greet/SKILL.md", "own")
    commit(repository, f"{place}/other/SKILL.md", "other")
    commit(repository, "sub/a.txt", "1")
    workspace = await prepare(make_task(project=str(repository / "sub")), runs)
    assert not (workspace.root / place / "heron-greet").exists()
    assert (workspace.root / place / "other" / "SKILL.md").exists()
    assert git(workspace.root, "status", "--porcelain") == ""


async def test_a_skill_folder_that_links_out_is_not_followed(repository, runs, make_task, tmp_path):
    outside = tmp_path / "outside" / "heron-greet"
    outside.mkdir(parents=True)
    (outside / "SKILL.md").write_text("theirs")
    (repository / ".claude").mkdir()
    (repository / ".claude" / "skills").symlink_to(outside.parent)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "link")
    await prepare(make_task(project=str(repository)), runs)
    assert (outside / "SKILL.md").read_text() == "theirs"


async def test_an_empty_repository_gives_an_empty_folder(tmp_path, runs, make_task):
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    workspace = await prepare(make_task(project=str(tmp_path / "empty"), commit="a" * 40), runs)
    assert [p.name for p in workspace.path.iterdir()] == [".git"]
    assert "no commit" in workspace.notes[0]


async def test_without_a_project_the_folder_is_empty(runs, make_task):
    workspace = await prepare(make_task(project=None), runs)
    assert [p.name for p in workspace.path.iterdir()] == [".git"]
    assert "no project" in workspace.notes[0]


async def test_a_project_that_is_gone_is_an_error_and_no_empty_folder(runs, make_task):
    with pytest.raises(ReplayError, match="is gone"):
        await prepare(make_task(project="/nonexistent/project"), runs)
    assert not runs.exists()


async def test_a_folder_not_under_git_is_copied_without_secrets_and_dependencies(tmp_path, runs, make_task):
    project = tmp_path / "plain"
    for name in (
        "src/a.py",
        "node_modules/x/index.js",
        ".env",
        "deploy.pem",
        ".envrc",
        "production.env",
        "infra/terraform.tfstate.backup",
        "id_ecdsa",
        "config/secrets.yml",
        "gcp-service-account.json",
        ".vault-token",
        ".ssh/id_rsa",
        ".claude/skills/heron-greet/SKILL.md",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    (project / "inner").symlink_to("src")
    (project / "outer").symlink_to(tmp_path)
    workspace = await prepare(make_task(project=str(project)), runs)
    found = {str(p.relative_to(workspace.path)) for p in workspace.path.rglob("*") if ".git" not in p.parts}
    assert found == {"src", "src/a.py", "inner", ".claude", ".claude/skills", "infra", "config"}
    assert "is not under git: a copy of its" in workspace.notes[0]


async def test_the_home_folder_is_never_copied(private_home, runs, make_task):
    (private_home / "diary.txt").write_text("private")
    for project in (private_home, private_home.parent):
        workspace = await prepare(make_task(project=str(project)), runs)
        assert [p.name for p in workspace.path.iterdir()] == [".git"]
        assert "home folder" in workspace.notes[0]


async def test_where_somebody_keeps_settings_and_keys_is_no_project_to_copy(private_home, runs, make_task):
    for place in (".ssh", ".config/gh", ".codex"):
        (private_home / place).mkdir(parents=True)
        (private_home / place / "deploy").write_text("private")
        workspace = await prepare(make_task(project=str(private_home / place)), runs)
        assert [p.name for p in workspace.path.iterdir()] == [".git"]
        assert "settings and sign-ins" in workspace.notes[0]


async def test_a_project_that_holds_the_folder_of_the_runs_is_not_copied_into_itself(tmp_path, make_task):
    project = tmp_path / "plain"
    project.mkdir()
    (project / "a.txt").write_text("x")
    workspace = await prepare(make_task(project=str(project)), project / "runs")
    assert sorted(p.name for p in workspace.path.iterdir()) == [".git", "a.txt", "runs"]


def test_a_copy_stops_at_its_ceilings(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for number in range(5):
        (source / f"{number}.txt").write_text("0123456789")
    os.mkfifo(source / "pipe")
    assert copy_folder(source, target) == 5
    with pytest.raises(TooLarge):
        copy_folder(source, target, max_bytes=49)
    with pytest.raises(TooLarge):
        copy_folder(source, target, max_files=4)


async def test_a_project_git_cannot_read_is_an_error_and_leaves_nothing(repository, runs, make_task):
    from skillopt_replay.git import GitFailed

    head = commit(repository, "a.txt", "1")
    for path in (repository / ".git/objects").rglob("*"):
        if path.is_file() and path.parent.name + path.name != head:
            path.unlink()
    with pytest.raises(GitFailed, match="git fetch"):
        await prepare(make_task(project=str(repository), commit=head), runs)
    assert list(runs.iterdir()) == []


def test_read_only_folders_and_links_are_removed_without_following(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("kept")
    folder = make_folder(tmp_path / "runs", RUN_PREFIX)
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (inner / "link").symlink_to(kept)
    (inner / "file").chmod(0o400)
    inner.chmod(0o500)
    (folder / "a").chmod(0o000)
    remove_tree(folder)
    remove_tree(folder)
    assert not folder.exists()
    assert kept.read_text() == "kept"


def test_what_a_killed_night_left_is_cleared_by_its_age(tmp_path):
    old, young = make_folder(tmp_path, RUN_PREFIX), make_folder(tmp_path, RUN_PREFIX)
    (tmp_path / "mine").mkdir()
    os.utime(old, (time.time() - 100_000, time.time() - 100_000))
    assert clear_leftovers(tmp_path) == 1
    assert sorted(p.name for p in tmp_path.iterdir() if p.name not in {"home", "tmp"}) == sorted(
        ["mine", young.name]
    )


async def test_a_workspace_is_removed_whole_also_when_that_is_cancelled(repository, runs, make_task):
    workspace = await prepare(make_task(project=str(repository)), runs)
    removing = asyncio.ensure_future(workspace.dispose())
    await asyncio.sleep(0)
    removing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await removing
    assert list(runs.iterdir()) == []


def _circle(folder: Path, outside: Path) -> None:
    """Links by which `loop/../link` is the folder's own when it is read as text, and leads out for Python."""
    (folder / "loop").symlink_to("loop")
    (folder / "link").symlink_to(outside)


async def test_a_skill_folder_behind_links_in_a_circle_is_not_followed_out(
    repository, runs, make_task, tmp_path
):
    outside = tmp_path / "outside" / "heron-greet"
    outside.mkdir(parents=True)
    (outside / "SKILL.md").write_text("theirs")
    _circle(repository, outside.parent)
    (repository / ".claude").mkdir()
    (repository / ".claude" / "skills").symlink_to("../loop/../link")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "links")
    workspace = await prepare(make_task(project=str(repository)), runs)
    assert (outside / "SKILL.md").read_text() == "theirs"
    assert (workspace.path / ".claude" / "skills").is_symlink()


async def test_links_in_a_circle_are_part_of_a_project_like_others(repository, tmp_path, runs, make_task):
    plain = tmp_path / "plain"
    for folder in (repository, plain):
        folder.mkdir(exist_ok=True)
        (folder / "loop").symlink_to("loop")
        (folder / ".agents").symlink_to("loop")
        (folder / "a.txt").write_text("a")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "links")
    for project in (repository, plain):
        workspace = await prepare(make_task(project=str(project)), runs)
        assert (workspace.path / "a.txt").read_text() == "a"


async def test_a_task_in_a_folder_that_links_in_a_circle_is_an_error(repository, runs, make_task):
    (repository / "sub").mkdir()
    task = make_task(project=str(repository / "sub"))
    git(repository, "add", "-A")
    (repository / "sub").rmdir()
    (repository / "sub").symlink_to("sub")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "link")
    (repository / "sub").unlink()
    (repository / "sub").mkdir()
    with pytest.raises(ReplayError, match="leads out of the project"):
        await prepare(task, runs)


def test_what_lies_beside_a_link_in_a_circle_is_seen_as_well(tmp_path):
    root = tmp_path / "root"
    for number in range(20):
        (root / str(number)).mkdir(parents=True)
        (root / str(number) / "file").touch()
    (root / "loop").symlink_to("loop")
    found = {name for _, folders, files in walk(root) for name in (*folders, *files)}
    assert found == {"loop", "file", *map(str, range(20))}
