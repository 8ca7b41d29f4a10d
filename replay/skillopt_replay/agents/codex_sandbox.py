"""Codex's own sandbox: where ours does not start, the client holds the commands of its model itself."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.folders import resolve
from skillopt_replay.sandbox.contract import SYSTEM_PATH, Probe
from skillopt_replay.sandbox.folders import find_kept, refuse_homes, show_program
from skillopt_replay.sandbox.launching import launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.agents.clients import Client
    from skillopt_replay.sandbox.reach import Endpoint

PROFILE = "replay"
_MINIMAL = (Path("/usr"), Path("/etc"))  # what Codex shows of the system, and people keep things in
_PROBE_SECONDS = 20.0
_SECRET = "to be read by nobody"  # noqa: S105 - planted
# Writes where it may, and says what it got that it should not have.
_ATTEMPTS = """
echo x > inside || echo "the workspace cannot be written to"
cat ../outside/secret 2> /dev/null
(echo x > ../outside/written) 2> /dev/null
test -w /proc/sys/kernel/core_pattern && echo "the kernel listens"
exit 0
"""
# Its /proc is a new one, and the kernel asks who the user is outside. One of the settings there names a
# program that the kernel starts outside of any sandbox.
AS_ROOT = "for root it holds nothing: commands can write to the settings of the kernel"


class CodexSandbox:
    """Runs a command the way Codex runs those of its model: a permission profile of ours, no network.

    A run sees the least of the system, what it is shown, and nothing of the home; .git in the workspace is
    read-only. The client itself is outside of it, and what it leaves running ends with the launcher.
    """

    offline = True
    filters = True
    stamps = False
    memory = None

    def __init__(self, cli: Client) -> None:
        self._cli = cli

    @property
    def name(self) -> str:
        return f"Codex's own (codex {self._cli.version})"

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
        """Return the command line; whatever is asked for, there is no network in it."""
        filesystem = self.permissions(writable=writable, readable=readable)["permissions"][PROFILE][
            "filesystem"
        ]
        command = [str(self._cli.binary), "sandbox", "-P", PROFILE]
        command += ["-c", f"permissions.{PROFILE}.filesystem={_inline(filesystem)}"]
        return launch([*command, "-C", str(resolve(cwd)), "--", *argv])

    def permissions(self, *, writable: Sequence[Path], readable: Sequence[Path]) -> dict[str, Any]:
        """Return the part of the client's configuration that confines its commands."""
        rules = {path.resolve(): "read" for path in (show_program(self._cli.binary), *readable)}
        rules.update({path.resolve(): "write" for path in writable})
        refuse_homes(rules)
        hidden = find_kept((*_MINIMAL, *rules)) - rules.keys()
        shown = {str(path): rule for path, rule in (rules | dict.fromkeys(hidden, "none")).items()}
        return {
            "default_permissions": PROFILE,
            "permissions": {PROFILE: {"filesystem": {":minimal": "read", **shown}}},
        }

    def probe(self) -> Probe:
        """Run something that tries to read and write where it may not."""
        return self._probed

    @cached_property
    def _probed(self) -> Probe:
        with tempfile.TemporaryDirectory(prefix="skillopt-probe-") as folder:
            trouble = self._try(Path(folder).resolve())
        if trouble is None:
            return Probe(name=self.name, works=True, detail=f"{self._cli.binary}; commands have no network")
        hint = "see what this says: codex sandbox -- true"
        if trouble == AS_ROOT:
            hint = "run as another user than root, or where the system's sandbox works"
        return Probe(name=self.name, works=False, detail=trouble, hint=hint)

    def _try(self, folder: Path) -> str | None:
        inside, outside = folder / "inside", folder / "outside"
        inside.mkdir()
        outside.mkdir()
        (outside / "secret").write_text(_SECRET)
        argv = self.wrap(["/bin/sh", "-c", _ATTEMPTS], writable=[inside], readable=[], cwd=inside)
        try:
            finished = subprocess.run(
                argv, env={"PATH": SYSTEM_PATH, "HOME": str(inside), "TMPDIR": str(inside), "LC_ALL": "C"},
                cwd=inside, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=_PROBE_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"it does not start: {error}"
        if finished.returncode != 0 or not (inside / "inside").exists():
            said = [line for line in finished.stderr.splitlines() if not line.startswith("WARNING")]
            return (said[-1:] or [f"it ended with {finished.returncode}"])[0][:300]
        if _SECRET in finished.stdout or (outside / "written").exists():
            return "it lets commands get at files outside of the workspace"
        if "the kernel listens" in finished.stdout:
            return AS_ROOT
        return None


def _inline(value: Any) -> str:
    """Return a text or a table as TOML in one line; for these, JSON but for the colons."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_inline(key)} = {_inline(entry)}" for key, entry in value.items()) + "}"
    return msgspec.json.encode(value).decode()
