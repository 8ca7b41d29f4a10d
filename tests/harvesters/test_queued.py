"""Prompts queued while a tool runs: its result comes behind them all."""

from __future__ import annotations

import pytest

from skillopt_harvesters import Signal
from tests.harvesters.rollouts import Rollout


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
