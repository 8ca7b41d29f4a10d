"""Which project a recorded working directory belongs to: subfolders and worktrees of a repository are one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from skillopt_harvesters.workdirs import name_folder

_POINTER = re.compile(rb"gitdir: *([^\r\n\0]{1,4000})")
# Folders of worktrees that clients make inside the repository, and remove again.
_MADE_INSIDE = re.compile(r"(?P<root>.+?)[/\\]\.(?:claude[/\\])?worktrees[/\\]")


class Projects:
    """Finds the root of the repository a folder lies in, by reading; git itself is not run.

    `remembered` is what was found before, which holds when the folders are gone; `found` is what was found
    on disk since. `home` is no project, even when it is a repository.
    """

    def __init__(self, remembered: Mapping[str, str], *, home: Path) -> None:
        self.found: dict[str, str] = {}
        self._known = dict(remembered)
        self._home = _resolve(str(home))

    def find_root(self, folder: str) -> str:
        """Return the top of the main worktree `folder` belongs to, or the folder when it is in none."""
        # What was read before folders had one spelling is compared as well.
        folder = name_folder(folder)
        if folder not in self._known:
            root = self._find(folder)
            if root is not None:
                self.found[folder] = root
            self._known[folder] = root or _guess(folder)
        return self._known[folder]

    def _find(self, folder: str) -> str | None:
        start = _resolve(folder)
        if start is None:
            return None
        for here in (start, *start.parents):
            if here == self._home:
                return None
            mark = here / ".git"
            # Sandboxes leave empty ones where they kept some from being made.
            if mark.is_dir() and os.path.lexists(mark / "HEAD"):
                return str(here)
            if mark.is_file():
                return str(_follow(mark) or here)
        return None


def _resolve(folder: str) -> Path | None:
    """Return the real path of an absolute one; None for what is no path on this machine."""
    path = Path(folder)
    try:
        return path.resolve() if path.is_absolute() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _follow(mark: Path) -> Path | None:
    """Return the main worktree that the `.git` file of a linked one leads to; None for a submodule's."""
    pointer = _POINTER.match(_read(mark))
    if pointer is None:
        return None
    own = mark.parent / os.fsdecode(pointer[1].rstrip())
    common = _read(own / "commondir").strip()
    git = _resolve(str(own / os.fsdecode(common))) if common else None
    if git is None:
        return None
    return git.parent if git.name == ".git" else git


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""  # a pipe would be waited for
        with path.open("rb") as file:
            return file.read(4096)
    except (OSError, ValueError):
        return b""


def _guess(folder: str) -> str:
    """Return the project a folder that is gone, or in no repository, tells by its name."""
    inside = _MADE_INSIDE.match(folder)
    return inside["root"] if inside else (folder.rstrip("/\\") or folder)
