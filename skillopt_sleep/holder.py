"""Which daemon runs: a pid alone may long be somebody else's."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime
from pathlib import Path

import msgspec

from skillopt_sleep.paths import Paths

_BOOT = Path("/proc/sys/kernel/random/boot_id")
# Start times are kept in clock ticks, and computed from the time of boot.
_TICK_S = 1.0


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A process: `started` in seconds since 1970, `boot` names the run of the machine it belongs to."""

    what: str
    pid: int
    since: str
    started: float
    boot: str


class _Note(msgspec.Struct, frozen=True):
    what: str
    pid: int
    since: str


def find_holder(paths: Paths) -> Holder | None:
    """Return the daemon that runs, None when none does: not who once had its pid, or has it now."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        holder = msgspec.json.decode(paths.daemon_lock.with_suffix(".json").read_bytes(), type=Holder)
        return holder if is_alive(holder) else None
    return None


def find_at_work(paths: Paths, what: str) -> str:
    """Return who does `what` with the state folder, such as "run (pid 7, since ...)"; "" when nobody does."""
    # Who was killed leaves the note. Read here, as what takes the lock is heavy.
    with contextlib.suppress(OSError, msgspec.DecodeError):
        note = msgspec.json.decode(paths.lock.with_suffix(".json").read_bytes(), type=_Note)
        if note.what == what and _has_written(note):
            return f"{note.what} (pid {note.pid}, since {note.since})"
    return ""


def _has_written(note: _Note) -> bool:
    """Tell whether the process that has this pid may have written the note: it was there by then."""
    if not _exists(note.pid):
        return False
    import psutil

    try:
        written = datetime.fromisoformat(note.since.replace("Z", "+00:00")).timestamp()
        return psutil.Process(note.pid).create_time() <= written + _TICK_S
    except (psutil.Error, ValueError):
        return False


def is_alive(holder: Holder) -> bool:
    """Tell whether this very process still runs."""
    if holder.boot != find_boot() or not _exists(holder.pid):
        return False
    import psutil

    try:
        process = psutil.Process(holder.pid)
        is_it = abs(process.create_time() - holder.started) <= _TICK_S
        return is_it and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def find_boot() -> str:
    """Return what names this run of the machine."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        import psutil

        return f"{psutil.boot_time():.0f}"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError, ValueError):
        return False
    except OSError:
        return True
    return True
