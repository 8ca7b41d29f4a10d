"""`uninstall --purge`: the question at a terminal, all or nothing, and what the user had edited."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from skillopt_sleep.daemon.instance import hold_daemon
from skillopt_sleep.lock import hold
from skillopt_sleep.paths import locate
from tests.app.test_cli import invoke
from tests.app.test_service_install import managers, photograph
from tests.support.managers import FakeManagers

__all__ = ["managers"]


def answer_purge(typed: bytes) -> tuple[int, str]:
    """Ask for a purge at a terminal, type an answer; return the exit code and what was said."""
    parent, child = pty.openpty()

    def sit_down() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(
        [sys.executable, "-m", "skillopt_sleep", "uninstall", "--purge"],
        stdin=child,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=sit_down,  # noqa: PLW1509 - it makes the terminal the child's own
    )
    os.close(child)
    assert process.stderr is not None
    said = b""
    while b"[y/N]" not in said:
        piece = process.stderr.read1()
        assert piece, said
        said += piece
    os.write(parent, typed)
    _, rest = process.communicate(timeout=30)
    os.close(parent)
    return process.returncode, (said + rest).decode()


@pytest.mark.parametrize(("typed", "code"), [(b"\x03", 130), (b"\x04", 4), (b"n\n", 4)])
def test_ending_the_question_at_a_terminal_removes_nothing(typed: bytes, code: int, private_home: Path):
    invoke("status")
    before = photograph(locate().data)
    ended, said = answer_purge(typed)
    assert (ended, "nothing was removed" in said) == (code, True), said
    assert "this is a bug" not in said
    assert photograph(locate().data) == before


@pytest.mark.parametrize("holder", [hold_daemon, hold], ids=["a daemon", "a run"])
def test_a_purge_that_is_refused_has_removed_nothing(holder, managers: FakeManagers, private_home: Path):
    invoke("status")
    invoke("install")
    invoke("plugin", "install", "claude")
    before = photograph(private_home)
    with holder(locate(), "something else"):
        assert invoke("uninstall", "--purge", "--yes").exit_code == 75
    assert photograph(private_home) == before, "the guide and the unit"
    assert managers.state["running"], "the service that was stopped for it goes on"
    assert locate().database.exists()


def test_a_purge_keeps_what_it_takes_from_the_user_and_says_where(managers: FakeManagers, private_home: Path):
    unit = Path(json.loads(invoke("install", "--json").stdout)["files"][0])
    invoke("plugin", "install", "claude")
    guide = private_home / ".claude/skills/skillopt-sleep/SKILL.md"
    mine = {}
    for path in (unit, guide):
        mine[path] = path.read_text() + "\n# Never at noon.\n"
        path.write_text(mine[path])
    done = invoke("uninstall", "--purge", "--yes", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert sorted(Path(copy).read_text() for copy in told["kept"]) == sorted(mine.values())
    assert sorted(map(str, locate().data.rglob("*"))) == sorted(told["kept"])
    assert {str(unit), str(guide)} <= set(told["removed"])
    again = invoke("uninstall", "--purge", "--yes")
    assert again.exit_code == 0, again.output
    for copy in told["kept"]:
        assert f"your version is kept: {copy}" in again.stdout
        assert Path(copy).exists()


def test_a_purge_removes_what_it_has_shown_before(managers: FakeManagers, private_home: Path):
    invoke("status")
    invoke("config", "set", "gate.alpha", "0.1")
    shown = {line.strip() for line in invoke("uninstall", "--purge").stderr.splitlines() if "/" in line}
    removed = json.loads(invoke("uninstall", "--purge", "--yes", "--json").stdout)["removed"]
    assert set(removed) == shown
