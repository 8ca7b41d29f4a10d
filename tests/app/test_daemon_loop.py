"""The daemon in this process: a disk that is full, a clock that jumps, a daemon that keeps dying."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from skillopt_sleep.daemon.clockwork import Clockwork
from skillopt_sleep.daemon.happenings import Outcome, pause
from skillopt_sleep.daemon.keeper import Keeper
from skillopt_sleep.daemon.logbook import Logbook
from skillopt_sleep.daemon.loop import Daemon
from skillopt_sleep.daemon.messages import Stop, Tick
from skillopt_sleep.daemon.notifying import Notifier
from skillopt_sleep.daemon.schedule import begin_schedule
from skillopt_sleep.daemon.standing import find_standing
from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.service import read_windows, save_schedule, save_telling
from tests.app.conftest import Sleeper

NOW = datetime(2026, 5, 2, 12, 0, tzinfo=timezone.utc)


@pytest.fixture
def database():
    connection = connect(locate().database)
    yield connection
    connection.close()


class Full(sqlite3.Connection):
    """A connection to a database on a disk that is full whenever `is_full`."""

    is_full = False

    def execute(self, query: str, *values):
        if self.is_full and not query.lower().startswith(("select", "pragma")):
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(query, *values)


# --- what is kept --------------------------------------------------------------------------------


def test_what_could_not_be_kept_has_not_happened(database):
    database.close()
    connection = sqlite3.connect(locate().database, isolation_level=None, factory=Full)
    connection.row_factory = sqlite3.Row
    keeper = Keeper(connection, NOW)
    before = keeper.schedule
    connection.is_full = True
    with pytest.raises(sqlite3.OperationalError):
        keeper.change(msgspec.structs.replace(before, wanted=True))
    assert keeper.schedule == before
    connection.is_full = False
    keeper.change(msgspec.structs.replace(before, wanted=True))
    assert Keeper(connection, NOW).schedule.wanted
    connection.close()


def test_that_time_goes_by_is_written_down_only_now_and_then(database):
    keeper = Keeper(database, NOW)
    keeper.change(msgspec.structs.replace(keeper.schedule, attempts=1))
    changes = database.total_changes
    for minute in range(1, 15):
        later = NOW + timedelta(minutes=minute)
        keeper.change(msgspec.structs.replace(keeper.schedule, seen=later, accounted=later))
    assert database.total_changes == changes
    later = NOW + timedelta(minutes=16)
    keeper.change(msgspec.structs.replace(keeper.schedule, seen=later))
    assert database.total_changes == changes + 1


def test_what_is_known_of_a_window_stays_and_windows_of_a_wrong_clock_are_not_shown(database):
    keeper = Keeper(database, NOW)
    keeper.change(keeper.schedule, [Outcome(window="2026-05-01", state="ran", reason="")])
    keeper.change(keeper.schedule, [Outcome(window="2026-05-01", state="missed", reason="x")])
    keeper.change(keeper.schedule, [Outcome(window="2031-05-01", state="missed", reason="x")])
    (row,) = read_windows(database, 9, until="2026-05-02")
    assert (row.window, row.state) == ("2026-05-01", "ran")


def test_a_schedule_that_another_version_wrote_begins_anew(database):
    save_schedule(database, {"something": "else"})
    assert Keeper(database, NOW).schedule.since == NOW


# --- the loop ------------------------------------------------------------------------------------


def run_for_a_moment(connection: sqlite3.Connection, tmp_path: Path, act) -> list[str]:
    """Run a daemon in a thread of this process while `act(daemon, read_log)` goes on; return its log."""
    paths = locate()
    log = Logbook(paths, {})

    def read_log() -> str:
        return (paths.log / "daemon.log").read_text()

    work = Daemon(paths, dict(os.environ), connection, log, Notifier({}), once=False)
    done = threading.Thread(target=lambda: (act(work, read_log), work.post(Stop("the test"))))
    done.start()
    assert work.run() == 0
    done.join()
    log.close()
    return read_log().splitlines()


def wait_for(read_log, words: str) -> None:
    deadline = time.monotonic() + 30
    while words not in read_log():
        assert time.monotonic() < deadline, f"{words} not in {read_log()}"
        time.sleep(0.02)


def test_a_full_disk_is_told_once_and_outlived(tmp_path: Path):
    connect(locate().database).close()
    connection = sqlite3.connect(
        locate().database, isolation_level=None, factory=Full, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row

    def act(work: Daemon, read_log) -> None:
        wait_for(read_log, "started")
        connection.is_full = True
        connection_says = "database or disk is full"
        save = "insert into commands (name, argument, at) values ('pause', '', '')"
        with sqlite3.connect(locate().database) as other:
            other.execute(save)
        other.close()
        wait_for(read_log, connection_says)
        for _ in range(3):
            work.post(Tick())
        time.sleep(0.1)
        connection.is_full = False
        wait_for(read_log, "order name=pause")

    lines = run_for_a_moment(connection, tmp_path, act)
    connection.close()
    assert len([line for line in lines if "disk is full" in line]) == 1
    assert "stopped" in lines[-1]


def test_a_daemon_that_kept_dying_waits_before_it_does_anything(database, tmp_path: Path):
    database.close()
    connection = connect(locate().database)
    now = datetime.now(timezone.utc)
    starts = tuple(now - timedelta(seconds=20 - n) for n in range(9))
    schedule = msgspec.structs.replace(begin_schedule("seed", now), starts=starts)
    save_schedule(connection, schedule)
    connection.close()
    child = subprocess.Popen(
        [sys.executable, "-m", "skillopt_sleep", "daemon", "--console"],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert child.stderr
    line = child.stderr.readline()
    assert "started waits_s=600" in line
    child.terminate()
    _, rest = child.communicate(timeout=30)
    assert child.returncode == 0
    assert "stopped" in rest


def test_the_clockwork_calls_again_when_the_clock_was_set_back():
    calls: list[str] = []
    clockwork = Clockwork(lambda: calls.append("tick"), lambda: calls.append("look"), tick_s=3600)
    clockwork.start()
    try:
        deadline = time.monotonic() + 30
        while calls.count("tick") < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        # As it is after a jump: the next call is an hour away.
        clockwork.set_right()
        while calls.count("tick") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        clockwork.stop()
    assert calls.count("tick") == 2
    assert "look" in calls


# --- the log -------------------------------------------------------------------------------------


def test_a_line_of_the_log_stays_one_line_and_private():
    log = Logbook(locate(), {})
    log.info("event", plain="a-b", spaced="two words", many="a\nb\x1b[31m", quoted='say "hi"', nothing="")
    log.close()
    file = locate().log / "daemon.log"
    (line,) = file.read_text().splitlines()
    assert line.endswith(
        'info event plain=a-b spaced="two words" many="a b\\x1b[31m" quoted="say \'hi\'" nothing=""'
    )
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_log_that_cannot_be_opened_goes_to_standard_error(capfd: pytest.CaptureFixture[str]):
    locate().data.mkdir(parents=True)
    locate().log.write_text("a file where a folder should be")
    log = Logbook(locate(), {})
    log.info("event", number=5)
    log.close()
    told = capfd.readouterr().err.splitlines()
    assert "warning log error=" in told[0]
    assert told[1].endswith("info event number=5")


def test_logs_rotate_and_stay_small_and_private():
    log = Logbook(locate(), {})
    for number in range(3000):
        log.info("event", number=number, filler="x" * 2000)
    log.close()
    files = sorted(locate().log.iterdir())
    assert len(files) == 5
    assert all(file.stat().st_size <= 1_000_000 for file in files)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_that_cannot_be_written_costs_its_lines():
    locate().log.mkdir(parents=True)
    (locate().log / "daemon.log").symlink_to("/dev/full")
    log = Logbook(locate(), {})
    log.info("event")
    log.error("event")
    log.close()


# --- the standing --------------------------------------------------------------------------------


def test_status_judges_for_scripts(sleeper: Sleeper, database):
    sleeper.sleep("status", "--check", expect=1)
    record = '{"manager":"systemd","mode":"timer","files":[],"folders":[],"version":"0"}'
    (locate().data / "service.json").write_text(record)
    assert "next night 20" in sleeper.sleep("status", "--check", expect=0), "its timer will go off"
    save_schedule(database, begin_schedule("seed", NOW))
    sleeper.sleep("status", "--check", expect=0)
    save_schedule(database, begin_schedule("seed", NOW), [("2026-05-01", "failed", "no agent")])
    assert "2026-05-01 failed: no agent" in sleeper.sleep("status", "--check", expect=1)


def test_the_shape_of_status_is_stable(sleeper: Sleeper, database):
    value = json.loads(sleeper.sleep("status", "--json"))
    assert sorted(value) == [
        "gate_mode",
        "last_night",
        "missed",
        "month",
        "pending",
        "service",
        "sessions",
        "snoozed",
        "watched",
    ]
    assert sorted(value["service"]) == sorted(
        "installed manager mode running pid since doing waiting next completed paused paused_until window"
        " windows".split()
    )


def test_a_pause_without_an_end_leaves_no_next_night(sleeper: Sleeper, database):
    record = '{"manager":"systemd","mode":"timer","files":[],"folders":[],"version":"0"}'
    (locate().data / "service.json").write_text(record)
    save_schedule(database, pause(begin_schedule("seed", NOW)))
    service = json.loads(sleeper.sleep("status", "--json"))["service"]
    assert (service["paused"], service["paused_until"], service["next"]) == (True, "", None)
    later = datetime.now(timezone.utc) + timedelta(days=2)
    save_schedule(database, pause(begin_schedule("seed", NOW), later))
    service = json.loads(sleeper.sleep("status", "--json"))["service"]
    assert service["paused_until"] == later.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert service["next"] >= service["paused_until"]


def test_a_daemon_that_is_gone_tells_nothing_any_more(database):
    from skillopt_sleep.settings import Service
    from skillopt_sleep.store.service import Telling

    save_telling(database, Telling(doing="working a night", since="2026-05-02T00:00:00Z"))
    save_schedule(database, begin_schedule("seed", NOW))
    standing = find_standing(database, locate(), Service(), NOW)
    assert (standing.running, standing.doing, standing.next) == (False, "", None)
