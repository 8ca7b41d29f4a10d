"""Prompts queued while a tool runs: its result comes behind them all."""

from __future__ import annotations

import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, Signal, read_file
from tests.harvesters.rollouts import Rollout, read_after, read_in_pieces


@pytest.mark.parametrize("number", [1, 4, 20])
def test_a_result_behind_queued_prompts_ends_its_call(transcript, read, number):
    t = transcript()
    t.user("run the tests")
    t.agent({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pytest"}})
    for place in range(number):
        queued = {"type": "queued_command", "commandMode": "prompt", "prompt": f"and {place}"}
        t.add("attachment", attachment=queued)
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Exit code 2\nno", "is_error": True}
    t.user([block])
    t.agent("two failed")
    session = read(t)
    assert len(session.turns) == number + 1
    assert [call.exit_code for call in session.turns[0].tool_calls] == [2]
    assert session.turns[0].signals == (Signal.ERROR,)
    assert session.turns[-1].answer == "two failed"


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


@pytest.mark.parametrize("cut", [None, 3, 4, 5])
def test_what_stops_a_call_behind_queued_prompts_belongs_to_the_prompt_that_led_to_it(transcript, cut):
    # Escape sends what was queued: it is written before the end of what it stopped.
    t = transcript()
    t.user("migrate the database")
    asked = t.agent({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}})
    t.user("not on production", promptSource="queued", origin={"kind": "human"})
    t.user("and make a backup", promptSource="queued", origin={"kind": "human"})
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": REFUSED, "is_error": True}
    t.user([block], toolDenialKind="user-rejected", toolUseResult="User rejected tool use")
    stopped = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    t.user(stopped, interruptedMessageId=asked["message"]["id"])
    t.agent("a backup is made")
    path = t.write()
    reading = read_after(path, cut, SOURCES["claude"])
    first, second, third = reading.session.turns
    assert first.signals == (Signal.ERROR, Signal.INTERRUPTION, Signal.REFUSAL)
    assert (second.signals, third.signals) == ((), ())
    assert third.answer == "a backup is made"


def test_a_call_that_never_ends_keeps_no_more_than_the_latest_turns_open(transcript, read):
    t = transcript()
    t.user("watch")
    t.agent({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "tail -f log"}})
    for place in range(100):
        t.user(f"and {place}")
        t.agent("yes")
    session = read(t)
    assert len(session.turns) == 101
    assert session.tokens.output == 101 * 5


def test_an_output_behind_prompts_that_steer_the_agent_ends_its_call(tmp_path):
    r = Rollout(tmp_path)
    r.begin()
    r.prompt("run the tests")
    r.item("function_call", name="exec_command", arguments='{"cmd": "pytest"}', call_id="call_1")
    for place in range(5):
        r.prompt(f"and {place}")
    output = "Chunk ID: 0a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno"
    r.item("function_call_output", call_id="call_1", output=output)
    session = r.read()
    assert len(session.prompts) == 6
    assert session.turns[0].tool_calls[0].exit_code == 2


@pytest.mark.parametrize(("content", "error", "code"), [("ok", False, 0), ("Exit code 3\nno", True, 3)])
@pytest.mark.parametrize("cut", [False, True], ids=["at once", "in pieces"])
def test_a_result_that_is_written_before_its_call_ends_it(transcript, content, error, code, cut):
    t = transcript()
    t.user("run the tests")
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, "is_error": error}
    t.user([block])
    t.agent({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pytest"}})
    t.agent("ran them")
    path = t.write()
    whole = path.read_bytes()
    claims, resume = MemoryClaims(), None
    for size in [len(b"".join(whole.splitlines(keepends=True)[:2]))] * cut + [len(whole)]:
        path.write_bytes(whole[:size])
        [reading] = read_file(SOURCES["claude"], path, claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    [turn] = reading.session.turns
    assert [(call.exit_code, call.error) for call in turn.tool_calls] == [(code, content if error else None)]


def test_an_output_of_codex_that_is_written_before_its_call_ends_it(tmp_path):
    r = Rollout(tmp_path)
    r.begin()
    r.prompt("run the tests")
    output = "Chunk ID: 0a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno"
    r.item("function_call_output", call_id="call_1", output=output)
    r.item("function_call", name="exec_command", arguments='{"cmd": "pytest"}', call_id="call_1")
    r.answer("ran them")
    path, whole = r.write(), r.data
    at_once = r.read()
    assert [(call.exit_code, call.error) for call in at_once.turns[0].tool_calls] == [(2, "no")]
    for cut in range(0, len(whole), 61):
        assert read_in_pieces(path, whole, [cut]).session == at_once
