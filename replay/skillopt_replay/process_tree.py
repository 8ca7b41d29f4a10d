"""A child's process group, and its descendants that left it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    import asyncio

GRACE_SECONDS = 1.0
_ROUNDS = 20


class Tree:
    """Everything that descends from one child, which leads a group of its own."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # psutil compares start times, so a number that is used again is never mistaken for ours.
        self._child = _process(pid)
        self._seen: dict[int, psutil.Process] = {}

    def forbid_core_dumps(self) -> None:
        """Let neither the child nor what it starts leave any, nor hand one to a program of the system's.

        That runs outside of the sandbox, and the kernel starts it whatever the limit is, save for one byte.
        """
        if sys.platform == "linux":
            import resource

            with contextlib.suppress(OSError):
                resource.prlimit(self.pid, resource.RLIMIT_CORE, (1, 1))

    def look(self) -> list[psutil.Process]:
        """Return what runs now, and remember it; a process orphaned later could not be found any more."""
        running: dict[int, psutil.Process] = {}
        for process in (self._child, *self._seen.values()):
            if process is None or process.pid in running:
                continue
            with contextlib.suppress(psutil.Error):
                if process.is_running():
                    running[process.pid] = process
                for pid in _find_below(process):
                    found = running.get(pid) or self._seen.get(pid) or _process(pid)
                    if found is not None:
                        running[pid] = found
        self._seen = {pid: process for pid, process in running.items() if pid != self.pid}
        return list(running.values())

    async def end(self, exited: asyncio.Future[None], grace: float) -> None:
        """Ask the group to end, and give it a moment."""
        import asyncio

        self.look()
        if grace > 0:
            self._signal_group(signal.SIGTERM)
            await asyncio.wait([exited], timeout=grace)

    def kill(self) -> None:
        """Kill all of it at once, also what it goes on starting meanwhile."""
        # Stopped rather than killed first, the child keeps the orphans that fall to it within sight.
        self._signal_group(signal.SIGSTOP)
        for _ in range(_ROUNDS):
            alive = [process for process in self.look() if process.pid != self.pid and not _is_dead(process)]
            if not alive:
                break
            for process in alive:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def _find_below(process: psutil.Process) -> list[int]:
    """Return the numbers of all that descends from it."""
    found: list[int] = []
    waiting = [process.pid]
    try:
        while waiting:
            below = _find_children(waiting.pop())
            found += below
            waiting += below
    except FileNotFoundError:
        return [child.pid for child in process.children(recursive=True)]
    return found


def _find_children(pid: int) -> list[int]:
    """Return its children. Raises FileNotFoundError where the system does not keep lists of them."""
    # Looking through all processes of the machine takes a hundred times as long.
    found: list[int] = []
    threads = f"/proc/{pid}/task"
    try:
        names = os.listdir(threads)  # noqa: PTH208 - twice a second, for each process of a run
    except ProcessLookupError:
        return []  # it ended between the opening and the reading of its folder
    except FileNotFoundError:
        if sys.platform.startswith("linux"):
            return []  # it has ended
        raise
    for name in names:
        try:
            with open(f"{threads}/{name}/children", "rb") as file:  # noqa: PTH123
                found += map(int, file.read().split())
        except ProcessLookupError:
            continue
        except FileNotFoundError:
            if Path(threads, name).exists():
                raise
    return found


def _is_dead(process: psutil.Process) -> bool:
    try:
        return bool(process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD))
    except psutil.Error:
        return True


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None
