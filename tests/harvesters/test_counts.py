"""Counts that other programs wrote: whole numbers, whatever they look like."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import SOURCES, read_file
from skillopt_harvesters.fitting import to_whole
from tests.harvesters.rollouts import Rollout
from tests.support.pi_session import PiSession


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        (1.0, 1),
        (1e3, 1000),
        ("1", 1),
        (" 12 ", 12),
        ("7.0", 7),
        ("-1", -1),
        ("0", 0),
        (1.5, None),
        ("1.5", None),
        ("", None),
        ("x", None),
        ("1" * 40, None),
        (True, None),
        (None, None),
        (float("inf"), None),
        (float("nan"), None),
        ("\u0661", None),
    ],
    ids=repr,
)
def test_a_whole_number_is_known_as_one(value, number):
    assert to_whole(value) == number


def test_claude_codes_tokens_count_however_they_are_written(transcript, read):
    t = transcript()
    t.user("one")
    t.agent("done", tokens=(10.0, "5"))
    t.agent("done", tokens=("many", 5.5))
    session = read(t)
    assert (session.tokens.input, session.tokens.output, session.skipped) == (10, 5, 0)


def test_codexs_tokens_count_however_they_are_written(tmp_path):
    r = Rollout(tmp_path)
    r.begin()
    r.prompt("one")
    r.spend(100, 10)
    r.lines[-1] = r.lines[-1].replace(b'"input_tokens":100', b'"input_tokens":"100"')
    r.lines[-1] = r.lines[-1].replace(b'"output_tokens":10', b'"output_tokens":10.0')
    assert (r.read().tokens.input, r.read().tokens.output) == (100, 10)


@pytest.mark.parametrize("code", [1, 1.0, "1"])
def test_codexs_exit_codes_count_however_they_are_written(tmp_path, code):
    r = Rollout(tmp_path)
    r.begin()
    r.prompt("one")
    r.item("function_call", name="shell", arguments='{"command": ["make"]}', call_id="call_1")
    r.item("function_call_output", call_id="call_1", output={"output": "no", "metadata": {"exit_code": code}})
    assert r.read().turns[0].tool_calls[0].exit_code == 1


def test_pis_tokens_count_however_they_are_written(tmp_path):
    session = PiSession()
    session.user("one")
    session.agent("done", usage={"input": 10.0, "output": "5"})
    [reading] = read_file(SOURCES["pi"], session.write(tmp_path))
    assert (reading.session.tokens.input, reading.session.tokens.output) == (10, 5)


def test_copilots_exit_codes_and_tokens_count_however_they_are_written(tmp_path):
    start = {"sessionId": "x", "copilotVersion": "1.0.0", "context": {"cwd": "/home/user/project"}}
    shell = {"toolCallId": "c", "toolName": "bash", "arguments": {"command": "make"}}
    ended = {
        "toolCallId": "c",
        "success": True,
        "shellExecution": {"exitCode": "2"},
        "result": {"content": "no"},
    }
    events = [
        ("session.start", start),
        ("user.message", {"content": "one"}),
        ("tool.execution_start", shell),
        ("tool.execution_complete", ended),
        ("assistant.usage", {"inputTokens": "10", "outputTokens": 5.0}),
    ]
    path = tmp_path / "00000000-0000-4000-8000-000000000000.jsonl"
    lines = [
        {"type": kind, "data": data, "id": f"e{n}", "parentId": None, "timestamp": "2026-11-01T10:00:00.000Z"}
        for n, (kind, data) in enumerate(events)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [reading] = read_file(SOURCES["copilot"], path)
    assert (reading.session.tokens.input, reading.session.tokens.output) == (10, 5)
    assert reading.session.turns[0].tool_calls[0].exit_code == 2
