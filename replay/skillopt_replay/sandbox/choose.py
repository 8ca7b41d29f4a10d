"""Picks the sandbox a setting asks for, and refuses rather than run unconfined."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.sandbox import bubblewrap
from skillopt_replay.sandbox.none import NoSandbox

if TYPE_CHECKING:
    from skillopt_replay.sandbox.contract import Probe, Sandbox

_OPT_OUT = 'to run agents unconfined all the same, set replay.sandbox = "none"'


def choose(setting: str) -> Sandbox:
    """Return the sandbox for `setting`: auto, bubblewrap or none.

    Raises Unavailable when no sandbox works here, and ReplayError for an unknown setting. Only "none"
    gives NoSandbox.
    """
    if setting == "none":
        return NoSandbox()
    if setting not in ("auto", "bubblewrap"):
        raise ReplayError(
            f"unknown sandbox {setting!r}", hint="replay.sandbox must be auto, bubblewrap or none"
        )
    if not sys.platform.startswith("linux"):
        raise Unavailable(f"there is no sandbox for {sys.platform} yet", hint=_OPT_OUT)
    candidates = bubblewrap.find()
    if not candidates:
        raise Unavailable(
            "bubblewrap is not installed",
            hint="install it (apt install bubblewrap, dnf install bubblewrap, or "
            f"pip install 'skillopt-sleep[sandbox]'); {_OPT_OUT}",
        )
    failures = []
    for sandbox in candidates:
        probe = sandbox.probe()
        if probe.works:
            return sandbox
        failures.append(probe)
    raise Unavailable(f"{failures[0].name}: {failures[0].detail}", hint=f"{failures[0].hint}; {_OPT_OUT}")


def probe_all() -> list[Probe]:
    """Return what became of every sandbox found on this machine; empty when there is none to find."""
    if not sys.platform.startswith("linux"):
        return []
    return [sandbox.probe() for sandbox in bubblewrap.find()]
