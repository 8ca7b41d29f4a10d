"""The daemon as a real process: it works nights, is told what to do, is ended and killed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import psutil
import pytest

from skillopt_sleep.config import set_value
from skillopt_sleep.daemon.schedule import Schedule, begin_schedule
from skillopt_sleep.holder import find_boot, find_holder, is_alive
from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.service import read_schedule, read_telling, save_schedule
from tests.app.conftest import Sleeper
from tests.support.chat_server import ChatModel
from tests.support.managers import FakeManagers

LONG_S = 60.0


@pytest.fixture
def database(sleeper: Sleeper):
    connection = connect(locate().database)
    yield connection
    connection.close()


@pytest.fixture
def any_time(sleeper: Sleeper) -> None:
    """A night may begin whenever it is due, on any machine."""
    sleeper.set(
        service_window="00:00-23:59",
        service_quiet_hours="",
        service_jitter_minutes=0,
        service_idle_minutes=0,
        service_catch_up_idle_minutes=0,
        service_on_power="false",
        service_min_battery=0,
        service_max_load=0,
        service_min_disk_gb=0,
        service_metered="true",
    )


def until(condition: Callable[[], object], what: Callable[[], str] = str) -> object:
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"it never came to be: {what()}")


class Running:
    """A daemon, and what it logs."""

    def __init__(self, sleeper: Sleeper, *arguments: str) -> None:
        self.process = sleeper.start("daemon", "--console", *arguments)
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stderr
        self.lines.extend(iter(self.process.stderr.readline, ""))

    def logged(self, event: str, **fields: str) -> str:
        """Wait for a line of the log, and return it."""

        def find() -> str:
            for line in list(self.lines):
                if f" {event}" in line and all(f"{name}={value}" in line for name, value in fields.items()):
                    return line
            return ""

        return str(until(find, lambda: f"{event} {fields} in {''.join(self.lines)}"))

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, number: int = signal.SIGTERM, *, seconds: float = LONG_S) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=seconds)
        self._thread.join(LONG_S)
        return code


@contextmanager
def daemon(sleeper: Sleeper, *arguments: str) -> Iterator[Running]:
    running = Running(sleeper, *arguments)
    try:
        yield running
    finally:
        below = running.below() if running.process.poll() is None else []
        for process in (*below, running.process):
            if process.is_running() if isinstance(process, psutil.Process) else process.poll() is None:
                process.kill()
        running.process.communicate()


def make_due(database) -> None:
    """Let a night be due: as if the daemon had been there for days."""
    past = datetime.now(timezone.utc) - timedelta(days=3)
    now = datetime.now(timezone.utc)
    schedule = msgspec.structs.replace(begin_schedule("seed", past), accounted=now, seen=now)
    save_schedule(database, schedule)


def gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


# --- the index -----------------------------------------------------------------------------------


def test_what_is_written_while_it_runs_is_in_the_index_soon(sleeper: Sleeper, database):
    sleeper.work(days=3)
    with daemon(sleeper) as running:
        until(lambda: database.execute("select count(*) from sessions").fetchone()[0] == 3)
        running.logged("started")
        until(lambda: running.process.poll() is None and find_holder(locate()))
        sleeper.work(first=3, days=4)
        until(lambda: database.execute("select count(*) from sessions").fetchone()[0] >= 4)
        assert running.end() == 0
    assert find_holder(locate()) is None
    assert not [line for line in running.lines if " error " in line]


def test_settings_that_cannot_be_read_are_told_and_kept_until_they_can(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    good = locate().config.read_text()
    locate().config.write_text("[service]\nwindow = 'at night'\n")
    with daemon(sleeper) as running:
        assert "settings cannot be read" in running.logged("night-due")
        assert model.requests == []
        locate().config.write_text(good)
        running.process.send_signal(signal.SIGHUP)
        running.logged("night-ended", end="done")
        assert running.end() == 0


# --- nights --------------------------------------------------------------------------------------


def test_a_night_that_is_due_is_worked_once_and_told_of(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    with daemon(sleeper) as running:
        assert "on time" in running.logged("night-began")
        running.logged("night-ended", end="done", code="0")
        told = json.loads(sleeper.sleep("status", "--json"))
        assert running.end() == 0
    assert told["last_night"]["state"] == "done"
    assert told["pending"]
    service = told["service"]
    assert (service["running"], service["pid"]) == (True, running.process.pid)
    assert service["completed"] is not None
    assert service["next"] > service["completed"]
    paid = len(model.requests)
    with daemon(sleeper) as running:
        running.logged("started")
        until(
            lambda: (told := read_telling(database)) and "next night" in told.doing,
            lambda: f"{read_telling(database)} {running.lines}",
        )
        assert running.end() == 0
    assert len(model.requests) == paid, "one night a window"


def test_a_termination_in_the_middle_of_a_night_ends_all_of_it_within_ten_seconds_and_the_next_goes_on(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    model.hangs = lambda request: request.has_skill
    with daemon(sleeper) as running:
        assert model.hanging.wait(LONG_S)
        below = running.below()
        assert below, "a night is a process of its own"
        assert running.end(seconds=10) == 0
        assert gone(below)
    assert "SIGTERM" in running.logged("stopped")
    assert database.execute("select state from nights").fetchall()[0]["state"] == "running"
    schedule = read_schedule(database, Schedule)
    assert schedule is not None
    assert (schedule.working, schedule.completed, schedule.starts) == (None, None, ())
    answered = set(model.answered)
    model.hangs = lambda request: False
    model.release.set()
    model.requests.clear()
    with daemon(sleeper) as running:
        running.logged("started")
        sleeper.sleep("night", "now")
        running.logged("night-ended", end="done")
        assert running.end() == 0
    assert not answered & {request.key for request in model.requests}, "nothing is paid for twice"
    assert database.execute("select count(*) from nights").fetchone()[0] == 1


def test_a_night_ends_when_its_daemon_is_killed_and_the_next_daemon_notes_it(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    model.hangs = lambda request: request.has_skill
    with daemon(sleeper) as running:
        assert model.hanging.wait(LONG_S)
        below = running.below()
        assert below
        running.end(signal.SIGKILL)
        until(lambda: gone(below))
    assert find_holder(locate()) is None
    model.hangs = lambda request: False
    model.release.set()
    with daemon(sleeper) as running:
        running.logged("started")
        schedule = until(
            lambda: (s := read_schedule(database, Schedule)) and s.working is None and s.attempts == 1 and s
        )
        assert "cut off" in next(iter(schedule.remarks.values())).reason
        sleeper.sleep("night", "now")
        running.logged("night-ended", end="done")
        assert running.end() == 0


def test_a_night_that_is_killed_is_a_failure_that_is_tried_again_later(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    model.hangs = lambda request: request.has_skill
    with daemon(sleeper) as running:
        assert model.hanging.wait(LONG_S)
        (night,) = psutil.Process(running.process.pid).children()
        night.kill()
        assert "killed by signal 9" in running.logged("night-ended", end="failed")
        schedule = until(lambda: (s := read_schedule(database, Schedule)) and s.retry_at and s)
        assert schedule.completed is None
        assert running.end() == 0


def test_a_night_that_cannot_work_says_why(sleeper: Sleeper, database, any_time, model: ChatModel):
    sleeper.work()
    make_due(database)
    sleeper.set(optimizer_model="local:/nowhere/there.gguf")
    with daemon(sleeper) as running:
        line = running.logged("night-ended", end="failed")
        assert "there.gguf" in line
        until(lambda: (s := read_schedule(database, Schedule)) and s.remarks)
        assert running.end() == 0


def test_what_is_in_a_nights_way_is_told_and_nothing_is_spent(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    sleeper.set(service_idle_minutes=100_000_000)
    with daemon(sleeper) as running:
        assert "an agent session went on" in running.logged("night-due")
        told = until(lambda: json.loads(sleeper.sleep("status", "--json"))["service"]["waiting"])
        assert "an agent session went on" in str(told)
        assert "due now, and waits" in sleeper.sleep("status")
        assert running.end() == 0
    assert model.requests == []


def test_a_night_gives_way_when_a_session_begins(sleeper: Sleeper, database, any_time, model: ChatModel):
    sleeper.work()
    make_due(database)
    sleeper.set(service_idle_minutes=1)
    for path in sleeper.projects.rglob("*.jsonl"):
        os.utime(path, (1e9, 1e9))
    model.hangs = lambda request: request.has_skill
    with daemon(sleeper) as running:
        assert model.hanging.wait(LONG_S)
        sleeper.work(first=35, days=1)
        running.process.send_signal(signal.SIGHUP)
        assert "an agent session began" in running.logged("night-ends")
        running.logged("night-ended", end="disturbed")
        assert running.end() == 0
    assert database.execute("select state from nights").fetchall()[0]["state"] == "running"


# --- what the user says --------------------------------------------------------------------------


def test_the_user_asks_for_a_night_pauses_it_and_lets_it_go_on(sleeper: Sleeper, database, model: ChatModel):
    sleeper.work()
    model.hangs = lambda request: request.has_skill
    with daemon(sleeper) as running:
        running.logged("started")
        assert json.loads(sleeper.sleep("night", "now", "--json"))["taken"]
        assert "asked for" in running.logged("night-began")
        assert model.hanging.wait(LONG_S)
        sleeper.sleep("night", "pause", "--for", "8h")
        running.logged("night-ended", end="disturbed")
        assert "paused     until 20" in sleeper.sleep("status")
        sleeper.sleep("night", "resume")
        assert "paused" not in sleeper.sleep("status")
        model.hangs = lambda request: False
        model.release.set()
        sleeper.sleep("night", "now")
        running.logged("night-ended", end="done")
        sleeper.sleep("night", "skip")
        assert "is left out" in running.logged("order", name="skip")
        assert running.end() == 0


def test_without_a_daemon_an_order_is_kept_and_a_night_is_not_promised(sleeper: Sleeper, database):
    sleeper.sleep("night", "now", expect=3)
    assert "noted" in sleeper.sleep("night", "pause")
    with daemon(sleeper) as running:
        running.logged("order", name="pause")
        assert running.end() == 0
    assert "paused     until you resume it:\n" in sleeper.sleep("status")
    for wrong in ("8", "h", "0h", "-1h", "1y", "99999h"):
        sleeper.sleep("night", "pause", "--for", wrong, expect=2)


# --- once ----------------------------------------------------------------------------------------


def once(sleeper: Sleeper, said: str = "") -> int:
    process = sleeper.start("daemon", "--once")
    _, told = process.communicate(timeout=LONG_S)
    assert said in told
    assert bool(told) == bool(process.returncode), "it says why it did nothing"
    return process.returncode


def test_once_works_the_night_that_is_due_and_ends_with_its_code(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    assert once(sleeper, "no night is due, next night ") == 3, "it was never there before, so nothing is due"
    assert model.requests == []
    make_due(database)
    sleeper.set(service_min_disk_gb=10_000_000)
    assert once(sleeper, "a night is due and waits: ") == 75
    assert model.requests == []
    sleeper.set(service_min_disk_gb=0)
    assert once(sleeper) == 0
    assert json.loads(sleeper.sleep("status", "--json"))["last_night"]["state"] == "done"
    assert once(sleeper) == 3


# --- one instance --------------------------------------------------------------------------------


def test_no_service_is_installed_beside_a_daemon_that_runs(sleeper: Sleeper, private_home: Path, monkeypatch):
    with daemon(sleeper) as running:
        running.logged("started")
        fake = FakeManagers(private_home / "managers")
        monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}{os.environ['PATH']}")
        sleeper.sleep("install", expect=4)
        assert not (private_home / ".config" / "systemd").exists()
        assert running.end() == 0


def test_a_second_daemon_says_who_the_first_is(sleeper: Sleeper):
    with daemon(sleeper) as running:
        running.logged("started")
        second = sleeper.start("daemon")
        _, said = second.communicate(timeout=LONG_S)
        assert second.returncode == 75
        assert f"pid {running.process.pid}" in said
        assert running.process.poll() is None
        assert running.end() == 0


def test_a_state_folder_that_cannot_be_written_ends_the_daemon_with_what_to_do(
    sleeper: Sleeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(tmp_path / "file" / "state"))
    done = subprocess.run(
        [sys.executable, "-m", "skillopt_sleep", "daemon"],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "cannot make the folder" in done.stderr
    assert "SKILLOPT_SLEEP_HOME" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_pid_that_is_somebody_elses_now_is_no_daemon(sleeper: Sleeper):
    with daemon(sleeper) as running:
        running.logged("started")
        holder = find_holder(locate())
        assert holder is not None
        note = locate().daemon_lock.with_suffix(".json")
        running.end(signal.SIGKILL)
    assert note.exists(), "a killed daemon leaves its note"
    assert find_holder(locate()) is None
    me = psutil.Process()
    mine = msgspec.structs.replace(holder, pid=me.pid, started=me.create_time())
    assert is_alive(mine)
    assert not is_alive(msgspec.structs.replace(mine, started=me.create_time() - 60))
    assert not is_alive(msgspec.structs.replace(mine, boot="another run of the machine"))
    assert holder.boot == find_boot()
    for note_text in ("", "{", '{"pid": "x"}'):
        note.write_text(note_text)
        assert find_holder(locate()) is None
    with daemon(sleeper) as running:
        running.logged("started")
        assert running.end() == 0


# --- systemd, logs, privacy ----------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")
def test_systemd_is_told_that_it_is_ready_alive_what_it_does_and_that_it_stops(
    sleeper: Sleeper, tmp_path: Path, monkeypatch
):
    address = str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(address)
        channel.settimeout(LONG_S)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        with daemon(sleeper) as running:
            told = ""
            while not all(word in told for word in ("READY=1", "WATCHDOG=1", "STATUS=next night")):
                told += channel.recv(4096).decode() + "\n"
            assert told.startswith("READY=1\n")
            assert running.end() == 0
        while "STOPPING=1" not in told:
            told += channel.recv(4096).decode() + "\n"


def test_the_log_lies_in_a_file_where_no_journal_takes_it_and_can_be_followed(sleeper: Sleeper):
    process = sleeper.start("daemon")
    log = locate().log / "daemon.log"
    until(lambda: log.exists() and " started " in log.read_text())
    process.terminate()
    process.communicate(timeout=LONG_S)
    assert process.returncode == 0
    (last,) = sleeper.sleep("logs", "-n", "1").splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ info stopped why=SIGTERM", last)
    assert len(sleeper.sleep("logs").splitlines()) == len(log.read_text().splitlines())
    child = sleeper.start("logs", "--follow", "-n", "1")
    assert child.stdout
    assert "stopped" in child.stdout.readline()
    log.rename(log.with_suffix(".log.1"))
    log.write_text("rotated\n")
    assert child.stdout.readline() == "rotated\n"
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=LONG_S)
    assert child.returncode == 130


def test_the_journal_gets_lines_with_priorities(sleeper: Sleeper, tmp_path: Path):
    out = tmp_path / "journal"
    with out.open("w") as file:
        found = os.fstat(file.fileno())
        process = subprocess.Popen(
            [sys.executable, "-m", "skillopt_sleep", "daemon"],
            env={**os.environ, "JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"},
            stderr=file,
        )
        until(lambda: "<6>started" in out.read_text())
        process.terminate()
        assert process.wait(LONG_S) == 0
    assert all(line.startswith("<") for line in out.read_text().splitlines())
    assert not (locate().log / "daemon.log").exists()


def test_all_it_keeps_is_the_users_alone_and_nothing_listens(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    model.hangs = lambda request: request.has_skill
    with daemon(sleeper) as running:
        assert model.hanging.wait(LONG_S)
        for process in (psutil.Process(running.process.pid), *running.below()):
            assert [c for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN] == []
            assert [c.laddr for c in process.net_connections("unix") if c.laddr] == []
        model.hangs = lambda request: False
        model.release.set()
        running.logged("night-ended", end="done")
        assert running.end() == 0
    for path in (locate().data, *locate().data.rglob("*")):
        if path.is_symlink() or "vault" in path.parts or path == locate().config:
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, f"{path} has mode {mode:o}"


# --- telling -------------------------------------------------------------------------------------


def test_a_webhook_gets_the_figures_of_a_night_and_no_word_of_a_transcript(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    got: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        sleeper.work()
        make_due(database)
        sleeper.set(service_webhook=f"http://127.0.0.1:{server.server_address[1]}/hook")
        with daemon(sleeper) as running:
            until(lambda: got)
            assert running.end() == 0
    finally:
        server.shutdown()
        server.server_close()
    (told,) = got
    night = json.loads(sleeper.sleep("status", "--json"))["last_night"]
    assert (told["event"], told["night"], told["state"]) == ("night", night["id"], "done")
    assert (told["proposals"], told["accepted"]) == (1, 1)
    assert told["tokens"] == night["spend"]["tokens"]
    text = json.dumps(told)
    for words in (night["proposals"][0], "package", "uv add", str(sleeper.project), "skill"):
        assert words not in text


def test_a_webhook_that_nobody_answers_costs_a_line_of_the_log(
    sleeper: Sleeper, database, any_time, model: ChatModel
):
    sleeper.work()
    make_due(database)
    sleeper.set(service_webhook="http://127.0.0.1:9/hook")
    with daemon(sleeper) as running:
        running.logged("webhook")
        running.logged("night-ended", end="done")
        assert running.end() == 0


def test_the_desktop_is_told_in_the_morning_and_not_at_night(
    sleeper: Sleeper, database, any_time, model: ChatModel, tmp_path: Path, monkeypatch
):
    told = tmp_path / "told"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    sleeper.work()
    make_due(database)
    sleeper.set(service_notify="true")
    with daemon(sleeper) as running:
        running.logged("night-ended", end="done")
        assert not told.exists(), "it is night"
        # Now the window is another, and over.
        hour = (datetime.now().astimezone() + timedelta(hours=3)).hour
        set_value(locate().config, "service.window", f"{hour:02}:00-{hour:02}:30")
        running.process.send_signal(signal.SIGHUP)
        until(lambda: told.exists() and told.read_text().endswith("review\n"))
        assert running.end() == 0
    assert "1 proposal to review" in told.read_text()
