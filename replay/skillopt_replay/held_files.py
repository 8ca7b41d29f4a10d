"""The files that no folder holds any more and the processes of a run still do."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from skillopt_replay.launcher import tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

_DELETED = b" (deleted)\n"
_KCMP = {"x86_64": 312, "aarch64": 272}
_KCMP_FILES = 2
_File = tuple[int, int]  # its device and number


def held_open(pids: Collection[int], folders: Sequence[Path]) -> int:
    """Return the bytes of files that no folder holds any more, but one of the processes does.

    Only on Linux, and only what lies on the file systems of the folders.
    """
    roots = tuple(os.path.realpath(folder) for folder in folders)
    devices = set()
    for root in roots:
        with contextlib.suppress(OSError):
            devices.add(os.stat(root).st_dev)  # noqa: PTH116 - as for all that follows
    found: dict[_File, int] = {}
    for pid in pids:
        for descriptors in _tables(pid):
            for name in _names(descriptors):
                try:
                    status = os.stat(f"{descriptors}/{name}")  # noqa: PTH116 - many of them
                except OSError:
                    continue
                if not status.st_nlink and status.st_dev in devices and stat.S_ISREG(status.st_mode):
                    found[status.st_dev, status.st_ino] = find_room(status)
        for file, size in _mapped(pid, roots):
            found.setdefault(file, size)
    return sum(found.values())


def may_hide(pids: Collection[int], folders: Sequence[Path]) -> bool:
    """Whether one of the processes uses removed files in a way that does not tell how large they are.

    It has mapped some, maybe in part, or has passed on what nobody has taken yet.
    """
    roots = tuple(os.path.realpath(folder) for folder in folders)
    return any(next(_mapped(pid, roots), None) or _passes_on(pid) for pid in pids)


def find_room(status: os.stat_result) -> int:
    """Return the bytes that a file takes on its disk."""
    return int(getattr(status, "st_blocks", status.st_size / 512) * 512)


def _tables(pid: int) -> Iterator[str]:
    """Yield the folders of what a process has open: each thread may have a table of its own, and few do."""
    first = 0
    for thread in map(int, _names(f"/proc/{pid}/task")):
        if not first or not _share_files(first, thread):
            yield f"/proc/{pid}/task/{thread}/fd"
        first = first or thread


def _share_files(one: int, other: int) -> bool:
    """Whether two threads have the same table of open files; False where the kernel does not tell."""
    number = _KCMP.get(os.uname().machine)
    return number is not None and tree.libc().syscall(number, one, other, _KCMP_FILES, 0, 0) == 0


def _passes_on(pid: int) -> bool:
    folder = f"/proc/{pid}/fdinfo"
    for name in _names(folder):
        with contextlib.suppress(OSError), open(f"{folder}/{name}") as lines:  # noqa: PTH123
            if any(line.startswith("scm_fds:") and line.split()[1] != "0" for line in lines):
                return True
    return False


def _mapped(pid: int, roots: tuple[str, ...]) -> Iterator[tuple[_File, int]]:
    """Yield the removed files below the roots that a process has mapped, and how far."""
    ends: dict[_File, int] = {}
    below = tuple(os.fsencode(root) + b"/" for root in roots)
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as lines:  # noqa: PTH123
        for line in lines:
            if not line.endswith(_DELETED):
                continue
            span, _, offset, device, number, path = line.split(maxsplit=5)
            if path.startswith(below):
                start, end = (int(part, 16) for part in span.split(b"-"))
                file = os.makedev(*(int(part, 16) for part in device.split(b":"))), int(number)
                ends[file] = max(ends.get(file, 0), int(offset, 16) + end - start)
    yield from ends.items()


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - of every process of a run
    except OSError:
        return []
