"""launchd: an agent in the user's own domain."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from skillopt_sleep.service.definition import DAEMON, Service
from skillopt_sleep.service.launchd_plist import LABEL, write_plist
from skillopt_sleep.service.programs import Told, call


class Launchd:
    """A property list in ~/Library/LaunchAgents, driven by `launchctl`."""

    name = "launchd"

    def __init__(self, env: Mapping[str, str], home: Path, *, uid: int | None = None) -> None:
        self.file = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        number = os.getuid() if uid is None else uid
        self._domain = f"gui/{number}"
        self._target = f"{self._domain}/{LABEL}"

    def write(self, service: Service) -> dict[Path, bytes]:
        return {self.file: write_plist(service)}

    def enable(self, mode: str, *, changed: bool) -> None:
        if changed and self._is_loaded():
            call("launchctl", "bootout", self._target)
        # A user can switch agents off by label, and that outlives the file.
        call("launchctl", "enable", self._target)
        self.start(mode)

    def disable(self, mode: str) -> None:
        if self._is_loaded():
            call("launchctl", "bootout", self._target)

    def forget(self) -> None:
        """Leave nothing behind: launchd keeps no record of an agent that is not loaded."""

    def start(self, mode: str) -> None:
        if not self._is_loaded():
            # It has RunAtLoad, so that this starts it.
            call("launchctl", "bootstrap", self._domain, str(self.file))
        elif mode == DAEMON:
            call("launchctl", "kickstart", self._target)

    def stop(self, mode: str) -> None:
        if mode != DAEMON:
            self.disable(mode)
        elif self.describe(mode) == "running":
            # It ends well then, and is not started again.
            call("launchctl", "kill", "SIGTERM", self._target)

    def describe(self, mode: str) -> str:
        try:
            told = call("launchctl", "print", self._target)
        except Told:
            return "not loaded"
        states = [
            line.partition("=")[2].strip() for line in told.splitlines() if line.strip()[:8] == "state = "
        ]
        return states[0] if states else "unknown"

    def advise(self, mode: str) -> tuple[str, ...]:
        return (
            "macOS may show it under Login Items & Extensions, where it can be switched off; agents run while"
            " you are logged in",
        )

    def log_command(self, lines: int, *, follow: bool) -> tuple[str, ...] | None:
        return None

    def _is_loaded(self) -> bool:
        return self.describe(DAEMON) != "not loaded"
