"""The service in the hands of a real systemd, of this test's own."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.test_service_install import photograph
from tests.support.private_systemd import NoSystemd, PrivateSystemd

SERVICE, TIMER = "skillopt-sleep.service", "skillopt-sleep.timer"
# Blanks, a specifier, a variable, both quotes, a backslash and letters of other scripts.
AWKWARD = '50% off & "more" $HOME it\'s \\ Füße 日本'


@pytest.fixture
def systemd(tmp_path: Path, private_home: Path) -> Iterator[PrivateSystemd]:
    try:
        manager = PrivateSystemd(tmp_path / "systemd", os.environ)
    except NoSystemd as error:
        pytest.skip(str(error))
    yield manager
    manager.stop()


def until(condition: Callable[[], object], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.1)


def test_a_real_systemd_installs_starts_watches_stops_and_forgets_the_service(
    systemd: PrivateSystemd, private_home: Path
):
    before = photograph(private_home)
    installed = json.loads(systemd.app("install", "--json").stdout)
    assert (installed["state"], installed["running"]) == ("installed", "active")
    pid = systemd.show(SERVICE, "MainPID")
    status = json.loads(systemd.app("status", "--json").stdout)["service"]
    assert (status["installed"], status["running"], str(status["pid"])) == (True, True, pid)
    until(lambda: systemd.show(SERVICE, "StatusText"), lambda: systemd.show(SERVICE, "SubState"))

    assert json.loads(systemd.app("install", "--json").stdout)["state"] == "unchanged"
    assert systemd.show(SERVICE, "MainPID") == pid, "it is left alone"
    until(lambda: "started waits_s=0" in systemd.app("logs").stdout, lambda: systemd.app("logs").stdout)

    systemd.app("stop")
    assert (systemd.show(SERVICE, "ActiveState"), systemd.show(SERVICE, "Result")) == ("inactive", "success")
    assert not json.loads(systemd.app("status", "--json").stdout)["service"]["running"]
    systemd.app("start")
    assert systemd.show(SERVICE, "ActiveState") == "active"
    systemd.call("kill", f"-{signal.SIGKILL}", systemd.show(SERVICE, "MainPID"))
    until(
        lambda: systemd.show(SERVICE, "SubState") == "auto-restart", lambda: systemd.show(SERVICE, "SubState")
    )

    systemd.app("uninstall")
    assert photograph(private_home) == before
    assert systemd.show(SERVICE, "LoadState") == "not-found"
    assert "skillopt" not in systemd.call("systemctl", "--user", "list-units", "--all").stdout


def test_a_real_systemd_gives_a_daemon_that_hangs_up_and_starts_another(
    systemd: PrivateSystemd, private_home
):
    systemd.app("install")
    more = private_home / ".config" / "systemd" / "user" / f"{SERVICE}.d"
    more.mkdir()
    (more / "soon.conf").write_text("[Service]\nWatchdogSec=6\nRestartSec=1\nTimeoutAbortSec=2\n")
    systemd.call("systemctl", "--user", "daemon-reload")
    systemd.call("systemctl", "--user", "restart", SERVICE)
    first = systemd.show(SERVICE, "MainPID")
    time.sleep(8)
    assert systemd.show(SERVICE, "MainPID") == first, "it says that it is alive"
    systemd.call("kill", f"-{signal.SIGSTOP}", first)
    until(lambda: systemd.show(SERVICE, "NRestarts") == "1", lambda: systemd.show(SERVICE, "Result"))
    until(lambda: systemd.show(SERVICE, "ActiveState") == "active", lambda: systemd.show(SERVICE, "SubState"))
    assert systemd.show(SERVICE, "MainPID") != first


def test_a_real_systemd_asks_by_a_timer_whether_a_night_is_due(systemd: PrivateSystemd, private_home: Path):
    before = photograph(private_home)
    assert json.loads(systemd.app("install", "--mode", "timer", "--json").stdout)["running"] == "active"
    assert systemd.show(TIMER, "NextElapseUSecRealtime")
    systemd.call("systemctl", "--user", "start", SERVICE)
    assert systemd.show(SERVICE, "Result") == "success", "that nothing is due is no failure"
    assert systemd.show(SERVICE, "ExecMainStatus") == "3"
    changed = json.loads(systemd.app("install", "--mode", "daemon", "--json").stdout)
    assert (changed["state"], changed["running"]) == ("upgraded", "active")
    assert systemd.show(TIMER, "LoadState") == "not-found"
    systemd.app("uninstall")
    after = {name: content for name, content in photograph(private_home).items() if content is not None}
    assert after == {name: content for name, content in before.items() if content is not None}


def test_a_real_systemd_reads_awkward_paths_as_they_are(
    tmp_path: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch
):
    state = tmp_path / AWKWARD
    codex = tmp_path / f"{AWKWARD} codex"
    for folder in (state, codex):
        folder.mkdir(mode=0o700)
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(state))
    monkeypatch.setenv("CODEX_HOME", str(codex))
    try:
        systemd = PrivateSystemd(tmp_path / "systemd", os.environ)
    except NoSystemd as error:
        pytest.skip(str(error))
    try:
        assert json.loads(systemd.app("install", "--json").stdout)["running"] == "active"
        pid = systemd.show(SERVICE, "MainPID")
        given = systemd.call("cat", f"/proc/{pid}/environ").stdout.split("\0")
        assert {f"SKILLOPT_SLEEP_HOME={state}", f"CODEX_HOME={codex}"} <= set(given)
        assert systemd.call("readlink", f"/proc/{pid}/cwd").stdout.rstrip("\n") == str(state)
        systemd.app("uninstall")
        assert systemd.show(SERVICE, "LoadState") == "not-found"
    finally:
        systemd.stop()
