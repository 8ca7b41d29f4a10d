"""What the machine says about itself, and when an agent last worked on it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from skillopt_sleep.paths import Paths
from skillopt_sleep.store.counts import find_last_end
from skillopt_sleep.watching import Root

# NetworkManager's words for "yes" and "as far as one can guess".
_METERED = {"1", "3"}
_TIMEOUT_S = 5.0
# Transcripts that only their sessions write; editors write into their databases all the time.
_OWN = (".jsonl", ".json")


class ThisMachine:
    """Answers as `conditions.Machine`; what cannot be found out is None."""

    def __init__(
        self, paths: Paths, connection: sqlite3.Connection, roots: Callable[[], Iterable[Root]]
    ) -> None:
        self._paths = paths
        self._connection = connection
        self._roots = roots
        self._seen: datetime | None = None

    def note_activity(self, now: datetime) -> None:
        """Remember that a session was seen to go on."""
        self._seen = now

    def on_battery(self) -> bool | None:
        battery = self._battery()
        return None if battery is None or battery.power_plugged is None else not battery.power_plugged

    def battery_percent(self) -> float | None:
        battery = self._battery()
        return None if battery is None else float(battery.percent)

    def load_per_core(self) -> float | None:
        with contextlib.suppress(OSError, AttributeError):
            return os.getloadavg()[0] / (os.cpu_count() or 1)
        return None

    def free_gb(self) -> float | None:
        free = [_find_free(folder) for folder in (self._paths.data, self._paths.cache)]
        return min((one for one in free if one is not None), default=None)

    def is_metered(self) -> bool | None:
        program = shutil.which("busctl")
        if program is None:
            return None
        name, path = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"
        try:
            done = subprocess.run(
                [program, "get-property", name, path, name, "Metered"],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        words = done.stdout.split()
        return words[-1] in _METERED if words and not done.returncode else None

    def last_activity(self) -> datetime | None:
        moments = [self._seen, self._find_recorded(), self._find_written()]
        return max((moment for moment in moments if moment is not None), default=None)

    def _find_recorded(self) -> datetime | None:
        """Return when the last session in the index ended, of those that say something about now."""
        until = datetime.now(timezone.utc) + timedelta(hours=1)
        ended = find_last_end(self._connection, until.strftime("%Y-%m-%dT%H:%M:%SZ"))
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat((ended or "")[:19]).replace(tzinfo=timezone.utc)
        return None

    def _find_written(self) -> datetime | None:
        """Return when a transcript was written last: while a night works nobody reads them."""
        latest = 0.0
        for root in self._roots():
            with contextlib.suppress(OSError):
                for path, _ in root.files():
                    if path.suffix in _OWN:
                        with contextlib.suppress(OSError):
                            latest = max(latest, path.stat().st_mtime)
        return datetime.fromtimestamp(latest, timezone.utc) if latest else None

    def _battery(self) -> Any:
        import psutil

        try:
            return psutil.sensors_battery()
        except (OSError, AttributeError, RuntimeError):
            return None


def _find_free(folder: Path) -> float | None:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free / 1e9
    except OSError:
        return None
