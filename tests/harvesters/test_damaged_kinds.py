"""A prompt whose record has a damaged type or role is lost, and told to be; a new kind of record is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, Signal, read_file
from skillopt_harvesters.damage import is_damaged
from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events, Transcript
from tests.support.opencode_store import Store as OpenCode
from tests.support.opencode_store import tool
from tests.support.pi_session import PiSession

# What becomes of the third byte of a name: a NUL as it is or escaped, another letter, a flipped high bit.
DAMAGE = {"nul": b"\0", "escaped": b"\\u0000", "letter": b"~", "high bit": b"\xf3"}
ASKS = (("one", "ls"), ("two", "make"), ("three", ""))
EXPECTED = [("one", "did one", ["ls"]), ("", "did two", ["make"]), ("three", "did three", [])]


@pytest.fixture(params=DAMAGE.values(), ids=DAMAGE)
def spoil(request):
    """Damage a name in the lines that have a text."""

    def spoil_lines(data: bytes, text: bytes, name: bytes, count: int) -> bytes:
        lines = data.split(b"\n")
        hit = 0
        for number, line in enumerate(lines):
            quoted = b'"' + name + b'"'
            if b'"' + text + b'"' in line and quoted in line:
                lines[number] = line.replace(quoted, b'"' + name[:2] + request.param + name[3:] + b'"', 1)
                hit += 1
        assert hit == count
        return b"\n".join(lines)

    return spoil_lines


def told(session):
    return [(turn.prompt, turn.answer, [c.command for c in turn.tool_calls]) for turn in session.turns]


def check(client, path, skipped=1):
    readings = read_file(SOURCES[client], path)
    [session] = [reading.session for reading in readings if reading.session]
    assert told(session) == EXPECTED
    assert [Signal.UNREAD in turn.signals for turn in session.turns] == [False, True, False]
    assert (session.skipped, len(session.warnings)) == (skipped, 1)


def claude(transcript):
    t = transcript()
    for prompt, command in ASKS:
        t.user([{"type": "text", "text": prompt}])
        if command:
            t.call(command=command)
        t.agent(f"did {prompt}")
    return t.write()


@pytest.mark.parametrize("name", [b"user", b"text"])
def test_of_claude_code(transcript, spoil, name):
    path = claude(transcript)
    # The role of a message is not read; the type of the record is, and stands before it.
    path.write_bytes(spoil(path.read_bytes(), b"two", name, 1))
    check("claude", path)


@pytest.mark.parametrize(
    ("name", "count"),
    [(b"response_item", 1), (b"event_msg", 1), (b"message", 1), (b"user_message", 1), (b"user", 1)],
)
def test_of_codex(tmp_path, spoil, name, count):
    """Each half of a prompt may be damaged; with the other one missing it is lost."""
    r = Rollout(tmp_path)
    for prompt, command in ASKS:
        r.prompt(prompt)
        if prompt == "two":
            del r.lines[-1 if name in {b"response_item", b"message", b"user"} else -2]
        if command:
            r.call(command)
        r.answer(f"did {prompt}")
    path = r.write()
    path.write_bytes(spoil(path.read_bytes(), b"two", name, count))
    check("codex", path)


def test_of_codex_when_one_half_is_left(tmp_path, spoil):
    r = Rollout(tmp_path)
    for prompt, _ in ASKS:
        r.prompt(prompt)
        r.answer(f"did {prompt}")
    for name in (b"user", b"user_message"):
        path = r.write()
        path.write_bytes(spoil(path.read_bytes(), b"two", name, 1))
        [reading] = read_file(SOURCES["codex"], path)
        assert reading.session.prompts == ("one", "two", "three")


@pytest.mark.parametrize("name", [b"event_msg", b"item_completed", b"UserMessage"])
def test_of_codex_told_as_an_item(tmp_path, spoil, name):
    r = Rollout(tmp_path)
    for prompt, command in ASKS:
        r.ms += 5_000
        r.completed("UserMessage", content=[{"type": "text", "text": prompt}])
        if command:
            r.call(command)
        r.answer(f"did {prompt}")
    path = r.write()
    path.write_bytes(spoil(path.read_bytes(), b"two", name, 1))
    check("codex", path)


@pytest.mark.parametrize("kind", [Events, Transcript])
def test_of_copilot_in_a_terminal_and_in_vs_code(tmp_path, spoil, kind):
    events = kind()
    for prompt, command in ASKS:
        events.user(prompt)
        if command:
            name = "bash" if kind is Events else "run_in_terminal"
            events.agent("", events.request(name, {"command": command}))
        events.agent(f"did {prompt}")
    path = events.write(tmp_path)
    path.write_bytes(spoil(path.read_bytes(), b"two", b"user.message", 1))
    check("copilot" if kind is Events else "vscode", path)


@pytest.mark.parametrize("kind", [Events, Transcript])
def test_the_first_record_still_tells_whose_file_it_is(tmp_path, spoil, kind):
    events = kind()
    events.user("one")
    path = events.write(tmp_path)
    path.write_bytes(spoil(path.read_bytes(), events.id.encode(), b"session.start", 1))
    ours = "copilot" if kind is Events else "vscode"
    for client in ("copilot", "vscode"):
        assert SOURCES[client].recognise(path.read_bytes()) == (client == ours)
    [reading] = read_file(SOURCES[ours], path)
    assert reading.session.prompts == ("one",)


@pytest.mark.parametrize("name", [b"user", b"text"])
def test_of_pi(tmp_path, spoil, name):
    session = PiSession()
    for prompt, command in ASKS:
        session.user(prompt)
        if command:
            session.call("bash", "ok", command=command)
        session.agent(f"did {prompt}")
    path = session.write(tmp_path)
    path.write_bytes(spoil(path.read_bytes(), b"two", name, 1))
    check("pi", path)


@pytest.mark.parametrize("table", ["message", "part"])
@pytest.mark.parametrize("how", ["us\0r", "unreadable", "too long"])
def test_of_opencode(private_home, table, how):
    data = private_home / ".local" / "share" / "opencode"
    store = OpenCode(data / "opencode.db")
    session = store.session()
    for prompt, command in ASKS:
        message = store.user(session, prompt)
        if prompt == "two":
            key = "id" if table == "message" else "message_id"
            if how == "unreadable":
                store.run(f"update {table} set data = '{{' where {key} = ?", message)
            elif how == "too long":
                long = json.dumps({"role": "user", "type": "text", "text": "x" * (9 << 20)})
                store.run(f"update {table} set data = ? where {key} = ?", long, message)
            else:
                old, new = ("user", "us\\u0000r") if table == "message" else ('"text",', '"te\\u0000t",')
                update = f"update {table} set data = replace(data, ?, ?) where {key} = ?"
                store.run(update, old, new, message)
        calls = [tool(command=command)] if command else []
        store.agent(session, message, *calls, f"did {prompt}")
    store.close()
    check("opencode", data / "opencode.db")


# Kinds the clients have had, or might have: none is a prompt.
NEW = ["users", "user_prompt", "usage", "steer", "user.messages", "user.mention", "system.message", ""]


@pytest.mark.parametrize("name", NEW)
def test_a_kind_of_a_newer_version_is_not_a_damaged_one(transcript, read, tmp_path, name):
    t = transcript()
    t.user("one")
    t.agent("did one")
    t.add(name, message={"role": "user", "content": "a note of the client's"})
    t.agent("and more")
    session = read(t)
    assert [(turn.prompt, turn.answer) for turn in session.turns] == [("one", "and more")]
    assert session.skipped == 1
    events = Events()
    events.user("one")
    events.agent("did one")
    events.add(name, content="a note of the client's")
    events.agent("and more")
    [reading] = read_file(SOURCES["copilot"], events.write(tmp_path))
    assert [(turn.prompt, turn.answer) for turn in reading.session.turns] == [("one", "and more")]


@given(st.sampled_from(["user", "user.message", "UserMessage", "text"]), st.data())
def test_a_name_with_one_character_changed_is_a_damaged_one(known, data):
    at = data.draw(st.integers(0, len(known) - 1))
    other = data.draw(st.characters().filter(lambda one: one != known[at]))
    assert is_damaged(known[:at] + other + known[at + 1 :], known)
    assert not is_damaged(known, known)


@pytest.mark.parametrize(
    ("name", "known"),
    [("us\0\0", "user"), ("\0\0er", "user"), ("\ufffd\ufffd\ufffdr.message", "user.message")],
)
def test_so_is_one_with_a_hole(name, known):
    assert is_damaged(name, known)


@pytest.mark.parametrize("name", [None, "", "used by", "\0\0\0\0", "\0\0\0r", "tool", "upper"])
def test_another_name_is_not(name):
    assert not is_damaged(name, "user")
