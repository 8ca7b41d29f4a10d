"""Disposable copies of a project, as it was when a task was asked."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.baseline import Baseline, Start, keep
from skillopt_replay.copying import TooLarge, copy_folder, holds_settings
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import RUN_PREFIX, lies_in, make_folder, make_path, remove_tree, resolve
from skillopt_replay.git import SERVE, run_git
from skillopt_replay.large_files import fill_large_files
from skillopt_replay.origins import Origin, locate
from skillopt_replay.submodules import fill_submodules
from skillopt_replay.trash import discard

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class Workspace(msgspec.Struct, frozen=True):
    """`root` is the disposable folder, `path` the working directory in it; `notes` say what it holds.

    `commit` is the project's, None where there is none; `hidden` are the places of the skill that was taken
    out, relative to `root`; `baseline` is what the workspace held at first.
    """

    root: Path
    path: Path
    notes: tuple[str, ...] = ()
    commit: str | None = None
    hidden: tuple[str, ...] = ()
    baseline: Baseline | None = None

    async def dispose(self) -> tuple[str, ...]:
        """Remove the folder, also when parts of it are read-only; return a note when a part of it stays."""
        more: tuple[str, ...] = ()
        try:
            left = await discard(self.root)
        finally:
            # Also when we are cancelled meanwhile.
            if self.baseline is not None:
                more = await discard(self.baseline.folder)
        return (*left, *more)


def root_of(path: Path) -> Path:
    """Return the workspace's root for a working directory in it, or the path itself outside of one."""
    for folder in (path, *path.parents):
        if folder.name.startswith(RUN_PREFIX):
            return folder
    return path


async def prepare(task: Task, root: Path, origin: Origin | None = None) -> Workspace:
    """Make a new workspace for the task under the folder `root`, from its origin.

    A project under git is fetched at the task's commit into a repository with its own objects: no link
    to the original, no later commits, no remotes, no hooks, no uncommitted files. Submodules and large files
    come along as far as the project's own repository holds them. Another folder is copied; without a project
    the workspace is empty. The project's own skill of the task's name is taken out, so that a run has exactly
    the skill it is given. Raises ReplayError when git fails, and when the project is gone.
    """
    origin = origin or await locate(task)
    folder = make_folder(root, RUN_PREFIX)
    try:
        return await _fill(folder, origin, task.skill)
    except BaseException:
        # A fetch that was cut off may still be writing; it was killed before we get here.
        with contextlib.suppress(OSError):
            remove_tree(folder)
        raise


async def _fill(folder: Path, origin: Origin, skill: str) -> Workspace:
    await _start_repository(folder)
    if origin.source is None:
        return await _keep(Workspace(folder, folder, (origin.note,)), None)
    if origin.common is None:
        note = await _copy(origin.source, folder)
        hidden = await _hide_skill(folder, folder, skill)
        return await _keep(Workspace(folder, folder, (note,), hidden=hidden), None)
    if origin.commit is None:
        return await _keep(Workspace(folder, folder, (origin.note,)), None)
    notes = [origin.note]
    await _fetch(folder, origin.common, origin.commit)
    submodules, left_out = await fill_submodules(folder, origin.common, _fetch_submodule)
    notes += left_out
    notes += await fill_large_files(folder, origin.common)
    path = folder / origin.inside
    if not lies_in(path, folder):
        raise ReplayError(f"{origin.inside} leads out of the project in commit {origin.commit[:12]}")
    if not path.is_dir():
        make_path(path)
        notes.append(f"{origin.inside} is not in that commit")
    hidden = await _hide_skill(folder, path, skill)
    workspace = Workspace(folder, path, tuple(notes), origin.commit, hidden)
    return await _keep(workspace, origin.common / "objects", submodules)


async def _keep(workspace: Workspace, objects: Path | None, submodules: Sequence[Start] = ()) -> Workspace:
    start = Start(commit=workspace.commit, objects=objects)
    baseline = await keep(workspace.root, start, submodules)
    return msgspec.structs.replace(workspace, baseline=baseline)


async def _fetch_submodule(folder: Path, source: Path, commit: str) -> None:
    await _start_repository(folder)
    await _fetch(folder, source, commit)


async def _start_repository(folder: Path) -> None:
    await run_git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
    await asyncio.to_thread(_configure, folder)


def _configure(folder: Path) -> None:
    with (folder / ".git/config").open("a", encoding="utf-8") as config:
        config.write(_CONFIG)


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
        # A pack that is thrown away within minutes is not worth making small.
        f"--upload-pack={SERVE} -c uploadpack.allowAnySHA1InWant=true -c pack.window=0 -c pack.compression=0"
        " upload-pack",
        source.as_uri(),
        commit,
    )
    await run_git(folder, "reset", "--quiet", "--hard", commit)


async def _copy(source: Path, folder: Path) -> str:
    if source == Path(source.anchor) or Path.home().resolve().is_relative_to(source):
        return f"{source} is no project but holds the home folder: an empty folder"
    if holds_settings(source):
        return f"{source} is a place of settings and sign-ins, not a project: an empty folder"
    try:
        files = await asyncio.to_thread(copy_folder, source, folder)
    except TooLarge as error:
        await asyncio.to_thread(_empty, folder)
        await _start_repository(folder)
        return f"{source} is not under git and holds {error}: an empty folder"
    return (
        f"{source} is not under git: a copy of its {files} files as they are now, without"
        " dependencies, caches and what looks secret"
    )


def _empty(folder: Path) -> None:
    remove_tree(folder)
    folder.mkdir(mode=0o700)


async def _hide_skill(root: Path, path: Path, name: str) -> tuple[str, ...]:
    """Remove the project's own skill, without a trace in what git reports; return where it may have been."""
    if not name:
        return ()
    if "/" in name or name == "..":
        # By a link in the project it could lead to files that are not ours to remove.
        raise ReplayError(f"{name!r} is no name of a skill")
    folders = [root, *(p for p in (path, *path.parents) if p != root and p.is_relative_to(root))]
    found = [folder / place for folder in folders for place in _SKILL_FOLDERS]
    # A link out of the workspace leads to files that are not ours to remove.
    places = [resolve(place) / name for place in found if lies_in(place, root)]
    for skill in places:
        if not (skill.is_symlink() or skill.exists()):
            continue
        tracked = await run_git(root, "ls-files", "-z", "--", str(skill.relative_to(root)))
        if tracked:
            await run_git(
                root,
                "update-index",
                "-z",
                "--skip-worktree",
                "--stdin",
                stdin=tracked.encode("utf-8", "surrogateescape"),
            )
        if skill.is_dir() and not skill.is_symlink():
            remove_tree(skill)
        else:
            skill.unlink()
    return tuple(str(place.relative_to(root)) for place in places)
