"""Picks the sandbox a setting asks for, and refuses rather than run unconfined."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.sandbox import bubblewrap, seatbelt
from skillopt_replay.sandbox.none import NoSandbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.sandbox.contract import Probe, Sandbox

SETTINGS = ("auto", "bubblewrap", "sandbox-exec", "none")
NETWORKS = ("model", "any")
_OPT_OUT = 'to run agents unconfined all the same, set replay.sandbox = "none"'


def choose(setting: str, network: str = "model") -> Sandbox:
    """Return the sandbox for `setting`: auto, bubblewrap, sandbox-exec or none.

    `network` is what runs may reach: model (the services of their model) or any. Raises Unavailable when no
    sandbox works here that keeps to it, and ReplayError for an unknown setting. Only "none" gives NoSandbox.
    """
    if setting not in SETTINGS:
        raise ReplayError(
            f"unknown sandbox {setting!r}", hint=f"replay.sandbox must be one of {', '.join(SETTINGS)}"
        )
    if network not in NETWORKS:
        raise ReplayError(f"unknown network {network!r}", hint="replay.network must be model or any")
    if setting == "none":
        return NoSandbox()
    kind = _kind_here()
    if kind is None:
        raise Unavailable(f"there is no sandbox for {sys.platform} yet", hint=_OPT_OUT)
    if setting not in ("auto", kind):
        raise Unavailable(f"{setting} is not for {sys.platform}", hint='set replay.sandbox = "auto"')
    candidates = _find(kind, network)
    if not candidates:
        raise Unavailable(f"{kind} is not installed", hint=f"{_INSTALL[kind]}; {_OPT_OUT}")
    failures = []
    for sandbox in candidates:
        probe = sandbox.probe()
        if probe.works:
            return sandbox
        failures.append(probe)
    raise Unavailable(f"{failures[0].name}: {failures[0].detail}", hint=f"{failures[0].hint}; {_OPT_OUT}")


def probe_all(network: str = "model") -> list[Probe]:
    """Return what became of every sandbox found on this machine; empty when there is none to find."""
    kind = _kind_here()
    return [sandbox.probe() for sandbox in _find(kind, network)] if kind else []


_INSTALL = {
    "bubblewrap": "install it (apt install bubblewrap, dnf install bubblewrap, or "
    "pip install 'skillopt-sleep[sandbox]')",
    "sandbox-exec": "it is part of macOS and should be at /usr/bin/sandbox-exec",
}


def _kind_here() -> str | None:
    return {"linux": "bubblewrap", "darwin": "sandbox-exec"}.get(sys.platform)


def _find(kind: str, network: str) -> Sequence[Sandbox]:
    return bubblewrap.find(network) if kind == "bubblewrap" else seatbelt.find(network)
