"""What was mined outlives the client's deletion and a lost database."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import stat
from pathlib import Path

import pytest

from skillopt_sleep.night.harvesting import update_index
from skillopt_sleep.night.mining import keep_mined
from skillopt_sleep.paths import locate
from skillopt_sleep.store.index import is_gone
from skillopt_sleep.store.snapshots import restore_snapshots, save_snapshots
from tests.app.conftest import Sleeper
from tests.support.indexes import Index
from tests.support.transcripts import work_for_days, write_session

RECORDED = Path(__file__).parents[1] / "data" / "transcripts" / "claude"


@pytest.fixture
def snapshots(tmp_path: Path) -> Path:
    return tmp_path / "snapshots"


@pytest.fixture
def index(tmp_path: Path, private_home: Path):
    made = Index(tmp_path / "state.db", private_home)
    yield made
    made.connection.close()


@pytest.fixture
def lost(tmp_path: Path, private_home: Path):
    """The database of somebody who lost the first one."""
    made = Index(tmp_path / "new.db", private_home)
    yield made
    made.connection.close()


def harvest(index: Index, snapshots: Path):
    return update_index(index.connection, {"HOME": str(index.home)}, snapshots=snapshots)


def test_sessions_of_deleted_transcripts_come_back_when_the_database_is_lost(
    index: Index, lost: Index, private_home: Path, snapshots: Path
):
    projects = private_home / ".claude/projects"
    work_for_days(projects, Path("/p"), days=6, corrected=(2,))
    index.harvest()
    mined = list(index.sessions)[:4]
    assert save_snapshots(index.connection, snapshots, mined) == 4
    shutil.rmtree(projects)
    assert harvest(lost, snapshots).warnings == ()
    assert lost.sessions == {name: index.sessions[name] for name in mined}
    assert all(is_gone(session) for session in lost.sessions.values())
    assert harvest(lost, snapshots).sessions == 0


def test_a_session_that_is_still_there_is_read_and_goes_on(
    index: Index, lost: Index, private_home: Path, snapshots: Path
):
    folder = private_home / ".claude/projects/-p"
    path = write_session(folder, "one", [("a", "A")], cwd="/p")
    index.harvest()
    save_snapshots(index.connection, snapshots, index.sessions)
    write_session(folder, "one", [("a", "A"), ("b", "B")], cwd="/p")
    report = harvest(lost, snapshots)
    assert (report.sessions, [s.prompts for s in lost.sessions.values()]) == (1, [("a", "b")])
    path.write_text("")
    harvest(lost, snapshots)
    assert [s.prompts for s in lost.sessions.values()] == [("a", "b")]


def test_copies_of_a_restored_session_count_once(
    index: Index, lost: Index, private_home: Path, snapshots: Path
):
    folder = private_home / ".claude/projects/-p"
    folder.mkdir(parents=True)
    original, fork = (next(RECORDED.rglob(f"{name}*.jsonl")) for name in ("9561625f", "a2224f29"))
    shutil.copy(original, folder)
    index.harvest()
    save_snapshots(index.connection, snapshots, index.sessions)
    (folder / original.name).unlink()
    shutil.copy(fork, folder)
    harvest(lost, snapshots)
    harvest(index, snapshots)
    assert lost.sessions == index.sessions
    assert lost.sessions[fork.stem].prompts == ("thanks, that works. Please look at two things now",)


def test_a_snapshot_is_private_redacted_and_replaced_when_its_session_changed(
    index: Index, private_home: Path, snapshots: Path
):
    folder = private_home / ".claude/projects/-p"
    secret = "ghp_" + "a1B2" * 9
    write_session(folder, "one", [(f"use {secret}", "A")], cwd="/p")
    index.harvest()
    [name] = index.sessions
    assert save_snapshots(index.connection, snapshots, [name, "unknown"]) == 1
    assert save_snapshots(index.connection, snapshots, [name]) == 0, "it did not change"
    [first] = snapshots.iterdir()
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert stat.S_IMODE(snapshots.stat().st_mode) == 0o700
    content = gzip.decompress(first.read_bytes()).decode()
    assert secret not in content
    assert json.loads(content)["session"]["turns"][0]["prompt"] == "use [redacted:github-token]"
    write_session(folder, "one", [(f"use {secret}", "A"), ("b", "B")], cwd="/p")
    index.harvest()
    assert save_snapshots(index.connection, snapshots, [name]) == 1
    [second] = snapshots.iterdir()
    assert second != first


def test_damaged_and_half_written_snapshots_cost_themselves(
    index: Index, lost: Index, private_home: Path, snapshots: Path
):
    work_for_days(private_home / ".claude/projects", Path("/p"), days=5, corrected=())
    index.harvest()
    save_snapshots(index.connection, snapshots, index.sessions)
    files = sorted(snapshots.iterdir())
    files[0].write_bytes(b"")
    files[1].write_bytes(files[1].read_bytes()[:-20])
    files[2].write_bytes(gzip.compress(b'{"session": 1}'))
    (snapshots / ".new-abc.tmp").write_bytes(b"half")
    (snapshots / "README").write_text("not ours")
    (snapshots / "x.json.gz").mkdir()
    told: list[str] = []
    assert restore_snapshots(lost.connection, snapshots, warn=told.append) == 2
    assert len(told) == 4
    assert all(text.startswith(f"cannot read the snapshot {snapshots}") for text in told)
    assert not (snapshots / ".new-abc.tmp").exists()
    assert (snapshots / "README").exists()


def test_the_oldest_snapshots_make_room(index: Index, private_home: Path, snapshots: Path):
    work_for_days(private_home / ".claude/projects", Path("/p"), days=8, corrected=())
    index.harvest()
    names = sorted(index.sessions)
    save_snapshots(index.connection, snapshots, names[:6])
    size = max(path.stat().st_size for path in snapshots.iterdir())
    for number, path in enumerate(sorted(snapshots.iterdir())):
        os.utime(path, (number, number))
    save_snapshots(index.connection, snapshots, names, limit=4 * size)
    kept = list(snapshots.iterdir())
    assert 3 <= len(kept) <= 4
    assert sum(path.stat().st_mtime > 1000 for path in kept) == 2, "the new ones stay"


def test_a_disk_without_room_costs_the_snapshots_and_not_the_night(
    index: Index, private_home: Path, tmp_path: Path
):
    from skillopt_sleep.night.mining import mine_tasks
    from skillopt_sleep.settings import Settings

    work_for_days(private_home / ".claude/projects", Path("/p"), days=4, corrected=())
    index.harvest()
    tasks = mine_tasks(index.connection, Settings(), {"HOME": str(private_home)})
    assert tasks
    told: list[str] = []

    def keep(folder: Path) -> None:
        keep_mined(index.connection, folder, tasks, listen=lambda event: told.append(event.detail))

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        keep(tmp_path / "full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "full").iterdir()) == []
    (tmp_path / "file").write_text("")
    keep(tmp_path / "file")
    assert told == [
        "no snapshots could be kept: File too large",
        f"no snapshots could be kept: cannot make the folder {tmp_path / 'file'}: File exists",
    ]


def test_a_night_keeps_what_it_mined(sleeper: Sleeper):
    sleeper.work()
    sleeper.night()
    kept = list(locate().snapshots.glob("*.json.gz"))
    assert len(kept) == 20
    for path in sleeper.projects.rglob("*.jsonl"):
        path.unlink()
    locate().database.unlink()
    for name in ("-wal", "-shm"):
        locate().database.with_name(f"state.db{name}").unlink(missing_ok=True)
    sleeper.sleep("harvest")
    assert len(json.loads(sleeper.sleep("sessions", "--json"))) == 20
    assert json.loads(sleeper.sleep("tasks", "--json"))
