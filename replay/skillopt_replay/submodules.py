"""Submodules of a workspace, from what the project's own repository already holds; without the network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.baseline import Start
from skillopt_replay.folders import lies_in, resolve
from skillopt_replay.git import GitFailed, ask_git, run_git, say_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_DEPTH = 4  # submodules in submodules


async def fill_submodules(
    folder: Path,
    git_dir: Path,
    fetch: Callable[[Path, Path, str], Awaitable[None]],
    *,
    depth: int = _DEPTH,
) -> tuple[list[Start], list[str]]:
    """Check out the submodules of the commit in `folder`; return what each holds, and notes.

    `git_dir` is the project's own git folder, below which git keeps its submodules. `fetch` makes a folder
    a workspace of its own at a commit, as for the project itself.
    """
    if not (folder / ".gitmodules").is_file():
        return [], []
    names = await _read_names(folder)
    starts: list[Start] = []
    notes: list[str] = []
    for path, commit in await _list_links(folder):
        target, said = folder / path, say_name(path)
        source = _inside(git_dir, names.get(path, ""))
        if not lies_in(target, folder) or target.is_symlink():
            source = None
        else:
            starts.append(Start(path))
        if source is None:
            notes.append(f"submodule {said} left out: the project does not hold it")
            continue
        try:
            target.mkdir(parents=True, exist_ok=True)
            await fetch(target, source, commit)
        except (GitFailed, OSError):
            notes.append(f"submodule {said} left out: the project does not hold its commit {commit[:12]}")
            continue
        starts[-1] = Start(path, commit, source / "objects")
        if depth > 1:
            inner, more = await fill_submodules(target, source, fetch, depth=depth - 1)
            starts += [msgspec.structs.replace(start, path=f"{path}/{start.path}") for start in inner]
            notes += [f"in {said}: {note}" for note in more]
    return starts, notes


async def _read_names(folder: Path) -> dict[str, str]:
    listed = await ask_git(
        folder, "config", "--no-includes", "-z", "-f", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"
    )
    pairs = (entry.partition("\n") for entry in (listed or "").split("\0") if entry)
    return {path.rstrip("/"): key[len("submodule.") : -len(".path")] for key, _, path in pairs}


async def _list_links(folder: Path) -> list[tuple[str, str]]:
    listed = await run_git(folder, "ls-files", "-z", "--stage")
    links = []
    for entry in listed.split("\0"):
        fields, _, path = entry.partition("\t")
        if fields.startswith("160000 "):
            links.append((path, fields.split()[1]))
    return links


def _inside(git_dir: Path, name: str) -> Path | None:
    """Return the submodule of that name; None when it is not there, or the way to it leads elsewhere."""
    folder = git_dir / "modules"
    path = folder / name
    if not lies_in(folder, git_dir) or not lies_in(path, folder):
        return None
    if (path := resolve(path)) == resolve(folder):
        return None
    return path if (path / "HEAD").is_file() else None
