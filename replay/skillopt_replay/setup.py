"""The command that makes a project ready to work in, run once for each commit and kept by its content."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay import process
from skillopt_replay.baseline import renew
from skillopt_replay.bounds import Bounds
from skillopt_replay.copying import copy_tree
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import PRIVATE_PREFIX, make_folder, make_path, remove_tree, walk
from skillopt_replay.origins import locate
from skillopt_replay.sandbox.folders import keep_from_runs
from skillopt_replay.sandbox.reach import Endpoint
from skillopt_replay.workspace import Workspace, prepare

if TYPE_CHECKING:
    from skillopt_replay.origins import Origin
    from skillopt_replay.sandbox.contract import Sandbox, Toolchains
    from skillopt_replay.tasks import Task

KEPT = 8  # results, the most recently used
_FOLDER = "setups"
_PREFIX = "setup-"
_MAX_AGE_S = 14 * 24 * 3600.0
_running: dict[tuple[int, Path], asyncio.Lock] = {}


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """A shell command, run at the root of the workspace.

    It reaches the services in `reach` (None: the whole network), may take `seconds`, and add `disk_bytes`.
    """

    command: str
    reach: tuple[Endpoint, ...] | None = ()
    seconds: float = 900.0
    disk_bytes: int = 4 << 30


async def prepare_with(
    setup: Setup | None,
    task: Task,
    root: Path,
    sandbox: Sandbox,
    toolchains: Toolchains,
    origin: Origin | None = None,
) -> Workspace:
    """Make a new workspace under `root`, and set it up if it holds a project; see `prepare` and `set_up`."""
    origin = origin or await locate(task)
    keep_from_runs(origin.places)
    workspace = await prepare(task, root, origin)
    if setup is None or not task.project:
        return workspace
    try:
        return await set_up(workspace, setup, sandbox, toolchains)
    except BaseException:
        await workspace.dispose()
        raise


async def set_up(workspace: Workspace, setup: Setup, sandbox: Sandbox, toolchains: Toolchains) -> Workspace:
    """Run the command, or lay out what it left at this commit before; return the workspace as it is now.

    What it adds or changes is kept beside the runs and copied into later workspaces; later diffs leave it
    out. The workspace's own repository stays as it was. Raises ReplayError when it fails: that is no run's
    fault.
    """
    kept = _place(workspace, setup)
    note = f"set up by {setup.command!r}"
    if kept is None:
        # Without a commit the files may differ from one time to the next.
        await _run(workspace, setup, sandbox, toolchains)
    else:
        key = (id(asyncio.get_running_loop()), kept)
        async with _running.setdefault(key, asyncio.Lock()):
            if kept.is_dir():
                os.utime(kept)
                # A link that the project holds leads out of the workspace, and nobody confined copies.
                await asyncio.to_thread(_clear_way, kept, workspace.root)
                await copy_tree(kept, workspace.root)
                note += ", as kept"
            else:
                await _run(workspace, setup, sandbox, toolchains, kept)
                await asyncio.to_thread(_prune, kept.parent)
    baseline = await renew(workspace.baseline) if workspace.baseline else None
    return msgspec.structs.replace(workspace, baseline=baseline, notes=(*workspace.notes, note))


def _place(workspace: Workspace, setup: Setup) -> Path | None:
    if workspace.commit is None:
        return None
    parts = [workspace.commit, setup.command, sys.platform, *sorted(workspace.notes)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    return workspace.root.parent / _FOLDER / f"{_PREFIX}{digest}"


async def _run(
    workspace: Workspace, setup: Setup, sandbox: Sandbox, toolchains: Toolchains, kept: Path | None = None
) -> None:
    root = workspace.root
    before = await asyncio.to_thread(_list, root) if kept else {}
    home, repository = (make_folder(root.parent, PRIVATE_PREFIX) for _ in range(2))
    env = {"PATH": toolchains.path, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "CI": "1"}
    argv = sandbox.wrap(
        ["/bin/sh", "-c", setup.command],
        writable=[root, home],
        readable=toolchains.folders,
        cwd=root,
        network=setup.reach is None or bool(setup.reach),
        reach=setup.reach,
    )
    try:
        await copy_tree(root / ".git", repository)
        finished = await process.run(
            argv,
            cwd=root,
            env=env,
            seconds=setup.seconds,
            keep_bytes=20_000,
            bounds=Bounds(processes=1024, disk_bytes=setup.disk_bytes, folders=(root, home)),
        )
        # Its settings name programs, and may lead to another repository; git is run in it outside as well.
        await asyncio.to_thread(_put_back, repository, root / ".git")
    finally:
        for folder in (home, repository):
            await asyncio.to_thread(remove_tree, folder)
    if finished.returncode != 0:
        said = (finished.stderr.strip() or finished.stdout.strip())[-500:]
        why = (
            "took too long" if finished.timed_out else finished.excess or f"ended with {finished.returncode}"
        )
        raise ReplayError(
            f"the set-up command {setup.command!r} {why}: {said}",
            hint="try it in a fresh clone; what it fetches needs replay.setup_hosts",
        )
    if kept is not None:
        await asyncio.to_thread(_keep, root, before, kept, setup.disk_bytes)


def _put_back(kept: Path, place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        remove_tree(place)
    else:
        place.unlink(missing_ok=True)
    kept.rename(place)


def _list(root: Path) -> dict[str, tuple[int, int, int]]:
    found = {}
    for folder, names, files in walk(root):
        if ".git" in names:
            names.remove(".git")
        for name in (*files, *(name for name in names if Path(folder, name).is_symlink())):
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                status = path.lstat()
                found[str(path.relative_to(root))] = (status.st_ino, status.st_size, status.st_ctime_ns)
    return found


def _keep(root: Path, before: dict[str, tuple[int, int, int]], kept: Path, most: int) -> None:
    """Copy what is new or changed to `kept`, which appears whole or not at all.

    Copied, files with holes and under several names take more than they did: beyond `most` bytes nothing is
    kept, and the command is run anew for each workspace.
    """
    added = {name: state for name, state in _list(root).items() if before.get(name) != state}
    if sum(size for _, size, _ in added.values()) > most:
        return
    new = make_folder(kept.parent, PRIVATE_PREFIX)
    try:
        for name in added:
            target = new / name
            make_path(target.parent)
            source = root / name
            if source.is_symlink() or source.is_file():
                shutil.copy2(source, target, follow_symlinks=False)
        try:
            new.rename(kept)
        except OSError:
            if not kept.is_dir():
                raise
            remove_tree(new)  # another process was first
    except BaseException:
        remove_tree(new)
        raise


def _clear_way(kept: Path, root: Path) -> None:
    """Remove from `root` what a copy of `kept` would write through, or could not replace."""
    waiting = [(kept, root)]
    while waiting:
        folder, place = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                there = place / entry.name
                try:
                    is_folder = stat.S_ISDIR(there.lstat().st_mode)
                except FileNotFoundError:
                    continue
                if not is_folder:
                    there.unlink()
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), there))
                else:
                    remove_tree(there)


def _prune(folder: Path) -> None:
    by_use = sorted(folder.glob(f"{_PREFIX}*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for number, path in enumerate(by_use):
        if number >= KEPT or time.time() - path.stat().st_mtime > _MAX_AGE_S:
            with contextlib.suppress(OSError):
                remove_tree(path)
