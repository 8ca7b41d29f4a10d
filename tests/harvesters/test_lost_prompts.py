"""A prompt that was lost with a damaged record: its answer is not that of the turn before."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import Signal
from skillopt_harvesters.asks import find_asks
from skillopt_harvesters.lines import MAX_LINE


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
    from skillopt_harvesters import SOURCES, MemoryClaims, Resume, read_file

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
