"""Command lines that the user gives to a shell while the agent works."""

from __future__ import annotations

import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, read_file
from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events

SHELL = (
    "<user_shell_command>\n<command>\ngit status\n</command>\n"
    "<result>\nExit code: 0\n</result>\n</user_shell_command>"
)


def read_in_two(client, path, cut):
    """Read a file up to a line, then what follows; return the session."""
    lines = path.read_bytes().splitlines(keepends=True)
    claims, resume = MemoryClaims(), None
    for number in (cut, len(lines)):
        path.write_bytes(b"".join(lines[:number]))
        [reading] = read_file(SOURCES[client], path, claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    return reading.session


def tell(session):
    return [(turn.command, turn.prompt, turn.answer, len(turn.tool_calls)) for turn in session.turns]


@pytest.mark.parametrize("cut", range(2, 14))
def test_codex_goes_on_with_the_prompt_when_a_shell_line_is_typed_meanwhile(tmp_path, cut):
    r = Rollout(tmp_path)
    r.begin()
    r.prompt("run the tests")
    r.call("pytest")
    r.given(SHELL)
    r.call("pytest -x")
    r.answer("they pass")
    r.end()
    r.begin()
    r.given(SHELL)
    r.end()
    assert len(r.lines) > 13
    r.write()
    session = read_in_two("codex", r.path, cut)
    aside = ("!", "git status", "", 0)
    assert tell(session) == [aside, (None, "run the tests", "they pass", 2), aside]


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("cut", range(2, 9))
def test_copilot_goes_on_with_the_prompt_when_a_shell_line_is_typed_meanwhile(tmp_path, told, cut):
    events = Events()
    events.user("run the tests")
    request = events.request("bash", {"command": "pytest"})
    events.agent("", request)
    events.add("tool.user_requested", toolCallId="c1", toolName="bash", arguments={"command": "git status"})
    if told:
        line = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "git status"}}
        events.add("tool.execution_start", **line)
    events.complete("c1", shellExecution={"exitCode": 3})
    events.complete(request["toolCallId"], shellExecution={"exitCode": 0})
    events.agent("they pass")
    events.receipt("a1", 10, 5)
    session = read_in_two("copilot", events.write(tmp_path), cut)
    assert tell(session) == [("!", "git status", "", int(told)), (None, "run the tests", "they pass", 1)]
    assert [call.exit_code for call in session.turns[1].tool_calls] == [0]
    assert session.turns[1].tokens.output == 5


def test_a_shell_line_behind_a_call_that_was_stopped_comes_behind_it(tmp_path):
    events = Events()
    events.user("run the tests")
    events.agent("", events.request("bash", {"command": "pytest"}))
    events.add("abort", reason="user_initiated")
    events.add("tool.user_requested", toolCallId="c1", toolName="bash", arguments={"command": "git status"})
    session = read_in_two("copilot", events.write(tmp_path), 3)
    assert [turn.command for turn in session.turns] == [None, "!"]


@pytest.mark.parametrize("metas", [True, False])
@pytest.mark.parametrize("order", [1, -1])
def test_a_fork_of_codex_repeats_the_shell_line_and_the_work_around_it(tmp_path, metas, order):
    parent = Rollout(tmp_path)
    parent.begin()
    parent.prompt("run the tests")
    parent.call("pytest")
    parent.given(SHELL)
    parent.call("pytest -x")
    parent.spend(100, 10)
    parent.answer("they pass")
    parent.end()
    child = Rollout(tmp_path, ms=parent.ms + 3_600_000, forked_from_id=parent.id)
    for line in parent.lines if metas else parent.lines[1:]:
        child.line(line.replace(line[14:38], child.time.encode(), 1))
    child.spent = list(parent.spent)
    child.begin()
    child.prompt("and the other ones")
    child.given(SHELL)
    child.spend(7, 1)
    child.answer("those too")
    child.end()
    claims = MemoryClaims()
    first, second = [session.read(claims) for session in (parent, child)[::order]][::order]
    aside = ("!", "git status", "", 0)
    assert tell(first) == [aside, (None, "run the tests", "they pass", 2)]
    assert tell(second) == [aside, (None, "and the other ones", "those too", 0)]
    assert (first.tokens.input, second.tokens.input) == (100, 7)
