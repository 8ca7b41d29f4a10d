"""A file that was given another name holds the session it held before."""

from __future__ import annotations

import os
import shutil
import uuid

import pytest

from skillopt_sleep.store.index import is_gone
from tests.support.indexes import Index


@pytest.fixture
def index(tmp_path, private_home):
    return Index(tmp_path / "state.db", private_home)


@pytest.fixture
def known(transcript, index):
    """A transcript that was harvested."""
    t = transcript()
    t.user("one")
    t.call(command="ls")
    t.agent("did one")
    t.write()
    index.harvest()
    return t


def rename(path):
    return path.rename(path.with_name(f"{uuid.uuid4()}.jsonl"))


def copy_and_remove(path):
    new = path.with_name(f"{uuid.uuid4()}.jsonl")
    shutil.copy(path, new)
    path.unlink()
    return new


@pytest.mark.parametrize("how", [rename, copy_and_remove])
def test_the_session_is_found_at_the_new_name_and_is_not_gone(known, index, how):
    new = how(known.path)
    index.harvest()
    [session] = index.sessions.values()
    assert (session.id, session.path, session.prompts) == (known.id, str(new), ("one",))
    assert not is_gone(session)
    assert index.harvest().files_read == 0


def test_what_is_written_under_the_new_name_goes_on_with_the_session(known, index):
    new = rename(known.path)
    known.user("two")
    known.agent("did two")
    known.path = new
    known.write()
    index.harvest()
    known.user("three")
    known.write()
    index.harvest()
    [session] = index.sessions.values()
    assert (session.id, session.prompts) == (known.id, ("one", "two", "three"))
    assert session.tokens.output == 3 * 5


def test_a_second_new_name_goes_on_with_the_session_as_well(known, index):
    rename(known.path)
    index.harvest()
    known.path = rename(next(known.path.parent.glob("*.jsonl")))
    known.user("two")
    known.write()
    index.harvest()
    [session] = index.sessions.values()
    assert (session.id, session.path, session.prompts) == (known.id, str(known.path), ("one", "two"))


def test_a_file_that_was_away_for_a_harvest_comes_back_under_another_name(known, index, tmp_path):
    away = known.path.rename(tmp_path / "away")
    index.harvest()
    new = away.rename(known.path.with_name(f"{uuid.uuid4()}.jsonl"))
    index.harvest()
    [session] = index.sessions.values()
    assert (session.id, session.path, session.prompts) == (known.id, str(new), ("one",))


def test_a_copy_beside_the_file_changes_nothing(known, index):
    shutil.copy(known.path, known.path.with_name(f"{uuid.uuid4()}.jsonl"))
    os.link(known.path, known.path.with_name(f"{uuid.uuid4()}.jsonl"))
    index.harvest()
    [session] = index.sessions.values()
    assert (session.path, session.prompts) == (str(known.path), ("one",))


def test_another_session_that_took_over_the_inode_is_its_own(transcript, known, index):
    other = transcript()
    other.user("something else")
    other.write()
    inode = known.path.stat().st_ino
    # As if the file system had given a new file the number of one that was deleted.
    known.path.unlink()
    index.connection.execute(
        "update files set marks = ? || substr(marks, instr(marks, ':'))", (other.path.stat().st_ino,)
    )
    index.harvest()
    assert inode
    assert {session.id: session.prompts for session in index.sessions.values()} == {
        known.id: ("one",),
        other.id: ("something else",),
    }
