"""Long results are passed over without being decoded, and the session is what decoding would give."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, Session, Signal, read_file
from skillopt_harvesters.sources.claude.session import ClaudeReader
from skillopt_harvesters.sources.claude.slim import find_slim_lines

LONG = "a line of code, without any marks \\ in it\n\tand a second one: {}[]\n" * 300
QUOTED = LONG.replace("code", '"code"')


def slim_lines(*lines: bytes) -> list[tuple[int, int, bytes]]:
    data = bytearray(b"".join(lines))
    return [(start, end, bytes(slim)) for start, end, slim in find_slim_lines(data, 0, len(data))]


def line_of(content, outcome=None, **keys) -> bytes:
    block = {"tool_use_id": "t1", "type": "tool_result", "content": content, **keys}
    record = {"type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}
    if outcome is not None:
        record["toolUseResult"] = outcome
    return json.dumps({**record, "timestamp": "2026-11-01T10:00:00.000Z"}).encode() + b"\n"


def test_the_result_is_emptied_in_both_places_and_all_else_is_kept():
    line = line_of(LONG, {"stdout": LONG, "stderr": "warned", "interrupted": True})
    [(start, end, slim)] = slim_lines(b"{}\n", line, b"{}\n")
    assert (start, end) == (3, 3 + len(line) - 1)
    whole, left = json.loads(line), json.loads(slim)
    assert (left["message"]["content"][0]["content"], left["toolUseResult"]["stdout"]) == ("", "")
    whole["message"]["content"][0]["content"] = whole["toolUseResult"]["stdout"] = ""
    assert left == whole


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("ends", ["", "\\", "\\\\", 'a"', '\\"', '"\\'])
def test_escapes_before_the_end_of_a_result_are_understood(separators, ends):
    text = LONG + ends
    line = json.dumps(json.loads(line_of(text, {"content": text})), separators=separators).encode()
    for _, _, slim in slim_lines(line):
        left = json.loads(slim)
        assert left["message"]["content"][0]["content"] == ""
        assert left["timestamp"] == "2026-11-01T10:00:00.000Z"


def test_short_lines_other_shapes_and_texts_full_of_quotes_are_left_alone():
    assert slim_lines(line_of("short"), line_of([{"type": "text", "text": LONG}]), line_of(QUOTED)) == []
    assert slim_lines(json.dumps({"type": "user", "text": '"tool_result","content":"' + LONG}).encode()) == []


def test_a_long_error_is_read(transcript, read):
    t = transcript()
    t.user("do it")
    t.call(result="Exit code 3\n" + LONG, error=True)
    t.call(result=LONG, outcome={"stdout": LONG, "interrupted": False})
    t.call(result=LONG, outcome={"stdout": LONG, "interrupted": True})
    t.call(result=LONG, outcome={"stdout": LONG, "backgroundTaskId": "b1"})
    [turn] = read(t).turns
    assert [call.exit_code for call in turn.tool_calls] == [3, 0, None, None]
    assert turn.tool_calls[0].error is not None
    assert turn.tool_calls[0].error.startswith("Exit code 3\na line of code")
    assert Signal.ERROR in turn.signals


@pytest.mark.parametrize("torn_in", ["content", "outcome"])
def test_a_record_torn_in_a_long_result_costs_itself_and_not_the_one_glued_to_it(transcript, read, torn_in):
    t = transcript()
    t.user("do it")
    t.call(result=LONG, outcome={"stdout": LONG, "interrupted": False})
    t.agent("done")
    t.write()
    lines = t.path.read_bytes().splitlines(keepends=True)
    cut = lines[2].index(b"toolUseResult") + (5000 if torn_in == "outcome" else -3000)
    t.path.write_bytes(lines[0] + lines[1] + lines[2][:cut] + lines[3])
    session = read(t.path)
    assert (session.turns[0].answer, session.skipped) == ("done", 1)


def make_lines(rng: random.Random) -> bytes:
    lines = [{"type": "user", "uuid": "p", "message": {"role": "user", "content": "go"}}]
    for number in range(rng.randint(1, 12)):
        text = rng.choice([LONG, QUOTED, "short", LONG * 3, LONG + '"']) + str(number)
        name = rng.choice(["Bash", "Read"])
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": {"command": "x"}}
        content = rng.choice([text, text, [{"type": "text", "text": text}]])
        block = {"tool_use_id": f"t{number}", "type": "tool_result", "content": content}
        if rng.random() < 0.3:
            block["is_error"] = rng.choice([True, False])
        shell = {"stdout": text, "interrupted": rng.random() < 0.2}
        outcome = rng.choice([shell, {"file": {"content": text}}, text])
        lines += [
            {"type": "assistant", "uuid": f"a{number}", "message": {"id": f"m{number}", "content": [call]}},
            {"type": "user", "uuid": f"r{number}", "message": {"content": [block]}, "toolUseResult": outcome},
        ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def read_both_ways(path) -> tuple[Session, Session]:
    """Return the session as it is read, and as it is when every line is decoded in whole."""
    [quick] = read_file(SOURCES["claude"], path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaudeReader, "take_chunk", lambda *_: False)
        [slow] = read_file(SOURCES["claude"], path)
    return quick.session, slow.session


def count_calls(session: Session) -> int:
    return sum(len(turn.tool_calls) for turn in session.turns)


@given(st.integers(0, 2**32))
def test_a_transcript_reads_the_same_as_line_by_line(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("slim") / "s.jsonl"
    path.write_bytes(make_lines(random.Random(seed)))
    quick, slow = read_both_ways(path)
    assert quick == slow
    assert quick.turns[0].tool_calls


# Both the prompt and the answer are hit: no turn is left, whichever way it is read.
@example(seed=84674, flips=2)
@given(seed=st.integers(0, 2**32), flips=st.integers(1, 3))
def test_damage_costs_no_more_than_line_by_line(tmp_path_factory, seed, flips):
    """What is damaged inside a result that is passed over costs less."""
    rng = random.Random(seed)
    data = bytearray(make_lines(rng))
    for _ in range(flips):
        data[rng.randrange(len(data))] = rng.choice(b'"\\{}:,x\n')
    path = tmp_path_factory.mktemp("slim") / "s.jsonl"
    path.write_bytes(data)
    quick, slow = read_both_ways(path)
    assert quick.skipped <= slow.skipped
    assert len(quick.turns) >= len(slow.turns)
    assert count_calls(quick) >= count_calls(slow)
