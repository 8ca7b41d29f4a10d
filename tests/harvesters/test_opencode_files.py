"""Sessions in files of their own: three layouts, files that change, and sessions that moved on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, harvest, read_file
from tests.support.opencode_store import Store, restore

OPENCODE = SOURCES["opencode"]
TIME = {"created": 1_795_000_000_000}


@pytest.fixture
def data(private_home) -> Path:
    return private_home / ".local" / "share" / "opencode"


@pytest.fixture
def run(private_home):
    """Harvest the private home, going on from the harvest before."""
    cursors, claims, known = {}, MemoryClaims(), {}

    def once():
        work = harvest(
            [OPENCODE],
            cursors,
            env={},
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


def write(path: Path, record: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    return path


def make_session(data: Path, *prompts: str, session: str = "ses_1") -> Path:
    """Write a session in the last of the three layouts."""
    storage = data / "storage"
    head = {"id": session, "version": "1.1.65", "directory": "/home/user/project", "time": TIME}
    path = write(storage / "session" / "abc" / f"{session}.json", head)
    for number, prompt in enumerate(prompts):
        add_prompt(data, number, prompt, session=session)
    return path


def add_prompt(data: Path, number: int, prompt: str, *, session: str = "ses_1") -> None:
    message = f"msg_{session}_{number:03d}"
    info = {"id": message, "role": "user", "time": {"created": TIME["created"] + number}}
    part = {"id": "prt_1", "type": "text", "text": prompt}
    write(data / "storage" / "part" / message / "prt_1.json", part)
    write(data / "storage" / "message" / session / f"{message}.json", info)


def test_a_session_is_read_with_its_messages_and_parts(data):
    path = make_session(data, "one", "two")
    assert OPENCODE.recognise(path.read_bytes())
    [reading] = read_file(OPENCODE, path)
    assert reading.session.prompts == ("one", "two")
    assert (reading.session.id, reading.session.client_version) == ("ses_1", "1.1.65")


def test_only_session_files_are_looked_for(data):
    make_session(data, "one")
    write(data / "project" / "p" / "storage" / "session" / "info" / "ses_2.json", {"id": "ses_2"})
    write(data / "storage" / "session_diff" / "ses_1.json", [])
    write(data / "log" / "x.json", {})
    write(data / "auth.json", {"provider": {"key": "secret"}})
    names = [path.relative_to(data).as_posix() for path in OPENCODE.discover(data)]
    assert names == ["storage/session/abc/ses_1.json", "project/p/storage/session/info/ses_2.json"]


def test_unchanged_sessions_are_not_opened_again(data, run, monkeypatch):
    make_session(data, "one")
    make_session(data, "two", session="ses_2")
    assert len(run()[0]) == 2

    def refuse(*_args, **_options):
        raise AssertionError("an unchanged file was opened")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        found, stats = run()
    assert (found, stats.files_seen, stats.files_read) == ([], 2, 0)


def test_new_messages_and_parts_are_noticed(data, run):
    make_session(data, "one")
    run()
    add_prompt(data, 1, "two")
    assert [session.prompts for session in run()[0]] == [("one", "two")]
    write(data / "storage" / "part" / "msg_ses_1_001" / "prt_2.json", {"type": "text", "text": "and more"})
    assert [session.prompts for session in run()[0]] == [("one", "two\n\nand more")]
    part = data / "storage" / "part" / "msg_ses_1_001" / "prt_2.json"
    write(part, {"type": "text", "text": "and much more than that"})
    assert [session.prompts for session in run()[0]] == [("one", "two\n\nand much more than that")]


def test_a_message_that_is_no_record_costs_that_message(data):
    path = make_session(data, "one", "two", "three")
    messages = data / "storage" / "message" / "ses_1"
    (messages / "msg_ses_1_001.json").write_text('{"id": "msg_ses_1_001", "role": "us')
    write(messages / "msg_zz.json", [1, 2])
    write(messages / "notes.txt", "not a record")
    write(data / "storage" / "part" / "msg_ses_1_002" / "prt_0.json", "null")
    [reading] = read_file(OPENCODE, path)
    assert reading.session.prompts == ("one", "three")
    assert reading.session.skipped == 3


def test_a_part_of_60_mb_is_passed_over_and_told(data):
    path = make_session(data, "one")
    text = '{"type":"text","text":"' + "y" * 60_000_000 + '"}'
    write(data / "storage" / "part" / "msg_ses_1_000" / "prt_2.json", text)
    session = read_file(OPENCODE, path)[0].session
    assert (session.prompts, session.skipped) == (("one",), 1)


DAMAGE = {
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "a hole before it": lambda text: b"\0" * 50 + text,
    "NULs behind it": lambda text: text + b"\0" * 50,
    "bytes that are no text": lambda text: text.replace(b'"id": "', b'"id": "\xff\xfe'),
    "half an emoji": lambda text: text.replace(b'"id": "', b'"id": "\\ud83d'),
    "a control character": lambda text: text.replace(b'"id": "', b'"id": "\x1b\0'),
}


@pytest.mark.parametrize("how", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("place", ["part", "message"])
def test_a_file_that_is_hardly_damaged_costs_nothing(data, how, place):
    path = make_session(data, "one", "two")
    for damaged in (data / "storage" / place).rglob("*.json"):
        damaged.write_bytes(how(damaged.read_bytes()))
    session = read_file(OPENCODE, path)[0].session
    assert (session.prompts, session.skipped) == (("one", "two"), 0)


def test_a_session_whose_id_is_damaged_is_known_by_its_name(data, run):
    path = make_session(data, "one")
    path.write_bytes(path.read_bytes().replace(b"ses_1", b"ses_\xff1"))
    [session], _ = run()
    assert (session.id, session.prompts) == ("ses_1", ("one",))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_message_that_may_not_be_read_is_told(data):
    path = make_session(data, "one", "two")
    (data / "storage" / "message" / "ses_1" / "msg_ses_1_001.json").chmod(0)
    session = read_file(OPENCODE, path)[0].session
    assert (session.prompts, session.skipped) == (("one",), 1)


def test_folders_that_are_not_there_leave_a_session_without_turns(data):
    path = make_session(data)
    assert read_file(OPENCODE, path)[0].session.turns == ()
    assert OPENCODE.stat(path).size == path.stat().st_size


def test_a_session_that_is_in_the_database_is_not_read_from_its_files(data, run):
    make_session(data, "one", session="ses_moved")
    make_session(data, "two", session="ses_left")
    store = Store(data / "opencode.db")
    store.session(id="ses_moved")
    store.user("ses_moved", "one, in the database")
    found, stats = run()
    assert sorted(session.prompts for session in found) == [("one, in the database",), ("two",)]
    assert (stats.sessions, stats.warnings) == (2, [])
    store.close()
    assert run()[0] == []


def test_a_session_that_moves_to_the_database_later_stays_one_session(data, run):
    make_session(data, "one", session="ses_moved")
    [first], _ = run()
    store = Store(data / "opencode.db")
    store.session(id="ses_moved")
    store.agent("ses_moved", store.user("ses_moved", "one", created=TIME["created"]), "done")
    store.user("ses_moved", "two")
    store.close()
    [second], _ = run()
    assert (first.id, second.id) == ("ses_moved", "ses_moved")
    assert (first.prompts, second.prompts) == (("one",), ("one", "two"))


def test_a_session_in_two_layouts_is_read_from_the_newer_one(data, run):
    restore("0.5.29/storage.json", data.parents[2])
    old = next((data / "project").rglob("info/*.json"))
    head = json.loads(old.read_text())
    write(data / "storage" / "session" / "abc" / old.name, {**head, "version": "9.9.9"})
    found, _ = run()
    [session] = [session for session in found if session.id == head["id"]]
    assert session.client_version == "9.9.9"
    assert len(found) == len(list((data / "project").rglob("info/*.json")))


def test_a_database_that_cannot_be_read_hides_no_files(data, run):
    make_session(data, "one")
    (data / "opencode.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    found, stats = run()
    assert [session.prompts for session in found] == [("one",)]
    assert len([warning for warning in stats.warnings if "opencode.db" in warning]) == 1


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ('{"id":"ses_1","version":"1","time":{"created":1}}', True),
        ('{\n  "id": "ses_1",\n  "title": "x"\n}', True),
        ('\ufeff{"id":"ses_1","projectID":"x","summary":{"diffs":["' + "y" * 70_000, True),
        ('{"id":"msg_1","role":"user","time":{"created":1}}', False),
        ('{"sessionId":"ses_1","version":3,"requests":[]}', False),
        ('{"id":"ses_1"}', False),
        ("[]", False),
        ("", False),
        ("null", False),
    ],
)
def test_session_files_are_told_from_look_alikes_by_what_is_in_them(text, ours):
    assert OPENCODE.recognise(text.encode()[: 64 * 1024]) is ours


def test_a_torn_session_file_is_told_and_read_when_it_is_whole(data, run):
    path = make_session(data, "one")
    whole = path.read_text()
    path.write_text(whole[:-10])
    found, stats = run()
    assert (found, stats.skipped) == ([], 1)
    path.write_text(whole)
    assert [session.prompts for session in run()[0]] == [("one",)]


def test_links_and_obstacles_cost_nothing(data, run):
    path = make_session(data, "one")
    (path.parent / "loop").symlink_to(path.parent.parent)
    (path.parent / "nowhere.json").symlink_to(data / "missing")
    os.mkfifo(path.parent / "pipe.json")
    shutil.copytree(data / "storage" / "message", data / "storage" / "message2")
    write(data / "project" / "file", "x")
    found, _ = run()
    assert [session.prompts for session in found] == [("one",)]
