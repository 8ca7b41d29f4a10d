"""When a night is in somebody's way: the questions, their order, and the answers of this machine."""

from __future__ import annotations

import os
import stat
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from skillopt_sleep.daemon.conditions import find_disturbance, find_obstacle
from skillopt_sleep.daemon.machine import ThisMachine
from skillopt_sleep.paths import locate
from skillopt_sleep.settings import Service
from skillopt_sleep.store.database import connect
from skillopt_sleep.watching import Root

NOW = datetime(2026, 5, 2, 1, 30, tzinfo=timezone.utc)
RULES = Service(quiet_hours=())
MINUTE = timedelta(minutes=1)


class Machine:
    """Answers as told, and notes what it was asked."""

    def __init__(self, **answers: object) -> None:
        self.asked: list[str] = []
        self._answers = answers

    def __getattr__(self, name: str):
        def answer():
            self.asked.append(name)
            return self._answers.get(name)

        return answer


@pytest.mark.parametrize(
    ("rules", "answers", "said"),
    [
        (Service(quiet_hours=("00:00-23:59",)), {}, "quiet hours"),
        (RULES, {"on_battery": True}, "not plugged in"),
        (Service(on_power=False, quiet_hours=()), {"on_battery": True, "battery_percent": 30.0}, "30 %"),
        (RULES, {"load_per_core": 0.9}, "0.9 of load"),
        (RULES, {"free_gb": 0.3}, "0.3 GB"),
        (RULES, {"last_activity": NOW - 14 * MINUTE}, "less than 15 minutes"),
        (RULES, {"is_metered": True}, "metered"),
    ],
    ids=["quiet", "power", "battery", "load", "disk", "session", "metered"],
)
def test_each_condition_keeps_a_night_from_beginning_and_says_so(rules, answers, said: str):
    assert said in find_obstacle(rules, Machine(**answers), NOW, catch_up=False)


@pytest.mark.parametrize(
    ("rules", "answers"),
    [
        (RULES, {}),
        (RULES, {"on_battery": False, "battery_percent": 3.0}),
        (Service(on_power=False, quiet_hours=()), {"on_battery": True, "battery_percent": 51.0}),
        (Service(max_load=0, quiet_hours=()), {"load_per_core": 99.0}),
        (Service(metered=True, quiet_hours=()), {"is_metered": True}),
        (RULES, {"last_activity": NOW - 16 * MINUTE}),
        (Service(idle_minutes=0, quiet_hours=()), {"last_activity": NOW}),
        (RULES, {"last_activity": NOW + timedelta(days=300)}),
    ],
    ids=["unknown", "plugged", "battery", "load", "metered", "idle", "any", "future"],
)
def test_what_is_unknown_or_allowed_is_in_nobodys_way(rules, answers):
    assert find_obstacle(rules, Machine(**answers), NOW, catch_up=False) == ""


def test_a_missed_night_waits_for_a_longer_silence():
    quiet = Machine(last_activity=NOW - 20 * MINUTE)
    assert find_obstacle(RULES, quiet, NOW, catch_up=False) == ""
    assert "30 minutes" in find_obstacle(RULES, quiet, NOW, catch_up=True)


def test_the_cheapest_question_that_says_no_is_the_last_one_asked():
    machine = Machine(on_battery=True)
    find_obstacle(RULES, machine, NOW, catch_up=False)
    assert machine.asked == ["on_battery"]
    machine = Machine()
    find_obstacle(RULES, machine, NOW, catch_up=False)
    assert machine.asked[-1] == "is_metered"
    assert machine.asked.index("free_gb") < machine.asked.index("last_activity")


def test_a_night_at_work_gives_way_to_a_session_that_began_since_and_to_the_battery():
    since = NOW - 60 * MINUTE
    assert "session began" in find_disturbance(RULES, Machine(last_activity=NOW - MINUTE), NOW, since)
    assert find_disturbance(RULES, Machine(last_activity=NOW - 4 * MINUTE), NOW, since) == ""
    assert find_disturbance(RULES, Machine(last_activity=since - MINUTE), NOW, since) == ""
    assert "not plugged in" in find_disturbance(RULES, Machine(on_battery=True), NOW, since)
    assert find_disturbance(RULES, Machine(load_per_core=9.0), NOW, since) == "", "it is our own load"


# --- this machine --------------------------------------------------------------------------------


@pytest.fixture
def database():
    connection = connect(locate().database)
    yield connection
    connection.close()


def test_this_machine_answers_each_question_or_says_that_nobody_knows(database, tmp_path: Path):
    machine = ThisMachine(locate(), database, lambda: ())
    assert machine.on_battery() in {None, True, False}
    assert machine.load_per_core() is None or machine.load_per_core() >= 0
    assert machine.free_gb() > 0
    assert machine.last_activity() is None


def test_activity_is_the_latest_of_what_was_recorded_written_and_seen(database, tmp_path: Path):
    written = tmp_path / "a.jsonl"
    written.write_text("{}\n")
    os.utime(written, (1_700_000_000, 1_700_000_000))
    editor = tmp_path / "state.vscdb"
    editor.write_text("x")
    root = Root(tmp_path, lambda: [(written, 0), (editor, 0), (tmp_path / "gone.jsonl", 0)])
    machine = ThisMachine(locate(), database, lambda: (root,))
    assert machine.last_activity() == datetime.fromtimestamp(1_700_000_000, timezone.utc)
    save = "insert into sessions (client, id, kind, ended, path, body) values ('claude', ?, ?, ?, '', x'')"
    database.execute(save, ("1", "human", "2024-05-01T10:00:00.123Z"))
    database.execute(save, ("2", "replay", "2025-01-01T00:00:00Z"))
    database.execute(save, ("3", "human", "9999-01-01T00:00:00Z"))
    assert machine.last_activity() == datetime(2024, 5, 1, 10, tzinfo=timezone.utc)
    machine.note_activity(NOW)
    assert machine.last_activity() == NOW


@pytest.mark.parametrize(
    ("says", "metered"),
    [("u 1", True), ("u 3", True), ("u 2", False), ("u 4", False), ("u 0", False), ("", None)],
    ids=["yes", "guess-yes", "no", "guess-no", "unknown", "nothing"],
)
def test_networkmanager_is_asked_whether_the_network_is_metered(
    database, tmp_path: Path, monkeypatch, says: str, metered
):
    program = tmp_path / "busctl"
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert ThisMachine(locate(), database, lambda: ()).is_metered() is metered
    program.write_text("#!/bin/sh\nexit 1\n")
    assert ThisMachine(locate(), database, lambda: ()).is_metered() is None
    monkeypatch.setenv("PATH", "/nonexistent")
    assert ThisMachine(locate(), database, lambda: ()).is_metered() is None
