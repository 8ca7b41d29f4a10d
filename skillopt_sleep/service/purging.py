"""Removing all that the app keeps: by name, for a folder of the user's may hold more than that."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from skillopt_replay.folders import remove_tree
from skillopt_sleep.errors import AppError
from skillopt_sleep.paths import Paths

_DATA = (
    "state.db*",
    "state.*.bak",
    "snapshots",
    "vault",
    "nights",
    "*.lock",
    "run.json",
    "decisions.json",
    "daemon.json",
    "service*.json",
    "service.xml",
    "service-edited-*",
    "guide-edited-*",
    "guides.json",
)
_CACHE = ("replays", "models", "copilot", "demo", "run.lock", "run.json", "decisions.json")
_LOG = ("*.log", "*.log.*")


def list_kept(paths: Paths) -> list[Path]:
    """Return what the app keeps and is there, in a stable order; links are named, not what they lead to."""
    found = [*_find(paths.data, _DATA), *_find(paths.cache, _CACHE), *_find(paths.log, _LOG)]
    if paths.config.exists() or paths.config.is_symlink():
        found.append(paths.config)
    return list(dict.fromkeys(found))


def purge(paths: Paths, spare: Collection[Path] = ()) -> list[Path]:
    """Remove it but for `spare`, and the folders that are empty then; return what was removed.

    Raises AppError.
    """
    kept = [path for path in list_kept(paths) if path not in spare]
    for path in kept:
        try:
            if path.is_dir() and not path.is_symlink():
                remove_tree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise AppError(f"cannot remove {path}: {error.strerror or error}") from error
    # Logs lie below a folder of the app; where the user has named a home, what is above may be theirs.
    above = [paths.log.parent] if paths.log.parent.name == "skillopt-sleep" else []
    for folder in dict.fromkeys((paths.cache, paths.log, *above, paths.config.parent, paths.data)):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return kept


def _find(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        yield from sorted(folder.glob(name))
