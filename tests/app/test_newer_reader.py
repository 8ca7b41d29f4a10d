"""When sessions are read otherwise than before, they are read again where that is still possible."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_harvesters.records import Session
from skillopt_sleep.store import database, migrations
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.index import READER
from tests.harvesters.conftest import Transcript
from tests.support.indexes import Index


@pytest.fixture
def folder(private_home):
    return private_home / ".claude" / "projects" / "-home-user-project"


def make(folder, *prompts) -> Transcript:
    t = Transcript(folder)
    for prompt in prompts:
        t.user(prompt)
        t.call(command="ls")
        t.agent("done")
    t.write()
    return t


def miscount(index: Index) -> None:
    """Make all that is stored what an older reader might have stored: too many turns."""
    for row in index.connection.execute("select * from sessions").fetchall():
        session = msgspec.msgpack.decode(row["body"], type=Session)
        wrong = msgspec.structs.replace(session, turns=session.turns * 2)
        index.connection.execute(
            "update sessions set body = ?, reader = ? where id = ?",
            (msgspec.msgpack.encode(wrong), READER - 1, row["id"]),
        )
    index.connection.execute("update files set reader = ?", (READER - 1,))


def test_files_that_are_there_are_read_again_and_the_others_are_kept(tmp_path, private_home, folder):
    there, gone = make(folder, "one"), make(folder, "two")
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    gone.path.unlink()
    miscount(index)
    assert index.harvest().files_read == 1
    sessions = index.sessions
    assert sessions[there.id].prompts == ("one",)
    assert sessions[gone.id].prompts == ("two", "two")
    assert index.harvest().files_read == 0


def test_what_was_owned_stays_owned_when_forks_are_read_again(tmp_path, private_home, folder):
    original = make(folder, "one")
    fork = Transcript(folder)
    fork.records = [{**record, "sessionId": fork.id} for record in original.records]
    fork.user("two")
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    original.path.unlink()
    fork.write()
    index.harvest()
    before = index.sessions
    miscount(index)
    index.harvest()
    assert index.sessions[fork.id] == before[fork.id]
    assert before[fork.id].prompts == ("two",)


def test_a_database_of_an_older_version_is_read_again(tmp_path, private_home, folder, monkeypatch):
    older = migrations.MIGRATIONS[:10]
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", older)
        connection = connect(tmp_path / "state.db")
    t = make(folder, "one")
    status = t.path.stat()
    connection.execute(
        "insert into files (path, marks, offset, prefix_hash, session, state) values (?, ?, ?, 'x', ?, x'')",
        (
            str(t.path),
            f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}",
            status.st_size,
            t.id,
        ),
    )
    connection.close()
    index = Index(tmp_path / "state.db", private_home)
    assert index.harvest().files_read == 1
    assert index.sessions[t.id].prompts == ("one",)
    assert index.harvest().files_read == 0


def test_a_session_that_was_moved_and_read_by_an_older_reader_is_no_second_one(
    tmp_path, private_home, folder
):
    t = make(folder, "one")
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    t.path.rename(t.path.with_name("renamed.jsonl"))
    miscount(index)
    index.harvest()
    assert sum(len(session.turns) for session in index.sessions.values()) == 2
