"""Databases and files of OpenCode, broken in every way a disk, a crash or another program can break them."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, Harvest, MemoryClaims, Resume, Signal, read_file
from tests.support.damage import ODD
from tests.support.opencode_store import RECORDED, Store, build_database, restore

OPENCODE = SOURCES["opencode"]
DATABASES = sorted(RECORDED.glob("*/*.sql"))
FILES = sorted(RECORDED.glob("*/storage.json"))
TABLES = ("session", "message", "part")


@given(
    source=st.sampled_from(DATABASES),
    seed=st.integers(0, 2**32),
    amount=st.integers(1, 400),
    cut=st.booleans(),
)
@settings(max_examples=60)
def test_a_damaged_database_is_told_once_and_stops_nothing(tmp_path_factory, source, seed, amount, cut):
    path = build_database(source, tmp_path_factory.mktemp("damaged") / "opencode.db")
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(amount):
        data[chance.randrange(100, len(data))] = chance.randrange(256)
    path.write_bytes(data[: chance.randrange(512, len(data))] if cut else data)
    readings = read_file(OPENCODE, path)
    assert len(readings[-1].warnings) <= 1
    assert readings[-1].session is None
    for reading in readings:
        repr(reading.session).encode("utf-8")
    assert list(path.parent.iterdir()) == [path]


def test_a_broken_page_costs_the_sessions_that_stand_on_it(tmp_path):
    store = Store(tmp_path / "opencode.db")
    for _ in range(12):
        session = store.session()
        for ask in ("one", "two"):
            store.agent(session, store.user(session, ask + "x" * 1500), f"did {ask}" + "y" * 1500)
    store.close()
    data = store.path.read_bytes()
    pages = range(4096, len(data), 4096)
    read = []
    for start in pages:
        store.path.write_bytes(data[:start] + b"\xff" * 4096 + data[start + 4096 :])
        *readings, last = read_file(OPENCODE, store.path)
        read.append(sum(len(reading.session.prompts) == 2 for reading in readings))
        assert len(last.warnings) == 1 or read[-1] == 12
    assert read.count(11) > len(pages) / 2


@given(data=st.data())
@settings(max_examples=120)
def test_a_value_that_is_replaced_costs_what_it_tells(tmp_path_factory, data):
    source = data.draw(st.sampled_from(DATABASES))
    path = build_database(source, tmp_path_factory.mktemp("odd") / "opencode.db")
    with sqlite3.connect(path) as connection:
        table = data.draw(st.sampled_from(TABLES))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = data.draw(st.sampled_from([name for name in columns if name != "id"]))
        ids = [row[0] for row in connection.execute(f"SELECT id FROM {table} ORDER BY id")]
        value = data.draw(
            st.sampled_from(["", "text", "[]", "{", b"\xff\xfe", 7, 1.5, -1, 2**62, "\x00", "ses_1"])
        )
        row = data.draw(st.sampled_from(ids))
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (value, row))
        count = (
            len(ids)
            if table == "session"
            else connection.execute("SELECT count(*) FROM session").fetchone()[0]
        )
    connection.close()
    readings = read_file(OPENCODE, path)
    assert len(readings) == count + 1
    assert readings[-1].warnings == ()
    again = read_file(OPENCODE, path, resume=Resume(offset=0, state=readings[-1].state, session=None))
    assert len(again) == 1


@given(data=st.data())
@settings(max_examples=150)
def test_a_key_that_is_replaced_costs_its_record(tmp_path_factory, data):
    source = data.draw(st.sampled_from(FILES))
    home = tmp_path_factory.mktemp("odd")
    folder = restore(str(source.relative_to(RECORDED)), home)
    paths = sorted(path for path in folder.rglob("*.json") if "session" in path.parts)
    path = data.draw(st.sampled_from(paths))
    record = json.loads(path.read_text(encoding="utf-8"))
    places: list[tuple] = []

    def walk(value) -> None:
        for key in (
            list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        ):
            places.append((value, key))
            walk(value[key])

    walk(record)
    container, key = data.draw(st.sampled_from(places))
    container[key] = data.draw(ODD)
    text = json.dumps(record).encode()
    path.write_bytes(
        data.draw(st.sampled_from([text, text[: len(text) // 2], b"\x00" * 9 + text, text + text]))
    )
    claims, prompts = MemoryClaims(), 0
    for found in OPENCODE.discover(folder):
        OPENCODE.stat(found)
        for reading in read_file(OPENCODE, found, claims=claims):
            repr(reading.session).encode("utf-8")
            prompts += len(reading.session.prompts) if reading.session else 0
    assert prompts > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
INFO = st.dictionaries(
    st.sampled_from(
        ["role", "time", "parentID", "tokens", "error", "summary", "path", "mode", "metadata", "parts"]
    ),
    JSON | st.sampled_from(["user", "assistant", "compaction"]),
    max_size=6,
)
PART = st.dictionaries(
    st.sampled_from(["type", "text", "state", "tool", "callID", "tokens", "synthetic", "prompt", "command"]),
    JSON | st.sampled_from(["text", "tool", "step-finish", "subtask", "bash"]),
    max_size=6,
)


@given(
    messages=st.lists(st.tuples(INFO, st.lists(PART, max_size=3)), max_size=4),
    newer=st.lists(JSON, max_size=3),
)
@settings(max_examples=150)
def test_no_record_crashes_the_reader(tmp_path_factory, messages, newer):
    path = tmp_path_factory.mktemp("any") / "opencode.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE session (id, directory, parent_id, time_created);"
        "INSERT INTO session VALUES ('s', '/p', NULL, 1);"
        "CREATE TABLE message (id, session_id, time_created, data); CREATE TABLE part (id, message_id, data);"
        "CREATE TABLE session_message (id, session_id, type, seq, data);"
    )
    for number, (info, parts) in enumerate(messages):
        connection.execute(
            "INSERT INTO message VALUES (?, 's', ?, ?)", (f"m{number}", number, json.dumps(info))
        )
        for part in parts:
            connection.execute("INSERT INTO part VALUES ('p', ?, ?)", (f"m{number}", json.dumps(part)))
    for number, data in enumerate(newer):
        kind = ("user", "assistant", "shell")[number]
        connection.execute(
            "INSERT INTO session_message VALUES ('x', 's', ?, ?, ?)", (kind, number, json.dumps(data))
        )
    connection.commit()
    connection.close()
    readings = read_file(OPENCODE, path)
    assert readings[0].session.id == "s"
    repr(readings[0].session).encode("utf-8")


def test_memory_does_not_grow_with_the_database(tmp_path):
    """Reading 96 MB of tool output takes no more than reading 6 MB of it, give or take."""
    measure = (
        "import resource, sys, pathlib\n"
        "from skillopt_harvesters import SOURCES, read_file\n"
        "readings = read_file(SOURCES['opencode'], pathlib.Path(sys.argv[1]))\n"
        "assert len(readings) == 2\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    output = {"type": "tool", "tool": "bash", "state": {"status": "completed", "output": "x" * 200_000}}
    peaks = []
    for count in (30, 480):
        store = Store(tmp_path / f"{count}.db")
        session = store.session()
        user = store.user(session, "one")
        message = store.agent(session, user, "working")
        store.close()
        with sqlite3.connect(store.path) as connection:
            for number in range(count):
                row = (f"prt_{number:09d}", message, session, json.dumps(output))
                connection.execute("INSERT INTO part VALUES (?, ?, ?, 1, 1, ?)", row)
        connection.close()
        done = subprocess.run(
            [sys.executable, "-c", measure, str(store.path)], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 24 * 1024


def told(readings):
    return [reading.session.prompts for reading in readings if reading.session], readings[-1].warnings


def make_store(path):
    store = Store(path, wal=False)
    for number in range(3):
        session = store.session()
        store.agent(session, store.user(session, f"prompt {number}"), f"did {number}")
    store.close()
    return store


def test_a_session_whose_id_leads_nowhere_is_told(tmp_path):
    store = make_store(tmp_path / "opencode.db")
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE session SET id = CAST(id AS BLOB) WHERE rowid = 2")
    connection.close()
    prompts, warnings = told(read_file(OPENCODE, store.path))
    assert prompts == [("prompt 0",), ("prompt 2",)]
    assert warnings == ("the database cannot be read: a session is not where its id leads",)


def test_a_session_without_an_id_is_told(tmp_path):
    store = make_store(tmp_path / "opencode.db")
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE session SET id = NULL WHERE rowid = 2")
    connection.close()
    prompts, warnings = told(read_file(OPENCODE, store.path))
    assert prompts == [("prompt 0",), ("prompt 2",)]
    assert warnings == ("the database is damaged: 2 of 3 sessions are in its list",)


def test_messages_that_an_index_has_not_are_told(tmp_path):
    """SQLite itself notices nothing: the rows are there, and the index is whole."""
    store = make_store(tmp_path / "opencode.db")
    name = "message_session_time_created_id_idx"
    with sqlite3.connect(store.path, isolation_level=None) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        [index] = connection.execute("SELECT * FROM sqlite_master WHERE name = ?", (name,)).fetchall()
        connection.execute("DELETE FROM sqlite_master WHERE name = ?", (name,))
    connection.close()
    more = Store(store.path, schema="", wal=False)
    more.number, more.clock = 100, store.clock
    session = more.session()
    more.agent(session, more.user(session, "prompt 3"), "did 3")
    more.session()
    more.close()
    with sqlite3.connect(store.path, isolation_level=None) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", index)
    connection.close()
    prompts, warnings = told(read_file(OPENCODE, store.path))
    assert prompts == [("prompt 0",), ("prompt 1",), ("prompt 2",), (), ()]
    assert warnings == ("the database is damaged: the messages of 1 session cannot be found",)


def test_a_message_whose_parts_are_gone_has_lost_its_prompt(tmp_path):
    store = Store(tmp_path / "opencode.db", wal=False)
    session = store.session()
    for number in range(3):
        asked = store.user(session, f"prompt {number}")
        store.agent(session, asked, f"did {number}")
        if number == 1:
            store.run("UPDATE part SET message_id = CAST(message_id AS BLOB) WHERE message_id = ?", asked)
    store.close()
    [reading, last] = read_file(OPENCODE, store.path)
    turns = reading.session.turns
    assert [(turn.prompt, turn.answer) for turn in turns] == [
        ("prompt 0", "did 0"),
        ("", "did 1"),
        ("prompt 2", "did 2"),
    ]
    assert Signal.UNREAD in turns[1].signals
    assert reading.session.skipped == 1
    assert last.warnings == ()


def harvest_all(home):
    found = Harvest([OPENCODE], {}, env={}, home=home)
    sessions = [one.session for one in found if one.session]
    return [session.prompts for session in sessions], found.stats


def test_a_database_with_a_damaged_beginning_is_told(private_home):
    store = make_store(private_home / ".local/share/opencode/opencode.db")
    data = store.path.read_bytes()
    for beginning in (b"", b"\0" * 100, b"SQLite forma\0", b"\xff" * 16):
        store.path.write_bytes(beginning + data[len(beginning) :])
        prompts, stats = harvest_all(private_home)
        if not beginning:
            assert (len(prompts), stats.warnings) == (3, [])
        else:
            assert (prompts, stats.skipped) == ([], 1)
            assert stats.warnings == [f"{store.path}: its beginning is damaged: it is no database"]
    store.path.write_bytes(b"")
    assert harvest_all(private_home)[1].warnings == []


def test_a_session_file_that_is_none_any_more_is_told(private_home):
    restore("1.1.65/storage.json", private_home)
    folder = private_home / ".local/share/opencode/storage/session"
    path = max(folder.rglob("ses_*.json"))
    before, stats = harvest_all(private_home)
    assert stats.warnings == []
    for text in ("", "{", "\0" * 400, '{"ie": "ses_1", "time": {}}'):
        path.write_text(text)
        prompts, stats = harvest_all(private_home)
        assert len(prompts) == len(before) - 1
        assert (stats.skipped, stats.warnings) == (1, [f"{path}: it is no session that can be read"])
