"""Picks the sandbox a setting asks for, and refuses rather than run unconfined."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.sandbox import bubblewrap, seatbelt
from skillopt_replay.sandbox.none import NoSandbox

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from skillopt_replay.sandbox.contract import Probe, Sandbox

    Own: TypeAlias = Sandbox | str

SETTINGS = ("auto", "bubblewrap", "sandbox-exec", "client", "none")
NETWORKS = ("model", "any")
_NO_CLIENT = "no client runs here that has a sandbox of its own"
_OPT_OUT = 'to run agents unconfined all the same, set replay.sandbox = "none"'


def choose(setting: str, network: str = "model", own: Own | None = None) -> Sandbox:
    """Return the sandbox for `setting`: auto, bubblewrap, sandbox-exec, client or none.

    `network` is what runs may reach: model (the services of their model) or any. `own` is the sandbox of the
    client that runs the tasks, or why there is none; "auto" takes it where the system's does not work. Raises
    Unavailable when no sandbox works here that keeps to it, and ReplayError for an unknown setting. Only
    "none" gives NoSandbox.
    """
    if setting not in SETTINGS:
        raise ReplayError(
            f"unknown sandbox {setting!r}", hint=f"replay.sandbox must be one of {', '.join(SETTINGS)}"
        )
    if network not in NETWORKS:
        raise ReplayError(f"unknown network {network!r}", hint="replay.network must be model or any")
    if setting == "none":
        return NoSandbox()
    if setting == "client":
        return _find_own(own or _NO_CLIENT)
    try:
        return _find_systems(setting, network)
    except Unavailable as error:
        if setting != "auto" or own is None:
            raise
        try:
            return _find_own(own)
        except Unavailable as other:
            message = f"{error.message}, and {other.message}"
            raise Unavailable(message, hint=error.hint) from other


def _find_own(own: Own) -> Sandbox:
    if isinstance(own, str):
        raise Unavailable(own, hint=f'set replay.sandbox = "auto"; {_OPT_OUT}')
    probe = own.probe()
    if not probe.works:
        raise Unavailable(
            f"{probe.name} does not work here: {probe.detail}", hint=f"{probe.hint}; {_OPT_OUT}"
        )
    return own


def _find_systems(setting: str, network: str) -> Sandbox:
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
