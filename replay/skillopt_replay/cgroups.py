"""Limits that the kernel keeps: a scope of the user's systemd around a run, where there is one."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillopt_replay.bounds import Bounds

_BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_THREADS = 16  # of a process, of which the kernel counts each; the exact number is looked at from outside
_PROBE_SECONDS = 5.0
_ROOT = Path("/sys/fs/cgroup")


async def find_maker(bounds: Bounds) -> str | None:
    """Return the program that makes a scope for a run with these bounds, None when it gets none.

    Only what may start many processes gets one: making it takes longer than a small program runs.
    """
    if bounds.processes is None:
        return None
    if find_systemd_run.cache_info().currsize:
        return find_systemd_run()
    return await asyncio.to_thread(find_systemd_run)


def enclose(
    program: str, argv: Sequence[str], env: Mapping[str, str], bounds: Bounds
) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the command line and environment that run `argv` in a scope of its own, made by `program`."""
    command = [program, "--user", "--scope", "--quiet", "--collect"]
    if bounds.memory_bytes is not None:
        command += ["-p", f"MemoryMax={bounds.memory_bytes}", "-p", "MemorySwapMax=0"]
    if bounds.processes is not None:
        command += ["-p", f"TasksMax={bounds.processes * _THREADS}"]
    # What systemd-run needs to find its manager is not for the run to have.
    bus = {name: os.environ[name] for name in _BUS if os.environ.get(name)}
    unset = [part for name in bus if name not in env for part in ("-u", name)]
    return [*command, "--", "/usr/bin/env", *unset, *argv], {**bus, **env}


@functools.cache
def find_systemd_run() -> str | None:
    """Return the program where scopes can be made with limits on memory and tasks; None elsewhere."""
    program = shutil.which("systemd-run")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if program is None or not sys.platform.startswith("linux") or not runtime:
        return None
    if not (_ROOT / "cgroup.controllers").is_file() or not Path(runtime, "systemd").is_dir():
        return None
    try:
        finished = subprocess.run(
            [program, "--user", "--scope", "--quiet", "--collect", "-p", "MemoryMax=1G", "-p", "TasksMax=64",
             "--", "cat", "/proc/self/cgroup"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    held = _folder(finished.stdout)
    # A manager that was not handed the controllers makes the scope, and limits nothing.
    return program if finished.returncode == 0 and held is not None else None


class Scope:
    """What the kernel says about the scope a process is in."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def look(self, pid: int) -> str | None:
        """Return the limit that the kernel killed something for, in words; None while it has not."""
        with contextlib.suppress(OSError, ValueError):
            if self._folder is None:
                folder = _folder(Path(f"/proc/{pid}/cgroup").read_text())
                # Ours, where none was made for the run: what is killed in it may be anybody's.
                ours = _folder(Path("/proc/self/cgroup").read_text())
                self._folder = folder if folder != ours else None
            if self._folder is not None:
                events = dict(
                    line.split() for line in (self._folder / "memory.events").read_text().splitlines()
                )
                if int(events.get("oom_kill", "0")) > 0:
                    return "more memory than it may have"
        return None


def _folder(text: str) -> Path | None:
    for line in text.splitlines():
        if line.startswith("0::/"):
            return _ROOT / line[len("0::/") :]
    return None
