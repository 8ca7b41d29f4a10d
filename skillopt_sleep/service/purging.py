"""Removing all that the app keeps: by name, for a folder of the user's may hold more than that."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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
    "guides.json",
)
_CACHE = ("replays", "models", "copilot", "demo", "run.lock", "run.json", "decisions.json")
_LOG = ("*.log", "*.log.*")
# What the user wrote into files of ours, which were to be removed or written anew.
_EDITED = ("service-edited-*", "guide-edited-*")


def list_kept(paths: Paths) -> list[Path]:
    """Return what the app keeps and is there, in a stable order; links are named, not what they lead to."""
    found = [*_find(paths.data, _DATA), *_find(paths.cache, _CACHE), *_find(paths.log, _LOG)]
    if paths.config.exists() or paths.config.is_symlink():
        found.append(paths.config)
    return list(dict.fromkeys(found))


def list_edited(paths: Paths) -> list[Path]:
    """Return the copies of files of ours that the user had edited, which no purge removes."""
    return list(_find(paths.data, _EDITED))


def purge(paths: Paths) -> list[Path]:
    """Remove it, and the folders that are empty then; return what was removed.

    Raises AppError.
    """
    kept = list_kept(paths)
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
