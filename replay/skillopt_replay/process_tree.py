"""A child's process group, and its descendants that left it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

import psutil

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
        """Let neither the child nor what it starts leave any."""
        if sys.platform == "linux":
            import resource

            with contextlib.suppress(OSError):
                resource.prlimit(self.pid, resource.RLIMIT_CORE, (0, 0))

    def look(self) -> list[psutil.Process]:
        """Return what runs now, and remember it; a process orphaned later could not be found any more."""
        running: dict[int, psutil.Process] = {}
        for process in (self._child, *self._seen.values()):
            if process is None or process.pid in running:
                continue
            with contextlib.suppress(psutil.Error):
                if process.is_running():
                    running[process.pid] = process
                for child in process.children(recursive=True):
                    running.setdefault(child.pid, self._seen.get(child.pid, child))
        self._seen = {pid: process for pid, process in running.items() if pid != self.pid}
        return list(running.values())

    async def end(self, exited: asyncio.Future[None], grace: float) -> None:
        """Ask the group to end, and give it a moment."""
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
