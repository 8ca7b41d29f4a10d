"""sandbox-exec: the sandbox of macOS, driven by a profile. Apple calls it deprecated; it is what there is."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.sandbox.contract import SYSTEM_PATH, Probe
from skillopt_replay.sandbox.folders import refuse_homes
from skillopt_replay.sandbox.launching import launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.sandbox.reach import Endpoint

BINARY = Path("/usr/bin/sandbox-exec")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SYSTEM = (
    "/bin", "/sbin", "/usr", "/opt", "/System", "/Library/Apple", "/Library/Developer", "/Library/Frameworks",
    "/private/etc", "/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select", "/nix/store",
)  # fmt: skip
_LINKS = ("/", "/etc", "/tmp", "/var", "/private", "/private/var", "/private/tmp", "/Library")  # noqa: S108
_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/dtracehelper",
    "/dev/tty",
    "/dev/fd",
)
_WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")
_SERVICES = (
    "com.apple.system.notification_center", "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership", "com.apple.system.logger", "com.apple.trustd",
    "com.apple.trustd.agent", "com.apple.bsd.dirhelper", "com.apple.SecurityServer",
)  # fmt: skip
_PROBE_SECONDS = 10.0


class Seatbelt:
    """Runs a command under a profile that denies what it does not name.

    Only tested as text, and with a program standing in for sandbox-exec. Unlike on Linux a process that
    leaves its group and its parents may outlive the run, still under the profile.
    """

    offline = True
    stamps = False
    memory = None

    def __init__(self, binary: Path = BINARY, *, network: str = "model") -> None:
        self._binary = binary
        self._network = network

    @cached_property
    def name(self) -> str:
        return f"sandbox-exec (macOS {platform.mac_ver()[0] or 'of unknown version'})"

    @property
    def filters(self) -> bool:
        return self._network == "model"

    def wrap(
        self,
        argv: Sequence[str],
        *,
        writable: Sequence[Path],
        readable: Sequence[Path],
        cwd: Path,
        network: bool = True,
        reach: Sequence[Endpoint] | None = None,
    ) -> list[str]:
        """Return the command line; `cwd` has to be in a folder that may be read."""
        is_shared = network and (reach is None or not self.filters)
        services = None if is_shared else [*(reach or ())] if network else []
        rules = {path.resolve(): False for path in readable}
        rules.update({path.resolve(): True for path in writable})
        refuse_homes(rules)
        # Parents first: of several rules the last one that fits counts.
        folders = sorted(rules, key=lambda path: len(path.parts))
        command = [str(self._binary)]
        # Paths go in as parameters, so that none of them can close a string and add a rule.
        for number, folder in enumerate(folders):
            command += ["-D", f"FOLDER{number}={folder}"]
        ancestors = sorted({str(parent) for folder in folders for parent in folder.parents})
        for number, above in enumerate(ancestors):
            command += ["-D", f"ABOVE{number}={above}"]
        profile = make_profile([rules[folder] for folder in folders], len(ancestors), services)
        command += ["-p", profile, *argv]
        elsewhere = [service for service in services or () if service.host not in _LOOPBACK]
        return launch(command, mode="--proxy" if elsewhere else "", reach=elsewhere)

    def probe(self) -> Probe:
        """Run `true` confined the way runs are."""
        try:
            finished = subprocess.run(
                self.wrap(["/usr/bin/true"], writable=[], readable=[], cwd=Path("/"), reach=()),
                env={"PATH": SYSTEM_PATH},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Probe(name=self.name, works=False, detail=f"no answer within {_PROBE_SECONDS:.0f} s")
        if finished.returncode == 0:
            return Probe(name=self.name, works=True, detail=str(self._binary))
        said = finished.stderr.strip().splitlines()
        detail = said[-1] if said else f"it ended with {finished.returncode}"
        hint = "a sandbox cannot be started inside another one: run outside of it"
        return Probe(name=self.name, works=False, detail=detail, hint=hint)


def find(network: str = "model") -> list[Seatbelt]:
    """Return the system's, if there is one."""
    return [Seatbelt(network=network)] if os.access(BINARY, os.X_OK) else []


def make_profile(folders: Sequence[bool], ancestors: int, services: Sequence[Endpoint] | None) -> str:
    """Return the profile for folders given as parameters FOLDER0... and ABOVE0...

    `folders` says of each in turn whether it may be written to, parents before what lies in them. `services`
    None lets everything through; else this machine's named ports are open, and for services elsewhere the
    port of the launcher's proxy, "@proxy".
    """
    given = [f'(subpath (param "FOLDER{number}"))' for number in range(len(folders))]
    above = [f'(literal (param "ABOVE{number}"))' for number in range(ancestors)]
    devices = [f'(literal "{name}")' for name in _DEVICES]
    rules = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow ipc-posix-sem)",
        "(allow pseudo-tty)",
        _allow("mach-lookup", [f'(global-name "{name}")' for name in _SERVICES]),
        _allow("file-read-metadata", [f'(literal "{name}")' for name in _LINKS] + above),
        _allow("file-read*", [f'(subpath "{name}")' for name in _SYSTEM] + devices + given),
        _allow("file-write*", [f'(literal "{name}")' for name in _WRITABLE_DEVICES]),
    ]
    rules += [
        f"({'allow' if write else 'deny'} file-write* {folder})"
        for write, folder in zip(folders, given, strict=True)
    ]
    return "\n".join([*rules, *_network(services)]) + "\n"


def _network(services: Sequence[Endpoint] | None) -> list[str]:
    if services is None:
        return ["(allow network*)", "(allow system-socket)"]
    ports = [str(service.port) for service in services if service.host in _LOOPBACK]
    if len(ports) < len(services):
        ports.append("@proxy")
    # The profile language knows no other hosts than this machine and all of them.
    return [f'(allow network-outbound (remote ip "localhost:{port}"))' for port in dict.fromkeys(ports)]


def _allow(operation: str, filters: list[str]) -> str:
    return f"(allow {operation} {' '.join(filters)})"
