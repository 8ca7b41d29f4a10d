"""The client's database is read beside the client, which notices nothing, and nothing on its disk changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, harvest, read_file
from skillopt_harvesters.sources.opencode import rows
from tests.support.opencode_store import RECORDED, SCHEMA, Store, build_database, tool

OPENCODE = SOURCES["opencode"]


@pytest.fixture
def folder(private_home) -> Path:
    made = private_home / ".local" / "share" / "opencode"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def store(folder):
    made = Store(folder / "opencode.db")
    yield made
    made.close()


@pytest.fixture
def run(private_home):
    """Harvest the private home, going on from the harvest before."""
    known, cursors, claims = {}, {}, MemoryClaims()

    def once(env=None):
        work = harvest(
            [OPENCODE],
            cursors,
            env=env or {},
            home=private_home,
            claims=claims,
            recall=lambda client, name: known.get((client, name)),
        )
        found = []
        for one in work:
            if one.session:
                found.append(one.session)
                known[one.session.client, one.session.id] = one.session
            if one.cursor:
                cursors[one.cursor.path] = one.cursor
        return found, work.stats

    return once


def talk(store: Store, *prompts: str, **keys) -> str:
    session = store.session(**keys)
    for prompt in prompts:
        store.agent(session, store.user(session, prompt), "done")
    return session


def prompts_of(path: Path) -> list[tuple[str, ...]]:
    return [reading.session.prompts for reading in read_file(OPENCODE, path) if reading.session]


def look_at(folder: Path) -> dict[str, tuple]:
    """Return everything about the files in a folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        status = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        found[path.name] = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_mode, digest)
    return found


def test_rows_that_only_the_log_has_are_read_while_the_client_holds_the_database(store, folder):
    talk(store, "one")
    assert (folder / "opencode.db-wal").stat().st_size > 0
    before = look_at(folder)
    assert prompts_of(store.path) == [("one",)]
    assert look_at(folder) == before


def test_the_client_writes_while_a_reading_goes_on(store):
    first, second = talk(store, "one"), talk(store, "two")
    with store.path.open("rb") as file:
        reading = OPENCODE.read(file, store.path, claims=MemoryClaims())
        assert next(reading).session.id == first
        store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        store.agent(second, store.user(second, "three"), "done")
        store.run("BEGIN IMMEDIATE")
        assert next(reading).session.prompts == ("two", "three")
        store.run("COMMIT")
        assert next(reading).session is None


def test_what_the_client_has_not_committed_is_not_there(store):
    session = talk(store, "one")
    store.run("BEGIN")
    store.user(session, "not yet")
    assert prompts_of(store.path) == [("one",)]
    store.run("COMMIT")
    assert prompts_of(store.path) == [("one", "not yet")]


def test_a_closed_database_is_read_without_making_a_file_beside_it(store, folder):
    talk(store, "one")
    store.close()
    assert [path.name for path in folder.iterdir()] == ["opencode.db"]
    before = look_at(folder)
    assert prompts_of(store.path) == [("one",)]
    assert look_at(folder) == before


def test_a_folder_that_may_only_be_read_is_enough(store, folder, tmp_path):
    talk(store, "one")
    crashed = tmp_path / "crashed"
    shutil.copytree(folder, crashed)
    store.close()
    for place in (folder, crashed):
        for path in [*place.iterdir(), place]:
            path.chmod(stat.S_IRUSR | (stat.S_IXUSR if path is place else 0))
        before = look_at(place)
        assert prompts_of(place / "opencode.db") == [("one",)]
        assert look_at(place) == before
        place.chmod(0o700)


def test_a_log_that_a_crash_left_behind_is_read_with_its_index(store, folder, tmp_path):
    talk(store, "one")
    crashed = tmp_path / "crashed"
    shutil.copytree(folder, crashed)
    before = look_at(crashed)
    assert set(before) == {"opencode.db", "opencode.db-wal", "opencode.db-shm"}
    assert prompts_of(crashed / "opencode.db") == [("one",)]
    assert look_at(crashed) == before


def test_a_log_without_its_index_is_told_and_the_rest_is_read(store, folder, tmp_path):
    session = talk(store, "one")
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    store.agent(session, store.user(session, "two"), "done")
    for name in ("opencode.db", "opencode.db-wal"):
        shutil.copy(folder / name, tmp_path / name)
    readings = read_file(OPENCODE, tmp_path / "opencode.db")
    assert [reading.session.prompts for reading in readings if reading.session] == [("one",)]
    [warning] = readings[-1].warnings
    assert "-shm" in warning
    assert not (tmp_path / "opencode.db-shm").exists()


def test_a_client_that_starts_while_its_database_is_read_without_locks_is_noticed(store, monkeypatch):
    session = talk(store, "one")
    store.close()
    feed = rows.feed
    started = []

    def feed_while_the_client_starts(*given):
        feed(*given)
        if not started:
            client = Store(store.path, schema="")
            client.clock, client.number = store.clock, store.number
            client.agent(session, client.user(session, "two"), "done")
            started.append(client)

    monkeypatch.setattr(rows, "feed", feed_while_the_client_starts)
    assert prompts_of(store.path) == [("one", "two")]
    started[0].close()


def test_a_database_in_another_journal_mode_is_read(folder):
    store = Store(folder / "opencode.db", wal=False)
    talk(store, "one")
    assert prompts_of(store.path) == [("one",)]
    store.close()


def test_a_locked_database_is_left_for_the_next_harvest(store, run, monkeypatch):
    talk(store, "one")

    def refuse(_connection):
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(rows, "read_layout", refuse)
        found, stats = run()
    assert (found, stats.skipped) == ([], 1)
    assert "locked" in stats.warnings[0]
    found, stats = run()
    assert [session.prompts for session in found] == [("one",)]


def test_growth_of_the_log_changes_the_marks(store, folder):
    session = talk(store, "one")
    main = (folder / "opencode.db").stat()
    before = OPENCODE.stat(store.path)
    store.user(session, "two")
    assert (folder / "opencode.db").stat().st_mtime_ns == main.st_mtime_ns
    assert OPENCODE.stat(store.path) != before
    with pytest.raises(FileNotFoundError):
        OPENCODE.stat(folder / "absent.db")


def test_only_sessions_that_changed_are_read_again(store, run, monkeypatch):
    sessions = [talk(store, f"session {number}") for number in range(6)]
    found, stats = run()
    assert len(found) == 6
    read = []
    head = rows.read_head
    monkeypatch.setattr(rows, "read_head", lambda *given: read.append(given[2]) or head(*given))
    assert run()[0] == []
    assert read == []
    store.agent(sessions[3], store.user(sessions[3], "more"), "done")
    found, stats = run()
    assert [session.prompts for session in found] == [("session 3", "more")]
    assert (read, stats.sessions) == ([sessions[3]], 1)


def change_a_title(store, session, _message):
    store.run("UPDATE session SET time_updated = ? WHERE id = ?", store.tick(), session)


def take_back(store, session, message):
    store.run("UPDATE session SET revert = ? WHERE id = ?", f'{{"messageID":"{message}"}}', session)


def remove_a_message(store, _session, message):
    store.run("DELETE FROM message WHERE id = ?", message)


def end_a_call(store, session, message):
    store.run("UPDATE part SET time_updated = ? WHERE message_id = ?", store.tick(), message)


def end_an_answer(store, _session, message):
    store.run("UPDATE message SET time_updated = ? WHERE id = ?", store.tick(), message)


def add_a_part(store, session, message):
    store.part(session, message, tool(command="ls", code=0))


@pytest.mark.parametrize(
    "change",
    [change_a_title, take_back, remove_a_message, end_a_call, end_an_answer, add_a_part],
)
def test_every_kind_of_change_is_noticed(store, change):
    talk(store, "other")
    session = store.session()
    answer = store.agent(session, store.user(session, "one"), "done")
    store.user(session, "typed meanwhile")
    end = read_file(OPENCODE, store.path)[-1]
    change(store, session, answer)
    again = read_file(OPENCODE, store.path, resume=Resume(offset=0, state=end.state, session=None))
    assert [reading.session.id for reading in again if reading.session] == [session]


def test_a_session_of_the_second_format_is_read_again_when_it_grew(private_home, run, folder):
    build_database(RECORDED / "1.18.33" / "serve.sql", folder / "opencode.db")
    found, _ = run()
    [newer] = [session for session in found if "thanks v2" in session.prompts]
    with sqlite3.connect(folder / "opencode.db") as connection:
        connection.execute(
            "INSERT INTO session_message VALUES ('msg_z', ?, 'user', 99999, 1, 1, ?)",
            (newer.id, '{"text":"and more","time":{"created":1795982242000}}'),
        )
    connection.close()
    found, _ = run()
    assert [session.prompts for session in found] == [(*newer.prompts, "and more")]


def take_back(store: Store, session: str, number: int) -> None:
    """Delete the messages from a prompt on, as the client does when the user goes on after undoing."""
    (first,) = store.run(
        "SELECT id FROM message WHERE session_id = ? AND json_extract(data, '$.role') = 'user'"
        " ORDER BY id LIMIT 1 OFFSET ?",
        session,
        number,
    )[0]
    store.run("DELETE FROM part WHERE session_id = ? AND message_id >= ?", session, first)
    store.run("DELETE FROM message WHERE session_id = ? AND id >= ?", session, first)


def test_what_was_read_before_the_user_took_it_back_stays_and_hides_nothing_new(store, run):
    session = store.session()
    for prompt in ("one", "two", "three"):
        store.agent(session, store.user(session, prompt), f"did {prompt}", tool(command=prompt, code=0))
    run()
    take_back(store, session, 1)
    four = store.user(session, "four")
    (found,), stats = run()
    assert [(turn.prompt, turn.abandoned) for turn in found.turns] == [
        ("one", False),
        ("two", True),
        ("three", True),
        ("four", False),
    ]
    assert stats.warnings == []
    store.agent(session, four, "did four", tool(command="four", code=1))
    (found,), _ = run()
    assert [turn.prompt for turn in found.turns] == ["one", "two", "three", "four"]
    assert [call.exit_code for turn in found.turns for call in turn.tool_calls] == [0, 0, 0, 1]
    assert found.tokens.output == 4 * 6


def test_a_session_that_begins_anew_after_all_was_taken_back_keeps_both(store, run):
    session = store.session()
    store.agent(session, store.user(session, "one"), "did one")
    run()
    take_back(store, session, 0)
    store.agent(session, store.user(session, "two"), "did two")
    (found,), stats = run()
    assert [(turn.prompt, turn.abandoned) for turn in found.turns] == [("one", True), ("two", False)]
    assert stats.warnings == []


def test_what_is_missing_without_anything_new_may_be_damage_and_is_not_abandoned(store, run):
    session = store.session()
    for prompt in ("one", "two"):
        store.agent(session, store.user(session, prompt), f"did {prompt}")
    run()
    take_back(store, session, 1)
    found, _ = run()
    assert found == []


def test_a_session_that_was_removed_is_forgotten_quietly(store, run):
    gone, kept = talk(store, "one"), talk(store, "two")
    run()
    store.run("DELETE FROM session WHERE id = ?", gone)
    found, stats = run()
    assert (found, stats.warnings) == ([], [])
    store.user(kept, "three")
    assert [session.id for session in run()[0]] == [kept]


def test_a_clock_that_runs_backwards_hides_nothing(store, run):
    session = talk(store, "one")
    run()
    store.clock -= 86_400_000
    store.agent(session, store.user(session, "two"), "done")
    [found], _ = run()
    assert set(found.prompts) == {"one", "two"}


def test_what_was_remembered_may_be_anything(store):
    talk(store, "one")
    for state in (b"", b"garbage", b"\x81\xa1a\x01", b"\x93\x01\x02\x03"):
        resume = Resume(offset=0, state=state, session=None)
        readings = read_file(OPENCODE, store.path, resume=resume)
        assert [reading.session.prompts for reading in readings if reading.session] == [("one",)]


def test_a_database_of_another_program_is_passed_over_in_silence(folder, run):
    other = sqlite3.connect(folder / "opencode.db")
    other.executescript(
        "CREATE TABLE sessions (id TEXT); CREATE TABLE messages (id TEXT); INSERT INTO sessions VALUES (1)"
    )
    other.close()
    found, stats = run()
    assert (found, stats.warnings, stats.files_read) == ([], [], 1)


def test_a_text_file_under_the_name_of_the_database_is_none(folder, run):
    (folder / "opencode.db").write_text("hello")
    found, stats = run()
    assert (found, stats.warnings, stats.files_read) == ([], [], 0)


def test_tables_that_are_not_known_are_told_once(folder, run):
    other = sqlite3.connect(folder / "opencode.db")
    other.executescript(
        "CREATE TABLE session (id TEXT); CREATE TABLE utterance (id TEXT); INSERT INTO session VALUES (1)"
    )
    other.close()
    found, stats = run()
    assert found == []
    [warning] = stats.warnings
    assert "utterance" in warning
    assert "not known" in warning
    assert run()[1].warnings == []


def test_sessions_whose_messages_are_elsewhere_are_told(store, run):
    store.session()
    found, stats = run()
    assert [session.turns for session in found] == [()]
    assert "no messages" in stats.warnings[0]


def test_columns_that_are_not_there_cost_what_they_tell(folder):
    schema = """
    CREATE TABLE session (id text);
    CREATE TABLE message (id text, session_id text, time_created integer, data text);
    CREATE TABLE part (id text, message_id text, data text);
    INSERT INTO session VALUES ('ses_1');
    INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1795000000000}}');
    INSERT INTO part VALUES ('prt_1', 'msg_1', '{"type":"text","text":"one"}');
    """
    store = Store(folder / "opencode.db", schema=schema)
    [session, end] = read_file(OPENCODE, store.path)
    assert (session.session.prompts, session.session.project) == (("one",), None)
    assert end.warnings == ()
    store.close()


@pytest.mark.parametrize(
    "data",
    [None, b"\xff\xfe", "", "null", "[]", "5", "{", '{"type":5}', "x" * 100, 7, 1.5],
    ids=repr,
)
def test_a_value_of_any_kind_costs_its_row(folder, data):
    store = Store(folder / "opencode.db", schema=SCHEMA.replace("data text NOT NULL", "data"))
    session = store.session()
    message = store.user(session, "one")
    store.close()
    with sqlite3.connect(store.path) as connection:
        row = (session, 1, 1, data)
        connection.execute("INSERT INTO message VALUES ('msg_zz', ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO part VALUES ('prt_zz', ?, ?, ?, ?, ?)", (message, *row))
    connection.close()
    [reading, end] = read_file(OPENCODE, store.path)
    assert reading.session.prompts == ("one",)
    assert reading.session.skipped <= 2
    assert end.warnings == ()


def test_a_row_of_60_mb_is_passed_over_and_told(store):
    session = store.session()
    message = store.user(session, "one")
    store.close()
    with sqlite3.connect(store.path) as connection:
        data = '{"type":"text","text":"' + "y" * 60_000_000 + '"}'
        connection.execute("INSERT INTO part VALUES ('prt_zz', ?, ?, 1, 1, ?)", (message, session, data))
    connection.close()
    [reading, _] = read_file(OPENCODE, store.path)
    assert (reading.session.prompts, reading.session.skipped) == (("one",), 1)


def test_roots_follow_the_clients_variables(private_home, tmp_path):
    default = private_home / ".local" / "share" / "opencode"
    assert OPENCODE.roots({}, private_home) == (default,)
    assert OPENCODE.roots({"XDG_DATA_HOME": "relative"}, private_home) == (default,)
    env = {"XDG_DATA_HOME": str(tmp_path)}
    assert OPENCODE.roots(env, private_home) == (tmp_path / "opencode",)
    assert OPENCODE.roots({"OPENCODE_DB": ":memory:"}, private_home) == (default,)
    assert OPENCODE.roots({"OPENCODE_DB": "mine.db"}, private_home) == (default, default / "mine.db")
    assert OPENCODE.roots({"OPENCODE_DB": "/x/mine.db"}, private_home) == (default, Path("/x/mine.db"))


def test_databases_of_all_channels_are_found_and_their_logs_are_none(store, folder, run, tmp_path):
    talk(store, "one")
    for name in ("opencode-dev.db", "notes.db", "opencode.db.bak"):
        shutil.copy(build_database(RECORDED / "1.18.33" / "tui.sql", tmp_path / name), folder / name)
    os.mkfifo(folder / "opencode-x.db")
    found = [path.name for path in OPENCODE.discover(folder)]
    assert found == ["opencode-dev.db", "opencode.db"]
    elsewhere = build_database(RECORDED / "1.18.33" / "run.sql", tmp_path / "elsewhere" / "mine.db")
    sessions, stats = run({"OPENCODE_DB": str(elsewhere)})
    assert stats.files_read == 3
    assert len(sessions) == 1 + 1 + 7
    assert list(OPENCODE.discover(folder / "missing")) == []
