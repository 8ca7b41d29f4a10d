"""The property list of a LaunchAgent."""

from __future__ import annotations

import plistlib
from typing import Any

from skillopt_sleep.errors import AppError
from skillopt_sleep.service.definition import DAEMON, EVERY_MINUTES, MARK, Service

LABEL = "skillopt-sleep"


def write_plist(service: Service) -> bytes:
    """Return the agent's property list as XML. Raises AppError for text that XML cannot hold."""
    agent: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": list(service.command),
        "EnvironmentVariables": dict(service.environment),
        "WorkingDirectory": str(service.folder),
        # It writes its own log; here comes only what it cannot catch.
        "StandardOutPath": str(service.log / "launchd.log"),
        "StandardErrorPath": str(service.log / "launchd.log"),
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "ExitTimeOut": 30,
        "ThrottleInterval": 60,
        "RunAtLoad": True,
    }
    if service.mode == DAEMON:
        agent["KeepAlive"] = {"SuccessfulExit": False}
    else:
        agent["StartInterval"] = EVERY_MINUTES * 60
    try:
        text = plistlib.dumps(agent)
    except ValueError as error:
        raise AppError(f"a property list cannot hold these paths: {error}") from error
    head, tag, rest = text.partition(b"<plist")
    return head + f"<!-- {MARK}; skillopt-sleep uninstall removes it. -->\n".encode() + tag + rest
