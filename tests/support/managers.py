"""Stand-ins for systemctl, launchctl, schtasks and journalctl: they note their calls and keep a state."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# The interpreter of the suite, so that nothing but this folder needs to be on PATH.
_SCRIPT = f"""#!{sys.executable} -S
import json, os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
os.environ.pop("PYTHONPATH", None)
from tests.support.managers import run
sys.exit(run(Path({{folder!r}}), Path(sys.argv[0]).name, sys.argv[1:]))
"""
NAMES = ("systemctl", "launchctl", "schtasks", "journalctl")


class FakeManagers:
    """Executables in a folder to put on PATH; `calls` is what they were asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        for name in NAMES:
            path = self.bin / name
            path.write_text(_SCRIPT.format(folder=str(folder)))
            path.chmod(0o755)
        self._keep({"version": "252.1", "running": [], "loaded": [], "fail": {}})

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls.jsonl"
        return [" ".join(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []

    def forget_calls(self) -> None:
        (self.folder / "calls.jsonl").unlink(missing_ok=True)

    @property
    def state(self) -> dict:
        return json.loads((self.folder / "state.json").read_text())

    def fail(self, beginning: str, message: str) -> None:
        """Let every call that begins so fail from now on."""
        state = self.state
        state["fail"][beginning] = message
        self._keep(state)

    def heal(self) -> None:
        self._keep({**self.state, "fail": {}})

    def _keep(self, state: dict) -> None:
        (self.folder / "state.json").write_text(json.dumps(state))


def run(folder: Path, name: str, arguments: list[str]) -> int:
    with (folder / "calls.jsonl").open("a") as file:
        file.write(json.dumps([name, *arguments]) + "\n")
    state = json.loads((folder / "state.json").read_text())
    line = " ".join([name, *arguments])
    for beginning, message in state["fail"].items():
        if line.startswith(beginning):
            _complain(message)
            return 1
    code = {
        "systemctl": _systemctl,
        "launchctl": _launchctl,
        "schtasks": _schtasks,
        "journalctl": _journalctl,
    }[name](state, arguments)
    (folder / "state.json").write_text(json.dumps(state))
    return code


def _units() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path(os.environ["HOME"], ".config"))
    return Path(base, "systemd", "user")


def _systemctl(state: dict, arguments: list[str]) -> int:
    assert arguments[0] == "--user", "never the system's own manager"
    verb, *rest = arguments[1:]
    flags, names = [a for a in rest if a.startswith("-")], [a for a in rest if not a.startswith("-")]
    if verb == "show" and "--property=Version" in flags:
        _say(state["version"])
    elif verb == "show" and "--property=LoadState" in flags:
        _say("loaded" if names[0] in state["loaded"] else "not-found")
    elif verb == "show" and "--property=ActiveState" in flags:
        _say("active" if names[0] in state["running"] else "inactive")
    elif verb == "daemon-reload":
        state["loaded"] = sorted(path.name for path in _units().glob("*.*") if path.is_file())
    elif verb in {"enable", "disable", "start", "stop", "restart", "reset-failed", "clean"}:
        for unit in names:
            if unit not in state["loaded"]:
                _complain(f"Unit {unit} not loaded.")
                return 5
            _drive(state, verb, flags, unit)
    else:
        raise AssertionError(arguments)
    return 0


def _drive(state: dict, verb: str, flags: list[str], unit: str) -> None:
    target = "timers.target.wants" if unit.endswith(".timer") else "default.target.wants"
    link = _units() / target / unit
    if verb == "enable" and not link.is_symlink():
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(_units() / unit)
    if verb == "disable":
        link.unlink(missing_ok=True)
        if link.parent.is_dir():
            link.parent.rmdir()
    if verb in {"start", "restart"}:
        state["running"] = sorted({*state["running"], unit})
    if verb == "stop" or "--now" in flags:
        state["running"] = [one for one in state["running"] if one != unit]


def _launchctl(state: dict, arguments: list[str]) -> int:
    verb, *rest = arguments
    target = rest[-1]
    if verb == "bootstrap":
        state["loaded"] = state["running"] = [f"{rest[0]}/{Path(target).stem}"]
    elif verb == "print":
        if target not in state["loaded"]:
            _complain(f'Could not find service "{target}"')
            return 113
        told = "running" if target in state["running"] else "not running"
        _say(f"{target} = {{\n\tactive count = 1\n\tstate = {told}\n}}")
    elif verb == "bootout":
        state["loaded"] = state["running"] = []
    elif verb == "kickstart":
        state["running"] = list(state["loaded"])
    elif verb == "kill":
        state["running"] = []
    elif verb != "enable":
        raise AssertionError(arguments)
    return 0


def _schtasks(state: dict, arguments: list[str]) -> int:
    verb, task = arguments[0], arguments[arguments.index("/TN") + 1]
    if verb == "/Create":
        Path(arguments[arguments.index("/XML") + 1]).read_bytes().decode("utf-16")
        state["loaded"] = [task]
    elif task not in state["loaded"]:
        _complain("ERROR: The system cannot find the file specified.")
        return 1
    elif verb == "/Run":
        state["running"] = [task]
    elif verb == "/End":
        state["running"] = []
    elif verb == "/Delete":
        state["loaded"] = state["running"] = []
    elif verb == "/Query":
        _say(f'"\\{task}","N/A","{"Running" if task in state["running"] else "Ready"}"')
    else:
        raise AssertionError(arguments)
    return 0


def _journalctl(state: dict, arguments: list[str]) -> int:
    _say("night-began window=2026-01-01")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _complain(text: str) -> None:
    sys.stderr.write(text + "\n")
