"""Private folders, and removing them whatever was done inside."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

RUN_PREFIX = "skillopt-replay-"  # harvesters know our runs by this part of the working directory
PRIVATE_PREFIX = "skillopt-private-"
_TRIES = 4


def make_folder(root: Path, prefix: str) -> Path:
    """Return a new folder under `root` that only the user may enter, its path free of links."""
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=root.resolve()))


def remove_tree(path: Path) -> None:
    """Remove a folder with everything in it, also what is read-only or still being written to.

    Links are removed, never followed. Raises OSError when something stays behind.
    """
    for attempt in range(_TRIES):
        error = _try_to_remove(path)
        if error is None:
            return
        if attempt == _TRIES - 1:
            raise error
        _make_writable(path)
        time.sleep(0.05 * attempt)


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


def _try_to_remove(path: Path) -> OSError | None:
    try:
        shutil.rmtree(path)
    except OSError as error:
        return error if path.exists() else None
    return None


def _make_writable(path: Path) -> None:
    for folder, _, _ in os.walk(path, onerror=lambda _: None):
        Path(folder).chmod(stat.S_IRWXU)
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                Path(entry.path).chmod(stat.S_IRWXU)
