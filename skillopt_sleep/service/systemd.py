"""The systemd user manager. Lingering is explained, never switched on."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from skillopt_sleep.errors import AppError
from skillopt_sleep.service.definition import DAEMON, Service
from skillopt_sleep.service.programs import Told, call
from skillopt_sleep.service.systemd_units import SERVICE_UNIT, TIMER_UNIT, write_units

WITHOUT = (
    "start `skillopt-sleep daemon` with whatever starts programs here: a login script, cron's @reboot,"
    " another init, the container's command"
)
_LINGER = Path("/var/lib/systemd/linger")


class Systemd:
    """Units in the user's own folder, driven by `systemctl --user`."""

    name = "systemd"

    def __init__(self, env: Mapping[str, str], home: Path, *, linger: Path = _LINGER) -> None:
        base = env.get("XDG_CONFIG_HOME", "")
        self.folder = (Path(base) if Path(base).is_absolute() else home / ".config") / "systemd" / "user"
        self._user = env.get("USER") or env.get("LOGNAME") or ""
        self._linger = linger

    def write(self, service: Service) -> dict[Path, bytes]:
        units = write_units(service, version=self._find_version())
        return {self.folder / name: text.encode() for name, text in units.items()}

    def enable(self, mode: str, *, changed: bool) -> None:
        unit = _unit(mode)
        if changed:
            _systemctl("daemon-reload")
        _systemctl("enable", unit)
        _systemctl("restart" if changed else "start", unit)

    def disable(self, mode: str) -> None:
        unit = _unit(mode)
        if not _is_known(unit):
            return
        _systemctl("disable", "--now", unit)
        if mode != DAEMON:
            # The stamp of when it elapsed last. A systemd before 243 cannot, and leaves an empty file.
            with contextlib.suppress(Told):
                _systemctl("clean", "--what=state", unit)
        if mode != DAEMON and _is_known(SERVICE_UNIT):
            _systemctl("stop", SERVICE_UNIT)

    def forget(self) -> None:
        _systemctl("daemon-reload")
        for unit in (SERVICE_UNIT, TIMER_UNIT):
            # Only a unit that failed is still remembered.
            with contextlib.suppress(Told):
                _systemctl("reset-failed", unit)

    def start(self, mode: str) -> None:
        _systemctl("start", _unit(mode))

    def stop(self, mode: str) -> None:
        _systemctl("stop", _unit(mode))
        if mode != DAEMON:
            _systemctl("stop", SERVICE_UNIT)

    def describe(self, mode: str) -> str:
        return _show(_unit(mode), "ActiveState") or "unknown"

    def advise(self, mode: str) -> tuple[str, ...]:
        if not self._user or (self._linger / self._user).exists():
            return ()
        return (
            "the service runs while you are logged in. To let it run also when you are not, switch lingering"
            f" on yourself: sudo loginctl enable-linger {self._user}",
        )

    def log_command(self, lines: int, *, follow: bool) -> tuple[str, ...] | None:
        more = ("--follow",) if follow else ()
        unit = f"--unit={SERVICE_UNIT}"
        return ("journalctl", "--user", unit, f"--lines={lines}", "--no-pager", "--quiet", *more)

    def _find_version(self) -> int:
        """Return the version of the user's running systemd. Raises AppError where none runs."""
        if not shutil.which("systemctl"):
            raise AppError("this system has no systemd, which would run the service", hint=WITHOUT)
        try:
            said = call("systemctl", "--user", "show", "--property=Version", "--value")
        except Told as error:
            raise AppError(
                f"no systemd of yours can be reached: {error.message}",
                hint=f"log in properly rather than by su or sudo, or {WITHOUT}",
            ) from error
        found = re.search(r"\d+", said)
        return int(found[0]) if found else 0


def _unit(mode: str) -> str:
    return SERVICE_UNIT if mode == DAEMON else TIMER_UNIT


def _is_known(unit: str) -> bool:
    return _show(unit, "LoadState") not in {"", "not-found"}


def _show(unit: str, name: str) -> str:
    return call("systemctl", "--user", "show", f"--property={name}", "--value", unit).strip()


def _systemctl(*arguments: str) -> None:
    hint = "systemctl --user status skillopt-sleep.service and skillopt-sleep logs may tell more"
    call("systemctl", "--user", *arguments, hint=hint)
