"""A prompt that was lost with a damaged record: its answer is not that of the turn before."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import SOURCES, Signal, read_file
from skillopt_harvesters.asks import find_asks
from skillopt_harvesters.lines import MAX_LINE
from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events
from tests.support.opencode_store import Store as OpenCode
from tests.support.opencode_store import tool
from tests.support.pi_session import PiSession


@pytest.fixture
def talk(transcript):
    t = transcript()
    t.user("write the parser")
    t.call(command="ls")
    t.agent("wrote it")
    return t


def damage(t, number, cut):
    """Write the transcript with one record cut."""
    lines = [json.dumps(record).encode() for record in t.records]
    lines[number] = cut(lines[number])
    t.path.write_bytes(b"\n".join(lines) + b"\n")
    return t.path


TEARS = {
    "before the text": lambda line: line[: line.index(b'"content"') - 2],
    "in the text": lambda line: line[: line.index(b'"content"') + 16],
    "at its end": lambda line: line[:-1],
    "near the beginning": lambda line: line[:60],
    "zeros that a crash left": lambda line: b"\0" * len(line),
    "a flipped quote": lambda line: line.replace(b'"content"', b'content"'),
}


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
@pytest.mark.parametrize("reminders", [0, 2])
def test_the_answer_to_a_torn_prompt_is_its_own_turn(talk, read, tear, reminders):
    place = len(talk.records)
    talk.user("deploy it")
    for _ in range(reminders):
        talk.add("attachment", attachment={"type": "task_reminder", "content": []})
    talk.call(command="make deploy")
    talk.agent("deployed")
    talk.user("no, use `just deploy`")
    talk.agent("done")
    session = read(damage(talk, place, tear))
    assert [turn.prompt for turn in session.turns] == ["write the parser", "", "no, use `just deploy`"]
    first, lost, _ = session.turns
    assert (first.answer, [call.command for call in first.tool_calls]) == ("wrote it", ["ls"])
    assert (lost.answer, [call.command for call in lost.tool_calls]) == ("deployed", ["make deploy"])
    assert (lost.signals, lost.typed) == ((Signal.UNREAD,), False)
    assert session.prompts == ("write the parser", "no, use `just deploy`")
    # Nobody knows what was corrected.
    [ask] = find_asks(session)
    assert (ask.prompt, ask.lessons, ask.failed) == ("write the parser", (), False)


def test_a_prompt_too_long_to_be_read_is_no_part_of_the_turn_before(talk, read):
    talk.user("x" * (MAX_LINE + 1))
    talk.agent("done")
    session = read(talk)
    assert [(turn.prompt, turn.answer) for turn in session.turns] == [
        ("write the parser", "wrote it"),
        ("", "done"),
    ]


def test_a_lost_prompt_of_a_file_that_grows_is_lost_as_well(talk, read, tmp_path):
    from skillopt_harvesters import MemoryClaims, Resume

    place = len(talk.records)
    talk.user("deploy it")
    talk.add("attachment", attachment={"type": "task_reminder", "content": []})
    talk.agent("deployed")
    path = damage(talk, place, TEARS["in the text"])
    whole = path.read_bytes()
    at_once = read(path)
    assert [turn.answer for turn in at_once.turns] == ["wrote it", "deployed"]
    for cut in range(1, len(whole), 97):
        claims, resume = MemoryClaims(), None
        for end in (cut, len(whole)):
            path.write_bytes(whole[:end])
            [reading] = read_file(SOURCES["claude"], path, claims=claims, resume=resume)
            resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
        assert reading.session == at_once


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_torn_answer_or_result_opens_no_turn(talk, read, tear, place):
    talk.agent("and now the rest")
    talk.agent("all of it")
    session = read(damage(talk, place, tear))
    assert [turn.prompt for turn in session.turns] == ["write the parser"]
    assert session.turns[0].answer == "all of it"


def test_garbage_opens_no_turn(talk, read):
    talk.write()
    lines = talk.path.read_bytes().splitlines(keepends=True)
    talk.agent("more", parentUuid="00000000-0000-4000-8000-000000000000")
    more = json.dumps(talk.records[-1]).encode() + b"\n"
    talk.path.write_bytes(b"".join([*lines, b"\xff\xfe{garbage\n", b"Killed\n", more]))
    assert [turn.answer for turn in read(talk.path).turns] == ["more"]


def tear(lines, number, at):
    lines[number] = lines[number][: lines[number].index(at) + len(at) + 3]
    return b"\n".join(lines) + b"\n"


def told(session):
    return [(turn.prompt, turn.answer, [c.command for c in turn.tool_calls]) for turn in session.turns]


EXPECTED = [("one", "did one", ["ls"]), ("", "did two", ["make"]), ("three", "did three", [])]


def test_a_torn_prompt_of_copilot(tmp_path):
    events = Events()
    for prompt, command in (("one", "ls"), ("two", "make")):
        events.user(prompt)
        events.call("bash", {"command": command})
        events.agent(f"did {prompt}")
    events.user("three")
    events.agent("did three")
    number = next(n for n, r in enumerate(events.records) if r["data"].get("content") == "two")
    path = events.write(tmp_path)
    path.write_bytes(tear(events.text.encode().splitlines(), number, b'"user.message"'))
    [reading] = read_file(SOURCES["copilot"], path)
    assert told(reading.session) == EXPECTED


def test_a_torn_prompt_of_pi(tmp_path):
    session = PiSession()
    for prompt, command in (("one", "ls"), ("two", "make")):
        session.user(prompt)
        session.call("bash", "ok", command=command)
        session.agent(f"did {prompt}")
    session.user("three")
    session.agent("did three")
    path = session.write(tmp_path)
    path.write_bytes(tear(path.read_bytes().splitlines(), 5, b'"role": "user"'))
    [reading] = read_file(SOURCES["pi"], path)
    assert told(reading.session) == EXPECTED
    assert not any(turn.abandoned for turn in reading.session.turns)


@pytest.mark.parametrize("ids", [True, False], ids=["with tasks", "without"])
@pytest.mark.parametrize("halves", [1, 2])
def test_a_torn_prompt_of_codex_is_lost_when_both_its_halves_are(tmp_path, ids, halves):
    r = Rollout(tmp_path)
    for prompt, command in (("one", "ls"), ("two", "make"), ("three", "")):
        if ids:
            r.begin()
        r.prompt(prompt)
        if prompt == "two":
            for number in range(-halves, 0):
                r.lines[number] = r.lines[number][:-12]
        if command:
            r.call(command)
        r.answer(f"did {prompt}")
    expected = EXPECTED if halves == 2 else [EXPECTED[0], ("two", *EXPECTED[1][1:]), EXPECTED[2]]
    assert told(r.read()) == expected


def test_a_torn_prompt_of_codex_with_the_next_record_glued_to_it_is_lost_and_told(tmp_path):
    r = Rollout(tmp_path)
    r.event("user_message", message="write the parser")
    r.event("agent_message", message="wrote it")
    r.event("user_message", message="deploy it")
    torn = r.lines.pop()[:-10]
    r.event("agent_message", message="deployed")
    r.lines[-1] = torn + r.lines[-1]
    session = r.read()
    assert [(turn.prompt, turn.answer) for turn in session.turns] == [
        ("write the parser", "wrote it"),
        ("", "deployed"),
    ]
    assert session.warnings == ("1 line is not a readable record",)


def test_a_prompt_of_opencode_that_cannot_be_read(private_home):
    data = private_home / ".local" / "share" / "opencode"
    store = OpenCode(data / "opencode.db")
    session = store.session()
    for prompt, command in (("one", "ls"), ("two", "make"), ("three", "")):
        message = store.user(session, prompt)
        if prompt == "two":
            store.run("update message set data = '{' where id = ?", message)
        calls = [tool(command=command)] if command else []
        store.agent(session, message, *calls, f"did {prompt}")
    store.close()
    readings = read_file(SOURCES["opencode"], data / "opencode.db")
    [found] = [reading.session for reading in readings if reading.session]
    assert told(found) == EXPECTED
