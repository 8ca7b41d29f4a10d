"""A file that was given another name holds the session it held before."""

from __future__ import annotations

import errno
import os
import shutil
import uuid

import pytest

from skillopt_harvesters import files
from skillopt_sleep.store.index import is_gone
from tests.support.copilot_events import Transcript
from tests.support.indexes import Index
from tests.support.vscode_chats import Chat, push


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


@pytest.fixture
def storage(private_home):
    return private_home / ".config" / "Code" / "User" / "workspaceStorage" / "0f3c"


class Talk:
    """A session of VS Code's in one of its formats, of which more and more is written."""

    def __init__(self, kind, storage):
        self.kind, self.storage = kind, storage
        self.session = Transcript() if kind == "transcript" else Chat()
        self.prompts = ()

    def ask(self, text):
        self.prompts = (*self.prompts, text)
        if self.kind == "transcript":
            self.session.user(text)
            self.session.agent("done")
        else:
            self.session.ask(text, "done")

    def write(self):
        if self.kind != "log":
            return self.session.write(self.storage)
        chat = Chat(session=self.session.id)
        pushes = [push(["requests"], request) for request in self.session.requests]
        return chat.write_log(self.storage, pushes)


@pytest.mark.parametrize("kind", ["transcript", "log", "document"])
def test_a_session_of_vs_code_is_found_at_its_new_name_and_goes_on(storage, index, kind):
    talk = Talk(kind, storage)
    for ask in ("one", "two", "three"):
        talk.ask(ask)
    path = talk.write()
    index.harvest()
    for ask in ("", "four", "five"):
        if ask:
            talk.ask(ask)
        new = talk.write().rename(path.with_name("renamed" + path.suffix))
        index.harvest()
        [session] = index.sessions.values()
        assert (session.id, session.path) == (talk.session.id, str(new))
        assert session.prompts == talk.prompts
    assert index.harvest().files_read == 0


def test_a_renamed_file_that_is_written_anew_stays_the_session(known, index):
    known.path = rename(known.path)
    index.harvest()
    known.user("two")
    known.agent("did two")
    known.records[0]["gitBranch"] = "other"
    known.write()
    index.harvest()
    [session] = index.sessions.values()
    assert (session.id, session.prompts) == (known.id, ("one", "two"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_one_may_not_look_into_does_not_make_its_files_gone_as_a_user(known, index):
    check_unreadable(known, index)


def test_a_folder_one_may_not_look_into_does_not_make_its_files_gone(known, index, monkeypatch):
    """As the system answers to anybody but root."""

    def refuse(path, *args, **keys):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    folder = known.path.parent
    away = folder.rename(folder.with_name("away"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "lstat", refuse)
        assert index.harvest().files_seen == 1
        assert not is_gone(index.sessions[known.id])
    rows = index.connection.execute("select path, gone, length(state) from files").fetchall()
    assert {(row["path"], row["gone"]) for row in rows} >= {(str(known.path), 0)}
    away.rename(folder)
    assert not is_gone(index.sessions[known.id])


def check_unreadable(known, index):
    folder = known.path.parent
    folder.chmod(0)
    try:
        assert len(index.harvest().warnings) == 1
        assert not is_gone(index.sessions[known.id])
    finally:
        folder.chmod(0o700)
    assert index.harvest().files_read == 0
    [row] = index.connection.execute("select gone, length(state) size from files").fetchall()
    assert (row["gone"], row["size"] > 0) == (0, True)


def test_a_path_below_a_file_is_gone(tmp_path):
    (tmp_path / "file").touch()
    for name in ("nothing", "file/below", "a\0b"):
        assert files.is_gone(str(tmp_path / name))
    assert not files.is_gone(str(tmp_path / "file"))
    assert not files.is_gone(str(tmp_path / ("x" * 300)))


@pytest.mark.parametrize("whole_last", [True, False], ids=["the old copy first", "the whole one first"])
def test_an_older_copy_of_a_sub_agent_in_another_place_is_no_other_session(
    index, private_home, data, whole_last
):
    recorded = data / "claude/2.1.197/dot-claude/projects/-home-user-project"
    [whole] = recorded.glob("3a8fa797-*/subagents/agent-*.jsonl")
    lines = whole.read_bytes().splitlines(keepends=True)
    kept = {".claude": whole.read_bytes(), ".config/claude": b"".join(lines[:2])}
    for place in sorted(kept, reverse=whole_last):
        copy = private_home / place / "projects" / "-p" / whole.relative_to(recorded)
        copy.parent.mkdir(parents=True)
        copy.write_bytes(kept[place])
        index.harvest()
    [session] = index.sessions.values()
    assert session.id == whole.stem
    assert session.turns[0].answer
