"""A harvest that is stopped at any moment, by a signal or a full disk, goes on to the same index."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.indexes import Index
from tests.support.transcripts import work_for_days, write_session

RECORDED = Path(__file__).parents[1] / "data" / "transcripts" / "claude"

# Harvests into a database, in small batches and with little memory, and tells after each file.
PROGRAM = """
import os, sys
from pathlib import Path
from skillopt_harvesters import claims as harvesters_claims
from skillopt_sleep.night.harvesting import update_index
from skillopt_sleep.store import batches, claims
from skillopt_sleep.store.database import connect, explained
path, files = Path(sys.argv[1]), int(sys.argv[2])
batches._FILES, batches._BYTES, claims._MANY, harvesters_claims._MANY = files, 20_000, 40, 7
with explained(path):
    connection = connect(path)
    update_index(connection, os.environ, listen=lambda event: print(event.done, flush=True))
    connection.close()
"""


@pytest.fixture
def corpus(private_home: Path) -> Path:
    """Many small sessions, the recorded ones with their forks, and one session that takes many batches."""
    projects = private_home / ".claude" / "projects"
    work_for_days(projects, Path("/p"), days=40, corrected=(1, 5))
    recorded = sorted(RECORDED.rglob("2.1.332*/**/projects/**/*.jsonl"))
    for number, path in enumerate(recorded):
        (projects / "-r").mkdir(exist_ok=True)
        shutil.copy(path, projects / "-r")
        # Forks before what they were forked from, too.
        os.utime(projects / "-r" / path.name, (number * 7 % 5, number * 7 % 5))
    write_session(projects / "-big", "big", [(f"ask {n}", f"answer {n}" * 50) for n in range(300)], cwd="/p")
    return projects


@pytest.fixture
def undisturbed(tmp_path: Path, private_home: Path, corpus: Path) -> dict[str, object]:
    index = Index(tmp_path / "undisturbed.db", private_home)
    index.harvest()
    content = index.dump()
    index.connection.close()
    return content


def start(database: Path, *, files: int, limit: int | None = None) -> subprocess.Popen[str]:
    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(database), str(files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restrict,  # noqa: PLW1509 - it only sets a limit
    )


def content_of(database: Path, home: Path) -> dict[str, object]:
    index = Index(database, home)
    content = index.dump()
    [check] = index.connection.execute("pragma integrity_check").fetchone()
    index.connection.close()
    assert check == "ok"
    return content


def test_a_harvest_killed_again_and_again_ends_with_the_index_of_an_undisturbed_one(
    tmp_path: Path, private_home: Path, undisturbed: dict[str, object]
):
    chance = random.Random(7)
    kills = 0
    for attempt in range(4):
        database = tmp_path / f"killed{attempt}.db"
        while True:
            child = start(database, files=chance.choice([1, 3, 10]))
            assert child.stdout
            # After some files, and a moment more: also within a transaction.
            for _ in range(chance.randint(0, 25)):
                child.stdout.readline()
            try:
                child.wait(chance.uniform(0, 0.02))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
            child.communicate(timeout=60)
            if child.returncode == 0:
                break
            assert child.returncode == -signal.SIGKILL
            kills += 1
        assert content_of(database, private_home) == undisturbed
    assert kills


def test_a_harvest_killed_while_the_database_is_made_leaves_nothing_in_the_way(
    tmp_path: Path, private_home: Path, undisturbed: dict[str, object]
):
    chance = random.Random(3)
    database = tmp_path / "killed.db"
    for _ in range(12):
        child = start(database, files=10)
        try:
            child.wait(chance.uniform(0.1, 0.5))
        except subprocess.TimeoutExpired:
            child.kill()
        child.communicate(timeout=60)
    child = start(database, files=10)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert content_of(database, private_home) == undisturbed


def test_a_disk_that_is_full_costs_the_harvest_and_the_next_one_has_it_all(
    tmp_path: Path, private_home: Path, undisturbed: dict[str, object]
):
    database = tmp_path / "full.db"
    Index(database, private_home).connection.close()
    room = database.stat().st_size
    failed = 0
    for limit in range(room, room + 700_000, 60_000):
        child = start(database, files=5, limit=limit)
        _, err = child.communicate(timeout=60)
        if child.returncode:
            failed += 1
            assert "AppError: cannot use the database" in err
            assert "Traceback" in err, "this program has no command line around it"
    assert failed >= 3
    child = start(database, files=5)
    assert child.communicate(timeout=60)[1] == ""
    assert content_of(database, private_home) == undisturbed


def test_the_command_says_so_when_the_disk_is_full(private_home: Path, corpus: Path):
    def restrict() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    command = [sys.executable, "-m", "skillopt_sleep", "harvest", "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=restrict,
    )
    assert done.returncode == 1
    assert "cannot use the database" in done.stderr
    assert "free some disk space" in done.stderr
    assert "Traceback" not in done.stderr
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["sessions"] > 60


def test_two_harvests_at_once_are_one_that_works_and_one_that_says_so(private_home: Path, corpus: Path):
    command = [sys.executable, "-m", "skillopt_sleep", "harvest", "--json"]
    ended = []
    for _ in range(3):
        children = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        told = [child.communicate(timeout=60)[1] for child in children]
        ended += [child.returncode for child in children]
        for child, errors in zip(children, told, strict=True):
            assert child.returncode == 0 or "another one is at work: harvest (pid" in errors
    assert set(ended) <= {0, 75}
    assert ended.count(0) >= 3
