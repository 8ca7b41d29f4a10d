"""Which manager of services this system has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from skillopt_sleep.errors import AppError
from skillopt_sleep.paths import Paths
from skillopt_sleep.service.definition import Manager
from skillopt_sleep.service.systemd import WITHOUT


def choose_manager(
    paths: Paths, env: Mapping[str, str], home: Path, *, platform: str | None = None
) -> Manager:
    """Return this system's manager. Raises AppError where there is none that we know."""
    system = platform or sys.platform
    if system == "linux":
        from skillopt_sleep.service.systemd import Systemd

        return Systemd(env, home)
    if system == "darwin":
        from skillopt_sleep.service.launchd import Launchd

        return Launchd(env, home)
    if system == "win32":
        from skillopt_sleep.service.task_scheduler import TaskScheduler

        return TaskScheduler(env, paths.data)
    raise AppError(f"no service can be installed on {system}", hint=WITHOUT)
