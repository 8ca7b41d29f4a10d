"""`harvest` as a process: watching while transcripts grow, giving way, ending, and what it prints."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from skillopt_sleep.lock import hold
from skillopt_sleep.paths import locate
from skillopt_sleep.store.counts import count_sessions
from skillopt_sleep.store.database import connect
from tests.app.conftest import Sleeper
from tests.support.command import run_command
from tests.support.transcripts import write_session


def write(sleeper: Sleeper, name: str, turns: int = 1) -> Path:
    said = [(f"Ask number {turn} of {name}", "done") for turn in range(turns)]
    return write_session(sleeper.projects / "-project", name, said, cwd=sleeper.project)


def wait_for_sessions(number: int) -> None:
    deadline = time.monotonic() + 30
    with closing(connect(locate().database)) as connection:
        while sum(count_sessions(connection).values()) < number:
            assert time.monotonic() < deadline
            time.sleep(0.05)


class Watch:
    """A running `harvest --watch --json`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def next(self, event: str = "harvest") -> dict[str, Any]:
        """Return the next event; one that only says that another run is at work may come before it."""
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read() if self.process.stderr else ""
            told: dict[str, Any] = json.loads(line)
            if told["event"] == event:
                return told
            assert told["event"] == "waiting", told

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors


@contextmanager
def watch(sleeper: Sleeper, *arguments: str) -> Iterator[Watch]:
    process = sleeper.start("harvest", "--watch", "--json", *arguments)
    try:
        yield Watch(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("how", [(), ("--poll", "1")])
def test_the_index_follows_transcripts_that_begin_and_grow(sleeper: Sleeper, how: tuple[str, ...]):
    first = write(sleeper, "first")
    with watch(sleeper, *how) as watching:
        told = watching.next()
        assert (told["files_read"], told["sessions"], told["known"]) == (1, 1, 1)
        second = write(sleeper, "second", turns=2)
        told = watching.next()
        assert (told["files_read"], told["turns"], told["known"]) == (1, 2, 2)
        longer = write(sleeper, "second", turns=3).read_text()
        told = watching.next()
        assert (told["files_read"], told["turns"], told["known"]) == (1, 3, 2)
        shutil.rmtree(sleeper.projects)
        second.parent.mkdir(parents=True)
        second.write_text(
            longer + longer.replace("Ask number", "Once more").replace('"uuid": "', '"uuid": "f')
        )
        assert watching.next()["known"] == 2
        assert not first.exists()
        assert watching.end(signal.SIGTERM) == (0, "")
    assert [len(s["prompts"]) for s in json.loads(sleeper.sleep("sessions", "--json"))] == [1, 6]


def test_a_client_that_is_used_for_the_first_time_while_one_watches_is_noticed(sleeper: Sleeper):
    with watch(sleeper) as watching:
        assert watching.next()["files_seen"] == 0
        write(sleeper, "first")
        assert watching.next()["known"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_stop_is_how_a_watch_ends_well(sleeper: Sleeper, number: signal.Signals):
    with watch(sleeper) as watching:
        watching.next()
        assert watching.end(number) == (0, "")
    with hold(locate(), "test"):
        pass


def test_the_lock_is_held_only_while_reading_and_a_busy_one_is_waited_for(sleeper: Sleeper):
    with watch(sleeper) as watching:
        watching.next()
        with hold(locate(), "a night"):
            write(sleeper, "first")
            told = watching.next("waiting")
            assert f"a night (pid {os.getpid()}" in told["reason"]
        told = watching.next()
        assert (told["files_read"], told["known"]) == (1, 1)
        assert json.loads(sleeper.sleep("harvest", "--json"))["files_read"] == 0


def test_two_watches_share_the_work(sleeper: Sleeper):
    with watch(sleeper) as one, watch(sleeper) as other:
        for watching in (one, other):
            assert watching.process.stdout is not None
            assert json.loads(watching.process.stdout.readline())["event"] in {"harvest", "waiting"}
        write(sleeper, "first")
        wait_for_sessions(1)
        assert (one.end(signal.SIGINT)[0], other.end(signal.SIGINT)[0]) == (0, 0)
    assert len(json.loads(sleeper.sleep("sessions", "--json"))) == 1


def test_a_second_harvest_is_told_who_works_and_to_try_again_later(sleeper: Sleeper):
    write(sleeper, "first")
    with hold(locate(), "harvest"):
        second = sleeper.start("harvest")
        out, errors = second.communicate(timeout=30)
    assert (second.returncode, out) == (75, "")
    assert re.search(rf"another one is at work: harvest \(pid {os.getpid()}, since 20\d\d-", errors)
    assert json.loads(sleeper.sleep("harvest", "--json"))["sessions"] == 1


def test_settings_that_break_while_one_watches_are_told_and_made_up_for(sleeper: Sleeper):
    config = locate().config
    kept = config.read_text()
    with watch(sleeper) as watching:
        watching.next()
        config.write_text("[gate")
        write(sleeper, "first")
        assert "is not TOML" in watching.next("waiting")["reason"]
        config.write_text(kept)
        assert watching.next()["known"] == 1
    config.write_text("[gate")
    process = sleeper.start("harvest", "--watch")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "is not TOML" in errors


def test_without_a_terminal_there_is_a_plain_line_for_every_harvest(sleeper: Sleeper):
    write(sleeper, "first")
    (sleeper.projects / "-project" / "loop.jsonl").symlink_to("loop.jsonl")
    process = sleeper.start("harvest", "--watch")
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert re.fullmatch(
            r"20\d\d-\d\d-\d\d \d\d:\d\d [+-]\d{4}: 1 session new or changed \(1 prompt in all\),"
            r" 1 known, 1 warning\n",
            line,
        )
        write(sleeper, "second", turns=2)
        assert "1 session new or changed (2 prompts in all), 2 known" in process.stdout.readline()
    finally:
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert re.fullmatch(r"warning: cannot read .*loop\.jsonl: Too many levels of symbolic links\n", errors)
    assert "\x1b" not in line + rest


def test_on_a_terminal_one_line_is_written_over_and_over(sleeper: Sleeper):
    write(sleeper, "first")
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "skillopt_sleep", "harvest", "--watch"],
        stdin=subprocess.DEVNULL,
        stdout=child,
        stderr=child,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "60"},
        start_new_session=True,
    )
    os.close(child)
    try:
        shown = b""
        while b"1 known" not in shown and b"(1 prompt" not in shown:
            shown += os.read(parent, 65536)
        write(sleeper, "second", turns=2)
        while b"(2 prompts" not in shown:
            shown += os.read(parent, 65536)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
    shown += os.read(parent, 65536)
    os.close(parent)
    text = shown.decode()
    assert text.count("\n") == 1
    assert text.endswith("\r\n")
    lines = text.strip("\r\n").split("\r\x1b[2K")
    assert all(len(line) < 60 for line in lines[:-1])


def test_quiet_says_nothing_and_json_is_not_silenced(sleeper: Sleeper):
    write(sleeper, "first")
    done = run_command("harvest", "--quiet")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    (sleeper.projects / "-project" / "loop.jsonl").symlink_to("loop.jsonl")
    done = run_command("harvest", "--quiet")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert done.stderr.startswith("warning: cannot read ")
    (sleeper.projects / "-project" / "loop.jsonl").unlink()
    done = run_command("harvest", "--quiet", "--json")
    assert (json.loads(done.stdout)["files_seen"], done.stderr) == (1, "")
    process = sleeper.start("harvest", "--quiet", "--watch")
    write(sleeper, "second")
    wait_for_sessions(2)
    process.send_signal(signal.SIGTERM)
    assert (*process.communicate(timeout=30), process.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--poll", "5"], "--poll goes with --watch"),
        (["--client", "clade"], "there is no client 'clade'"),
        (["--watch", "--client", "nobody"], "there is no client 'nobody'"),
    ],
)
def test_what_cannot_be_meant_is_refused(sleeper: Sleeper, arguments: list[str], said: str):
    done = run_command("harvest", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_further_roots_and_the_choice_of_clients_are_heeded(sleeper: Sleeper, tmp_path: Path):
    write(sleeper, "first")
    other = tmp_path / "mnt" / "a, b" / "projects"
    write_session(other / "-p", "elsewhere", [("Ask", "done")], cwd="/p")
    sleeper.set(harvest_roots=json.dumps([f"claude:{other}", "claude:~/missing"]))
    assert json.loads(sleeper.sleep("harvest", "--json", "--client", "claude"))["sessions"] == 2
    with watch(sleeper) as watching:
        assert watching.next()["files_seen"] == 2
        write_session(other / "-p", "later", [("Ask", "done")], cwd="/p")
        assert watching.next()["known"] == 3


def test_a_watch_that_finds_nothing_new_prints_nothing(sleeper: Sleeper):
    write(sleeper, "first")
    sleeper.sleep("harvest")
    process = sleeper.start("harvest", "--watch", "--poll", "1")
    assert process.stdout is not None
    try:
        time.sleep(3)
        write(sleeper, "second", turns=2)
        line = process.stdout.readline()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert "1 session new or changed (2 prompts in all), 2 known" in line


def test_without_any_transcripts_one_is_told_where_to_look(sleeper: Sleeper):
    told = sleeper.sleep("harvest").splitlines()
    assert told[1].startswith("no transcripts were found; where they are looked for")
    assert told[-1].endswith("skillopt-sleep doctor")
    write(sleeper, "first")
    assert "were found" not in sleeper.sleep("harvest")
