"""What a run may use while it runs, and how much of it a process tree uses."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import TYPE_CHECKING

import msgspec
import psutil

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

_GB = 1e9


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on a process tree, None for no limit.

    Processes at a time, bytes of memory, and bytes on disk in files below `folders` that were written since
    the start, removed ones that are still open included. They are looked at twice a second; no single file
    may grow beyond `disk_bytes` at any time.
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
