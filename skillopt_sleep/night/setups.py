"""Which command makes a task's project ready for its runs, as the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt_replay.errors import ReplayError
from skillopt_replay.sandbox import Endpoint, read_endpoint
from skillopt_replay.setup import Setup
from skillopt_replay.tasks import Task
from skillopt_sleep.clients import find_home
from skillopt_sleep.errors import UsageError
from skillopt_sleep.settings import Settings


def choose_setup(settings: Settings, env: Mapping[str, str], task: Task) -> Setup | None:
    """Return the set-up of the nearest folder named in the settings, else the one for all; None for none.

    Raises UsageError for a host that is none.
    """
    command = settings.replay.setup
    project = Path(task.project) if task.project else None
    depth = 0
    for text in settings.replay.project_setup:
        path, _, own = text.partition(":")
        folder = find_home(env) / path[2:] if path.startswith("~/") else Path(path)
        if project is not None and project.is_relative_to(folder) and len(folder.parts) > depth:
            command, depth = own.strip(), len(folder.parts)
    if not command or project is None:
        return None
    return Setup(command=command, reach=tuple(map(_endpoint, settings.replay.setup_hosts)))


def _endpoint(text: str) -> Endpoint:
    try:
        return read_endpoint(f"https://{text}")
    except ReplayError as error:
        raise UsageError(f"replay.setup_hosts: {text!r} is no HOST or HOST:PORT") from error
