"""A real `systemd --user` of a test's own: in namespaces of its own, with a /run of its own.

Nothing of it is seen outside, and it sees neither the machine's manager nor its bus. Where the machine lets
nobody have control groups, a library stands in for them; all else is systemd's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

_SYSTEMD = Path("/lib/systemd/systemd")
_GROUPS = Path(__file__).with_name("cgroups.c")
RUNTIME = "/run/user/0"
_STARTS_S = 30.0
# Its arguments: the library, a folder for output, systemd. There is no journal. Pid 1 stays in `wait`.
_SCRIPT = r"""
set -e
mount --make-rprivate /
mount -t tmpfs none /sys/fs/cgroup
for file in procs events controllers subtree_control; do : > /sys/fs/cgroup/cgroup.$file; done
mount -t tmpfs none /run
mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
[ ! -e /dev/console ] || mount --bind /dev/null /dev/console
LD_PRELOAD="$1" "$3" --user --unit=default.target > "$2/systemd.txt" 2>&1 &
wait
"""


class NoSystemd(Exception):
    """None can be started here, and why."""


class PrivateSystemd:
    """A user manager that runs until `stop`; `call` runs a command beside it."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        """Start it. Raises NoSystemd."""
        if not _SYSTEMD.exists():
            raise NoSystemd(f"there is no {_SYSTEMD}")
        for name in ("cc", "unshare", "nsenter", "systemctl"):
            if not shutil.which(name):
                raise NoSystemd(f"there is no {name}")
        folder.mkdir()
        library = folder / "cgroups.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(_GROUPS), "-ldl"], check=True
        )
        self._env = {name: env[name] for name in env if name != "PYTHONPATH"} | {"XDG_RUNTIME_DIR": RUNTIME}
        self._mine = [] if os.geteuid() == 0 else ["--user"]
        script = ["sh", "-c", _SCRIPT, "systemd", str(library), str(folder), str(_SYSTEMD)]
        mapped = ["--map-root-user"] if self._mine else []
        apart = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with (folder / "unshare.txt").open("wb") as errors:
            self._process = subprocess.Popen(
                ["unshare", *self._mine, *mapped, *apart, *script],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        self._folder = folder
        try:
            self._await()
        except BaseException:
            self.stop()
            raise

    def call(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command where the manager is."""
        (first,) = psutil.Process(self._process.pid).children()
        keep = ["--preserve-credentials"] if self._mine else []
        return subprocess.run(
            ["nsenter", f"--target={first.pid}", *self._mine, *keep, "--mount", "--pid", "--", *command],
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=check,
        )

    def app(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the app there."""
        return self.call(str(Path(sys.executable).with_name("skillopt-sleep")), *arguments, check=check)

    def show(self, unit: str, name: str) -> str:
        """Return what the manager says of a unit."""
        return self.call("systemctl", "--user", "show", f"--property={name}", "--value", unit).stdout.strip()

    def stop(self) -> None:
        """End it, and all that it started: with the first process of a namespace go all others."""
        self._process.kill()
        self._process.wait()

    def _await(self) -> None:
        deadline = time.monotonic() + _STARTS_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if psutil.Process(self._process.pid).children():
                said = self.call("systemctl", "--user", "is-system-running", check=False)
                if said.stdout.strip() in {"running", "degraded"}:
                    return
            time.sleep(0.1)
        told = [(self._folder / name) for name in ("unshare.txt", "systemd.txt")]
        said = " ".join(file.read_text().strip() for file in told if file.exists())
        raise NoSystemd(f"systemd does not start: {said or 'no word'}")
