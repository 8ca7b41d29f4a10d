"""Disposable copies of a project, as it was when a task was asked."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.copying import TooLarge, copy_folder
from skillopt_replay.folders import RUN_PREFIX, discard, make_folder, remove_tree
from skillopt_replay.git import ask_git, run_git

if TYPE_CHECKING:
    from skillopt_replay.tasks import Task

DEPTH = 100  # commits of history that come along
_SKILL_FOLDERS = (".claude/skills", ".agents/skills", ".codex/skills", ".github/skills")
_CONFIG = """\
[core]
	hooksPath = /dev/null
[user]
	name = Replay
	email = replay@localhost
[commit]
	gpgSign = false
[gc]
	auto = 0
"""
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}\Z")


class Workspace(msgspec.Struct, frozen=True):
    """`root` is the disposable folder, `path` the working directory in it; `notes` say what it holds."""

    root: Path
    path: Path
    notes: tuple[str, ...] = ()

    async def dispose(self) -> tuple[str, ...]:
        """Remove the folder, also when parts of it are read-only; return a note when a part of it stays."""
        return await discard(self.root)


def root_of(path: Path) -> Path:
    """Return the workspace's root for a working directory in it, or the path itself outside of one."""
    for folder in (path, *path.parents):
        if folder.name.startswith(RUN_PREFIX):
            return folder
    return path


async def prepare(task: Task, root: Path) -> Workspace:
    """Make a new workspace for the task under the folder `root`.

    A project under git is fetched at the task's commit into a repository with its own objects: no link
    to the original, no later commits, no remotes, no hooks, no uncommitted files. When the commit is not
    known or gone, the last one before the task started is taken, else the newest. Another folder is
    copied; without a project the workspace is empty. The project's own skill of the task's name is taken
    out, so that a run has exactly the skill it is given. Raises ReplayError when git fails.
    """
    folder = make_folder(root, RUN_PREFIX)
    try:
        return await _fill(folder, task)
    except BaseException:
        # A fetch that was cut off may still be writing; it was killed before we get here.
        with contextlib.suppress(OSError):
            remove_tree(folder)
        raise


async def _fill(folder: Path, task: Task) -> Workspace:
    await _start_repository(folder)
    if not task.project:
        return Workspace(folder, folder, ("no project: an empty folder",))
    source = _real(task.project)
    if not source.is_dir():
        return Workspace(folder, folder, (f"the project {source} is gone: an empty folder",))
    top = await ask_git(source, "rev-parse", "--show-toplevel")
    if top is None:
        note = await _copy(source, folder)
        await _hide_skill(folder, folder, task.skill)
        return Workspace(folder, folder, (note,))
    inside = source.relative_to(_real(top))
    commit, note = await _find_commit(source, task)
    if commit is None:
        return Workspace(folder, folder, (note,))
    notes = [note]
    await _fetch(folder, _real(top), commit)
    path = folder / inside
    if not path.is_dir():
        path.mkdir(parents=True)
        notes.append(f"{inside} is not in that commit")
    if (folder / ".gitmodules").is_file():
        notes.append("submodules left out")
    await _hide_skill(folder, path, task.skill)
    return Workspace(folder, path, tuple(notes))


async def _start_repository(folder: Path) -> None:
    await run_git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
    await asyncio.to_thread(_configure, folder)


def _configure(folder: Path) -> None:
    with (folder / ".git/config").open("a", encoding="utf-8") as config:
        config.write(_CONFIG)


async def _find_commit(source: Path, task: Task) -> tuple[str | None, str]:
    """Return the commit to replay at and a note that says which it is; None in an empty repository."""
    gone = ""
    if task.commit:
        name = task.commit if _COMMIT.match(task.commit) else ""
        found = (
            await ask_git(source, "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}") if name else None
        )
        if found:
            return found, f"commit {found[:12]}"
        gone = f"commit {task.commit[:12]} is gone; "
    if task.started:
        found = await ask_git(source, "rev-list", "-1", f"--before={task.started}", "HEAD")
        if found:
            return found, f"{gone}commit {found[:12]}, the last one before the task"
    found = await ask_git(source, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    if found:
        return found, f"{gone}commit {found[:12]}, the newest"
    return None, f"{gone}the repository has no commit: an empty folder"


async def _fetch(folder: Path, source: Path, commit: str) -> None:
    # Fetching one commit by its id, not the branches: the future holds the answers. It may be one that
    # no branch holds any more, which the serving side has to be told to hand out.
    await run_git(
        folder,
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--update-shallow",
        f"--depth={DEPTH}",
        "--upload-pack=git -c uploadpack.allowAnySHA1InWant=true upload-pack",
        source.as_uri(),
        commit,
    )
    await run_git(folder, "reset", "--quiet", "--hard", commit)


async def _copy(source: Path, folder: Path) -> str:
    if source == Path(source.anchor) or Path.home().resolve().is_relative_to(source):
        return f"{source} is no project but holds the home folder: an empty folder"
    try:
        files = await asyncio.to_thread(copy_folder, source, folder)
    except TooLarge as error:
        await asyncio.to_thread(_empty, folder)
        await _start_repository(folder)
        return f"{source} is not under git and holds {error}: an empty folder"
    return f"{source} is not under git: a copy of its {files} files as they are now"


def _empty(folder: Path) -> None:
    remove_tree(folder)
    folder.mkdir(mode=0o700)


def _real(path: str) -> Path:
    return Path(path).expanduser().resolve()


async def _hide_skill(root: Path, path: Path, name: str) -> None:
    """Remove the project's own skill, without a trace in what git reports."""
    folders = [root, *(p for p in (path, *path.parents) if p != root and p.is_relative_to(root))]
    for skill in ((folder / place).resolve() / name for folder in folders for place in _SKILL_FOLDERS):
        # A link out of the workspace leads to files that are not ours to remove.
        if not name or not skill.is_relative_to(root) or not (skill.is_symlink() or skill.exists()):
            continue
        tracked = await run_git(root, "ls-files", "-z", "--", str(skill.relative_to(root)))
        if tracked:
            await run_git(root, "update-index", "-z", "--skip-worktree", "--stdin", stdin=tracked.encode())
        if skill.is_dir() and not skill.is_symlink():
            shutil.rmtree(skill)
        else:
            skill.unlink()
