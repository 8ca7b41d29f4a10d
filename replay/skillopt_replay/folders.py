"""Private folders, and removing them whatever was done inside."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

RUN_PREFIX = "skillopt-replay-"  # harvesters know our runs by this part of the working directory
PRIVATE_PREFIX = "skillopt-private-"
_TRIES = 4
# A run can nest folders deeper than a path can name, or Python's own removal can follow.
_DEEPEST, _LONGEST_PATH = 100, 2000
_MOVED = ".skillopt-moved-"


def make_folder(root: Path, prefix: str) -> Path:
    """Return a new folder under `root` that only the user may enter, its path free of links."""
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=root.resolve()))
    except FileNotFoundError:
        root.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=prefix, dir=root.resolve()))


def make_path(folder: Path) -> None:
    """Make the folder and all that lead to it, as deep as a path can name: Python's own calls itself."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)


def find_path() -> str:
    """Return the PATH without what is relative: that leads into a folder which a run may have filled."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(filter(os.path.isabs, folders)) or os.defpath


def resolve(path: Path) -> Path:
    """Return the path with all links followed. Raises OSError where links that lead in a circle take part.

    Python's own gives up at such a link, reads the rest of the path as text, and leaves links in it; or it
    raises an error that is none of the system's.
    """
    found = os.path.realpath(path)
    if os.path.realpath(found) != found or os.path.islink(found):  # noqa: PTH114
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return Path(found)


def lies_in(path: Path, root: Path) -> bool:
    """Return whether the path leads into the folder, all links followed; one that leads nowhere does not."""
    try:
        return resolve(path).is_relative_to(resolve(root))
    except OSError:
        return False


def remove_tree(path: Path) -> None:
    """Remove a folder with everything in it, also what is read-only, nested without end, or being written to.

    Links are removed, never followed. Raises OSError when something stays behind.
    """
    for attempt in range(_TRIES):
        error = _try_to_remove(path)
        if error is None:
            return
        if attempt == _TRIES - 1:
            raise error
        _loosen(path)
        time.sleep(0.05 * attempt)


def walk(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk like `os.walk`, top down, through folders nested as deep as a path can name.

    That one calls itself for each, until Python lets it no more.
    """
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        names: list[str] = []
        others: list[str] = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                (names if _leads_to_folder(entry) else others).append(entry.name)
        yield folder, names, others
        paths = (os.path.join(folder, name) for name in names)  # noqa: PTH118 - as os.walk gives them
        waiting += [path for path in paths if not os.path.islink(path)]  # noqa: PTH114


def clear_leftovers(root: Path, older_than: float = 24 * 3600.0) -> int:
    """Remove run folders a killed process left under `root`, `older_than` seconds old; return how many."""
    removed = 0
    for prefix in (RUN_PREFIX, PRIVATE_PREFIX):
        # Among the results of set-ups half of one may lie as well.
        for path in (*root.glob(f"{prefix}*"), *root.glob(f"setups/{prefix}*")):
            if path.is_symlink() or time.time() - path.lstat().st_mtime < older_than:
                continue
            remove_tree(path)
            removed += 1
    return removed


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link in a circle, or into a folder that is closed to us


def _try_to_remove(path: Path) -> OSError | None:
    try:
        shutil.rmtree(path)
    except OSError as error:
        return error if path.exists() else None
    except RecursionError:
        return OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(path))
    return None


def _loosen(root: Path) -> None:
    """Make all folders writable, and hang those that lie too deep to be named further up."""
    root.chmod(stat.S_IRWXU)
    waiting = [(str(root), 0)]
    longest = len(os.fsencode(root)) + _LONGEST_PATH
    number = 0
    while waiting:
        folder, depth = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in list(entries):
                if not entry.is_dir(follow_symlinks=False):
                    continue
                with contextlib.suppress(OSError):
                    Path(entry.path).chmod(stat.S_IRWXU)
                    if depth < _DEEPEST and len(os.fsencode(entry.path)) < longest:
                        waiting.append((entry.path, depth + 1))
                        continue
                    number += 1
                    place = f"{root}/{_MOVED}{number}"
                    os.rename(entry.path, place)  # noqa: PTH104 - made for deep trees, so without objects
                    waiting.append((place, 1))
