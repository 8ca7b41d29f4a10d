"""The database is private, migrated in steps, and never opened by an older program."""

from __future__ import annotations

import getpass
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from skillopt_sleep.errors import AppError
from skillopt_sleep.records import EditEvidence
from skillopt_sleep.store import database
from skillopt_sleep.store.candidates import (
    forget_rejected_edits,
    is_settled,
    make_rejected,
    read_carried,
    read_rejected_edits,
    save_rejected_edits,
    save_settled,
)
from skillopt_sleep.store.database import connect, transaction
from skillopt_sleep.store.migrations import MIGRATIONS
from skillopt_sleep.store.nights import begin_night, close_night, find_unfinished, last_night
from skillopt_sleep.store.splits import read_splits
from skillopt_sleep.training.records import RejectedEdit


def test_the_folder_and_the_file_are_for_the_user_alone(tmp_path: Path):
    path = tmp_path / "data" / "state.db"
    connect(path).close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_database_of_a_newer_program_is_left_alone(tmp_path: Path):
    path = tmp_path / "state.db"
    connect(path).close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(AppError, match="newer version"):
        connect(path)
    assert path.read_bytes() == before


def test_an_older_database_is_backed_up_before_it_is_migrated(tmp_path: Path, monkeypatch):
    path = tmp_path / "state.db"
    old = connect(path)
    old.execute("insert into splits values ('g', 'train')")
    old.close()
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, ("create table later (x) ",)))
    connect(path).close()
    backup = sqlite3.connect(tmp_path / f"state.schema{len(MIGRATIONS)}.bak")
    assert backup.execute("select * from splits").fetchall() == [("g", "train")]
    backup.close()


def test_a_failed_migration_leaves_the_schema_as_it_was(tmp_path: Path, monkeypatch):
    path = tmp_path / "state.db"
    connect(path).close()
    broken = (*MIGRATIONS, ("create table half (x)", "this is no statement"))
    monkeypatch.setattr(database, "MIGRATIONS", broken)
    with pytest.raises(AppError, match=r"state\.db"):
        connect(path)
    connection = sqlite3.connect(path)
    assert connection.execute("pragma user_version").fetchone() == (len(MIGRATIONS),)
    assert not connection.execute("select 1 from sqlite_master where name = 'half'").fetchall()
    connection.close()


def test_something_that_is_no_database_is_an_error_with_a_way_out(tmp_path: Path):
    path = tmp_path / "state.db"
    path.write_text("no database at all, but long enough to be read as a header " * 20)
    with pytest.raises(AppError) as caught:
        connect(path)
    assert f"{path} is not a database" in caught.value.message
    assert "move it away" in caught.value.hint
    assert "disk space" not in caught.value.hint
    assert "what was proposed, decided and spent is forgotten" in caught.value.hint


@pytest.mark.parametrize("barred", ["", "state.db", "state.db-wal"])
def test_what_may_not_be_written_is_named_with_who_may_not(tmp_path: Path, barred: str, monkeypatch):
    path = tmp_path / "state.db"
    connect(path).close()
    (tmp_path / "state.db-wal").touch()
    # The superuser, as whom tests may run, may write whatever its mode says.
    monkeypatch.setattr(os, "access", lambda one, mode: Path(one) != tmp_path / barred)
    with (
        pytest.raises(AppError) as caught,
        database.explained(path),
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection,
    ):
        connection.execute("delete from splits")
    assert f"cannot write {tmp_path / barred} as {getpass.getuser()}" in caught.value.message
    assert "readonly" in caught.value.message
    assert "SKILLOPT_SLEEP_HOME" in caught.value.hint
    assert "move it away" not in caught.value.hint


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path):
    connection = connect(tmp_path / "state.db")

    def fail_half_way() -> None:
        with transaction(connection):
            connection.execute("insert into splits values ('g', 'train')")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert connection.execute("select count(*) from splits").fetchone()[0] == 0
    connection.close()


def test_a_transaction_that_cannot_be_committed_is_none_that_others_join(tmp_path: Path):
    def forbid(action: int, what: str | None, *_: object) -> int:
        is_commit = action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT"
        return sqlite3.SQLITE_DENY if is_commit else sqlite3.SQLITE_OK

    with closing(database.connect(tmp_path / "state.db")) as connection:
        connection.set_authorizer(forbid)
        with pytest.raises(sqlite3.DatabaseError), database.transaction(connection):
            connection.execute("insert into nights (id, state, started, plan) values ('a', 'done', '', '')")
        connection.set_authorizer(None)
        assert not connection.in_transaction
        assert connection.execute("select count(*) from nights").fetchone()[0] == 0


def test_a_night_that_was_not_closed_is_found_again_with_its_plan(tmp_path: Path):
    connection = connect(tmp_path / "state.db")
    first = begin_night(connection, {"plan": 1}, {"a": "gate", "b": "train"})
    again = find_unfinished(connection)
    assert again is not None
    assert (again.id, again.plan) == (first.id, first.plan)
    close_night(connection, first.id, "done", {"state": "done"})
    assert find_unfinished(connection) is None
    second = begin_night(connection, {"plan": 2}, {"a": "train", "b": "gate"})
    assert second.id == f"{first.id}-2"
    assert read_splits(connection) == {"a": "train", "b": "train"}, "what was learned from never judges"
    last = last_night(connection)
    assert last is not None
    assert last.id == second.id
    connection.close()


def test_a_skill_that_passes_everything_is_settled_until_it_or_its_tasks_change(tmp_path: Path):
    connection = connect(tmp_path / "state.db")
    save_settled(connection, "/live", "digest", ["a", "b"])
    assert is_settled(connection, "/live", "digest", ["b"])
    assert not is_settled(connection, "/live", "digest", ["a", "c"]), "a new task"
    assert not is_settled(connection, "/live", "other", ["a"]), "the skill was changed"
    assert not is_settled(connection, "/elsewhere", "digest", ["a"])
    save_settled(connection, "/live", "other", ["c"])
    assert not is_settled(connection, "/live", "digest", ["a"])
    assert read_carried(connection, "/live") is None
    connection.close()


def test_what_was_turned_down_comes_back_with_its_effect_and_can_be_taken_back(tmp_path: Path):
    edits = [
        EditEvidence(op="add", content="Use tabs."),
        EditEvidence(op="delete", content="", target="Old rule."),
    ]
    with closing(connect(tmp_path / "state.db")) as connection:
        measured = make_rejected(edits, "worse", effect=-0.25)
        for _ in range(2):
            save_rejected_edits(connection, "live", measured)
        save_rejected_edits(connection, "live", make_rejected(edits[:1], "no", by_user=True))
        assert read_rejected_edits(connection, "live") == [
            RejectedEdit("Use tabs.", "no", by_user=True),
            RejectedEdit("", "worse", effect=-0.25, shared=True, target="Old rule."),
            RejectedEdit("Use tabs.", "worse", effect=-0.25, shared=True),
        ]
        forget_rejected_edits(connection, "live", edits[1:])
        assert [e.content for e in read_rejected_edits(connection, "live")] == ["Use tabs.", "Use tabs."]
        assert read_rejected_edits(connection, "another") == []


def test_refusals_of_an_older_database_keep_who_they_came_from(tmp_path: Path, monkeypatch):
    path = tmp_path / "state.db"
    before = next(n for n, steps in enumerate(MIGRATIONS) if any("by_user" in step for step in steps))
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", MIGRATIONS[:before])
        with closing(connect(path)) as old:
            old.executemany(
                "insert into rejected_edits (skill, content, reason, effect, at)"
                " values ('live', ?, ?, ?, '')",
                [("Use tabs.", "worse", -0.5), ("Be kind.", "by the user: no", None)],
            )
    with closing(connect(path)) as connection:
        assert read_rejected_edits(connection, "live") == [
            RejectedEdit("Be kind.", "by the user: no", by_user=True),
            RejectedEdit("Use tabs.", "worse", effect=-0.5),
        ]


def test_a_second_connection_leaves_the_locks_of_the_first_one_alone(tmp_path: Path):
    path = tmp_path / "state.db"
    first = connect(path)
    connect(path).close()
    # Another program that takes itself for the last one would put the log away when it ends.
    code = (
        "import sys; from pathlib import Path; from skillopt_sleep.store.database import connect;"
        " connect(Path(sys.argv[1])).close()"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True)
    assert path.with_name("state.db-wal").exists()
    first.execute("insert into titles values ('a', 'b')")
    first.close()
    again = connect(path)
    assert again.execute("select count(*) from titles").fetchone()[0] == 1
    again.close()
