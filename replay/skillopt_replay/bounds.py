"""What a run may use while it runs, and how much of it a process tree uses."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from typing import TYPE_CHECKING

import msgspec
import psutil

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

_GB = 1e9
_DISK_SHARE = 0.05  # of the time may go into adding up what was written


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on a process tree, None for no limit.

    Processes at a time, bytes of memory, and bytes on disk in files below `folders` that were written since
    the start. They are looked at twice a second; no single file may grow beyond `disk_bytes` at any time.
    """

    processes: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    folders: tuple[Path, ...] = ()


def restrict(argv: Sequence[str], path: str | None, bounds: Bounds) -> Sequence[str]:
    """Return the command line that starts `argv` with the limit on single files in force from the start.

    Raises FileNotFoundError when there is no such program on `path`.
    """
    if bounds.disk_bytes is None or os.name != "posix":
        return argv
    if shutil.which(argv[0], path=path) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    # Set on the running child it would come too late for what that has started. A block has 512 bytes.
    blocks = max(bounds.disk_bytes // 512, 1)
    return ["/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"', str(blocks), *argv]


def find_excess(bounds: Bounds, processes: Collection[psutil.Process]) -> str | None:
    """Return which limit on processes and memory is passed, in words; None while none is."""
    if bounds.processes is not None and len(processes) > bounds.processes:
        return f"more than {bounds.processes} processes"
    if bounds.memory_bytes is not None and _memory(processes, bounds.memory_bytes) > bounds.memory_bytes:
        return f"more than {bounds.memory_bytes / _GB:.1f} GB of memory"
    return None


class DiskWatch:
    """Adds up what was written below some folders, without spending much on it."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        # What a clock says and what a file system stamps may differ by a tick.
        self._since = time.time() - 0.01
        self._next = 0.0

    @property
    def is_due(self) -> bool:
        return self._bounds.disk_bytes is not None and time.monotonic() >= self._next

    def look(self) -> str | None:
        """Return the excess in words, None while there is none. Takes a moment: for a thread."""
        limit = self._bounds.disk_bytes
        if limit is None:
            return None
        started = time.monotonic()
        try:
            total = written_since(self._bounds.folders, self._since, limit)
        except NestedTooDeep:
            return "folders nested deeper than a path can name"
        ended = time.monotonic()
        self._next = ended + (ended - started) / _DISK_SHARE
        return f"more than {limit / _GB:.1f} GB written to disk" if total > limit else None


class NestedTooDeep(OSError):
    """A folder has no path that the system would take."""


@contextlib.contextmanager
def _unless_too_deep() -> Iterator[None]:
    """Pass over what is gone or closed to us."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise NestedTooDeep(error.errno, error.strerror) from None


def written_since(folders: Sequence[Path], since: float, enough: int) -> int:
    """Return the bytes on disk of files below the folders changed after `since`; stops beyond `enough`.

    The time of the last change of any kind counts, which a program cannot set. Links are not followed, and
    holes in files take no room. Raises NestedTooDeep where files may lie that nobody could count.
    """
    total = 0
    waiting: list[str | os.PathLike[str]] = list(folders)
    while waiting and total <= enough:
        with _unless_too_deep(), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with _unless_too_deep():
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if status.st_ctime >= since:
                        total += int(getattr(status, "st_blocks", status.st_size / 512) * 512)
    return total


def _memory(processes: Collection[psutil.Process], limit: int) -> int:
    total = _sum(processes, "rss")
    # What processes share is counted for each of them, so a passed limit is looked at more closely.
    return total if total <= limit else _sum(processes, "pss") or total


def _sum(processes: Collection[psutil.Process], field: str) -> int:
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            info = process.memory_info() if field == "rss" else process.memory_full_info()
            total += getattr(info, field, info.rss)
    return total
