"""A file that was emptied and begun anew holds another session: both are kept, each once."""

from __future__ import annotations

import os

import pytest

from skillopt_sleep.store import index as stored
from skillopt_sleep.store.snapshots import save_snapshots
from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events
from tests.support.indexes import Index
from tests.support.pi_session import PiSession


@pytest.fixture
def index(tmp_path, private_home):
    return Index(tmp_path / "state.db", private_home)


@pytest.fixture
def begun(transcript, index):
    """A transcript that was harvested, and one with its name and other records."""
    before = transcript()
    for ask in ("one", "two", "three"):
        before.user(ask)
        before.agent(f"did {ask}")
    before.write()
    index.harvest()
    after = transcript(session=before.id)
    after.user("four")
    after.agent("did four")
    return before, after


def prompts(index):
    return sorted(session.prompts for session in index.sessions.values())


BOTH = [("four",), ("one", "two", "three")]


def empty(before, after):
    """The client goes on where it was: before it stand zeros."""
    size = before.path.stat().st_size
    after.write()
    data = after.path.read_bytes()
    with before.path.open("wb") as file:
        file.seek(size)
        file.write(data)


def replace(before, after):
    new = after.path.with_name("new")
    after.write().rename(new).replace(before.path)


@pytest.mark.parametrize("how", [empty, replace])
def test_both_sessions_are_kept_and_the_new_one_goes_on(begun, index, how):
    before, after = begun
    old = index.sessions[before.id]
    how(before, after)
    assert index.harvest().warnings == ()
    assert prompts(index) == BOTH
    assert index.sessions[before.id] == old
    after.user("five")
    after.agent("did five")
    after.write()
    assert index.harvest().warnings == ()
    assert prompts(index) == [("four", "five"), ("one", "two", "three")]
    assert index.harvest().files_read == 0
    tokens = [session.tokens.output for session in index.sessions.values()]
    assert sum(tokens) == 5 * 5


def test_a_session_that_holds_more_than_the_one_before_does_not_take_its_place(begun, index):
    before, after = begun
    for ask in ("five", "six", "seven"):
        after.user(ask)
    after.write()
    assert index.harvest().warnings == ()
    assert prompts(index) == [("four", "five", "six", "seven"), ("one", "two", "three")]


def test_a_file_that_is_emptied_again_and_again_keeps_all(begun, transcript, index):
    before, after = begun
    empty(before, after)
    index.harvest()
    third = transcript(session=before.id)
    third.user("five")
    third.agent("did five")
    third.write()
    index.harvest()
    assert prompts(index) == [("five",), *BOTH]
    assert len({session.started for session in index.sessions.values()}) == 3


def test_a_newer_reader_keeps_both(begun, index, monkeypatch):
    before, after = begun
    empty(before, after)
    index.harvest()
    for module in ("skillopt_sleep.store.index", "skillopt_sleep.store.cursors"):
        monkeypatch.setattr(f"{module}.READER", stored.READER + 1)
    assert index.harvest().files_read == 1
    assert prompts(index) == BOTH
    after.user("five")
    after.write()
    index.harvest()
    assert prompts(index) == [("four", "five"), ("one", "two", "three")]


def test_a_newer_reader_that_knows_records_otherwise_makes_no_session_anew(begun, index, monkeypatch):
    before, _ = begun
    index.connection.execute("update marks set marks = ?", (b"8 bytes!",))
    index.connection.execute("delete from heads")
    for module in ("skillopt_sleep.store.index", "skillopt_sleep.store.cursors"):
        monkeypatch.setattr(f"{module}.READER", stored.READER + 1)
    assert index.harvest().files_read == 1
    assert set(index.sessions) == {before.id}


def test_both_come_back_when_the_database_is_lost(begun, index, tmp_path, private_home):
    from skillopt_sleep.night.harvesting import update_index

    before, after = begun
    empty(before, after)
    index.harvest()
    save_snapshots(index.connection, tmp_path / "snapshots", index.sessions)
    other = Index(tmp_path / "other.db", private_home)
    for _ in range(2):
        update_index(other.connection, {"HOME": str(private_home)}, snapshots=tmp_path / "snapshots")
        assert prompts(other) == BOTH
        assert set(other.sessions) == set(index.sessions)


def test_what_was_cut_off_or_written_anew_is_no_other_session(begun, index):
    before, _ = begun
    lines = before.path.read_bytes().splitlines(keepends=True)
    before.path.write_bytes(b"".join(lines[:2]))
    index.harvest()
    before.path.write_bytes(b"".join(lines[2:]))
    index.harvest()
    before.path.write_bytes(b"")
    index.harvest()
    before.path.write_bytes(b"".join(lines))
    os.utime(before.path, (5, 5))
    index.harvest()
    [session] = index.sessions.values()
    assert session.prompts == ("one", "two", "three")


def test_nor_is_one_whose_records_got_other_ids(begun, index):
    before, _ = begun
    for record in before.records:
        record["uuid"] = record["uuid"][::-1].replace("-", "a")
    before.user("four")
    before.write()
    index.harvest()
    [session] = index.sessions.values()
    assert session.prompts == ("one", "two", "three", "four")


def test_nor_is_a_fork_that_is_read_once_more(begun, transcript, index):
    """Its first records are another session's, more of them than are looked at first."""
    before, _ = begun
    before.user("long", note="x" * 100_000)
    before.agent("did long")
    before.write()
    index.harvest()
    fork = transcript()
    fork.records = [{**record, "sessionId": fork.id} for record in before.records]
    fork.user("four")
    fork.agent("did four")
    fork.write()
    index.harvest()
    fork.records[0]["gitBranch"] = "other"
    fork.write()
    index.harvest()
    assert prompts(index) == [("four",), ("one", "two", "three", "long")]


def write_codex(home, ask):
    rollout = Rollout(home / ".codex" / "sessions", session="01a00000-0000-7000-8000-000000000000")
    rollout.ms += len(ask) * 60_000
    rollout.begin()
    rollout.prompt(ask)
    rollout.call("ls")
    rollout.answer(f"did {ask}")
    rollout.write()


def write_copilot(home, ask):
    events = Events(session="a", day=len(ask))
    events.user(ask)
    events.agent(f"did {ask}")
    events.write(home / ".copilot" / "session-state")


def write_pi(home, ask):
    session = PiSession()
    for _ in ask:
        session.entries.append(session.entries.pop())
    session.add("model_change", modelId="mock")
    session.user(ask)
    session.agent(f"did {ask}")
    for entry in session.entries:
        entry["timestamp"] = entry["timestamp"].replace("-01T", f"-0{len(ask)}T")
    session.write(home / ".pi" / "agent" / "sessions" / "--home-user-project--", "a.jsonl")


@pytest.mark.parametrize("write", [write_codex, write_copilot, write_pi])
def test_so_it_is_for_other_clients(private_home, index, write):
    write(private_home, "one")
    index.harvest()
    write(private_home, "four")
    assert index.harvest().warnings == ()
    assert prompts(index) == [("four",), ("one",)]
    assert index.harvest().files_read == 0
