"""What Copilot CLI's events hold besides the user's words, and what must never be taken for them."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import SOURCES, Kind, MemoryClaims, Signal, Tokens, mark_corrections, read_file
from skillopt_harvesters.sources.copilot.words import find_words, strip_injected
from tests.support.copilot_events import Events

COPILOT = SOURCES["copilot"]


@pytest.fixture
def read(tmp_path):
    """Write events and read them back as a session."""

    def read_back(events, claims=None):
        path = events.write(tmp_path) if isinstance(events, Events) else events
        return read_file(COPILOT, path, claims=claims)[0].session

    return read_back


@pytest.mark.parametrize(
    "data",
    [
        {"source": "system"},
        {"source": "system", "delivery": "steering"},
        {"source": "agent-5f0c", "delivery": "idle", "parentAgentTaskId": "t"},
        {"source": "instruction-discovery"},
        {"source": "skill-pdf"},
        {"isAutopilotContinuation": True},
        {"agent": "agent-5f0c"},
        {"parentToolCallId": "call_1"},
    ],
)
def test_a_message_that_is_not_a_persons_opens_no_turn(read, data):
    events = Events()
    events.user("the only prompt")
    events.agent("the answer")
    events.user("not the user's words", **data)
    assert read(events).prompts == ("the only prompt",)


@pytest.mark.parametrize("source", ["user", "", None])
def test_a_message_that_says_it_is_a_persons_is_one(read, source):
    events = Events()
    events.user("the prompt", source=source)
    assert read(events).prompts == ("the prompt",)


@pytest.mark.parametrize("content", ["", "  \n", None, 7, [], {"text": "x"}])
def test_a_message_without_words_opens_no_turn(read, content):
    events = Events()
    events.user("the only prompt")
    events.user(content)
    assert read(events).prompts == ("the only prompt",)


@pytest.mark.parametrize("delivery", ["idle", "queued", "steering"])
def test_a_person_may_speak_while_the_agent_works(read, delivery):
    events = Events()
    events.user("first")
    events.agent("working")
    events.user("no, the other file", delivery=delivery)
    session = read(events)
    assert session.prompts == ("first", "no, the other file")
    assert Signal.CORRECTION in mark_corrections(session).turns[1].signals


def test_what_the_model_was_sent_is_never_the_prompt(read):
    events = Events()
    events.user(
        "fix it", transformedContent="<current_datetime>x</current_datetime>\n\nfix it\n@a.py: secret"
    )
    assert read(events).prompts == ("fix it",)


def test_elements_the_client_puts_around_a_prompt_are_taken_off():
    assert strip_injected("<current_datetime>x</current_datetime>\n\nfix it") == "fix it"
    assert strip_injected("fix it\n\n<reminder>\n<sql_tables>x</sql_tables>\n</reminder>") == "fix it"
    assert strip_injected("<environment_info>\nos: Linux\n</environment_info>") == ""
    assert strip_injected("<system_notification>never closed") == ""
    assert strip_injected("<userRequest>\nfix it\n</userRequest>") == "fix it"
    assert strip_injected("what does <reminder> mean?") == "what does <reminder> mean?"


@pytest.mark.parametrize(
    ("content", "command", "prompt"),
    [
        ("/build-feature mode: drain", "/build-feature", "mode: drain"),
        ("/plugin:greet Bob", "/plugin:greet", "Bob"),
        ("/clear", "/clear", ""),
        ("@workspace /explain this", "/explain", "this"),
        ("/home/user/x.py is broken", None, "/home/user/x.py is broken"),
        ("/tmp is full", None, "/tmp is full"),
        ("/var/log fills up", None, "/var/log fills up"),
        ("look at /clear", None, "look at /clear"),
    ],
)
def test_a_slash_command_is_a_command_and_a_path_is_not(content, command, prompt):
    words = find_words(content)
    assert (words.command, words.prompt) == (command, prompt)


def test_a_command_line_the_user_typed_is_a_turn_but_no_prompt(read):
    events = Events()
    events.user("first")
    events.add("tool.user_requested", toolCallId="c1", toolName="bash", arguments={"command": "git status"})
    events.add("tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "git status"})
    events.complete("c1", shellExecution={"exitCode": 0}, isUserRequested=True)
    session = read(events)
    assert session.prompts == ("first",)
    assert (session.turns[1].command, session.turns[1].prompt) == ("!", "git status")
    assert [call.exit_code for call in session.turns[1].tool_calls] == [0]


def test_arguments_may_be_an_object_or_a_string_that_holds_one(read):
    events = Events()
    events.user("go")
    events.agent("", events.request("bash", {"command": "pytest -q"}, "c1"))
    events.agent("", events.request("bash", json.dumps({"command": "ruff check"}), "c2"))
    events.agent("", events.request("apply_patch", "*** Begin Patch\n*** Update File: a/b.py\n+x\n", "c3"))
    events.agent("", events.request("bash", "not json", "c4"))
    events.agent("", events.request("bash", None, "c5"))
    [turn] = read(events).turns
    assert [call.command for call in turn.tool_calls][:2] == ["pytest -q", "ruff check"]
    assert turn.tool_calls[2].files == ("a/b.py",)
    assert len(turn.tool_calls) == 5


def test_a_call_without_a_start_is_found_by_its_request_and_one_without_a_result_stays_open(read):
    events = Events()
    events.user("go")
    events.agent("", events.request("bash", {"command": "make"}, "c1"), events.request("view", {}, "c2"))
    events.complete("c1", result={"content": "x\n<exited with exit code 2>"})
    events.complete("unheard of", success=False)
    [turn] = read(events).turns
    assert [(call.name, call.exit_code, call.error) for call in turn.tool_calls] == [
        ("bash", 2, "x\n<exited with exit code 2>"),
        ("view", None, None),
    ]


def test_a_command_that_failed_is_a_success_of_the_tool(read):
    events = Events()
    events.user("fix the tests")
    events.call(
        arguments={"command": "pytest -q"}, shellExecution={"exitCode": 1}, result={"content": "1 failed"}
    )
    [turn] = read(events).turns
    assert (turn.tool_calls[0].exit_code, turn.tool_calls[0].error) == (1, "1 failed")
    assert turn.signals == (Signal.ERROR,)
    events.call(arguments={"command": "pytest -q"}, shellExecution={"exitCode": 0}, result={"content": "ok"})
    assert Signal.VERIFIED in read(events).turns[0].signals


def test_text_that_only_speaks_of_an_exit_code_is_not_one(read):
    events = Events()
    events.user("go")
    events.call("view", {"path": "a"}, result={"content": "<exited with exit code 3>"})
    events.call("bash", result={"content": "<exited with exit code 3>\nand then went on"})
    assert [call.exit_code for call in read(events).turns[0].tool_calls] == [None, None]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("The user rejected this tool call. User feedback: use pnpm", ("use pnpm",)),
        ("The user rejected this tool call.", ()),
        (
            "The tool call required approval from the user, but the user rejected it or an earlier call.",
            (),
        ),
    ],
)
def test_a_rejected_call_is_a_refusal_with_the_users_reason(read, error, words):
    events = Events()
    events.user("install")
    events.call(success=False, error={"message": error, "code": "rejected"})
    [turn] = read(events).turns
    assert turn.refusals == words
    assert set(turn.signals) == {Signal.REFUSAL, Signal.ERROR}


def test_a_refusal_survives_the_loss_of_the_record_with_its_call(read):
    events = Events()
    events.user("install")
    error = {"message": "The user rejected this tool call. User feedback: use pnpm", "code": "rejected"}
    events.complete("lost", success=False, error=error)
    [turn] = read(events).turns
    assert (turn.refusals, turn.signals) == (("use pnpm",), (Signal.REFUSAL,))


def test_what_another_programs_tool_calls_a_refusal_is_a_failure(read):
    events = Events()
    events.user("fetch the issues")
    error = {"message": "The user rejected this tool call. User feedback: use pnpm", "code": "failure"}
    events.call("tracker-fetch", {}, success=False, error=error)
    [turn] = read(events).turns
    assert (turn.refusals, turn.signals) == ((), (Signal.ERROR,))


def test_a_refusal_told_twice_counts_once(read):
    events = Events()
    events.user("install")
    events.agent("", events.request("bash", {"command": "npm i"}, "c1"))
    result = {"kind": "denied-interactively-by-user", "feedback": "use pnpm"}
    events.add("permission.completed", requestId="r", toolCallId="c1", result=result)
    error = {"message": "The user rejected this tool call. User feedback: use pnpm", "code": "denied"}
    events.complete("c1", success=False, error=error)
    assert read(events).turns[0].refusals == ("use pnpm",)


@pytest.mark.parametrize("kind", ["denied-by-rules", "denied-by-permission-request-hook", "approved"])
def test_a_rules_decision_is_not_the_users(read, kind):
    events = Events()
    events.user("install")
    events.add("permission.completed", requestId="r", toolCallId="c1", result={"kind": kind})
    assert Signal.REFUSAL not in read(events).turns[0].signals


@pytest.mark.parametrize(
    ("reason", "stopped"),
    [
        ("user_initiated", True),
        ("user_abort", True),
        ("remote_command", True),
        ("autopilot_credit_limit", False),
    ],
)
def test_an_abort_is_an_interruption_when_it_was_somebodys(read, reason, stopped):
    events = Events()
    events.user("go")
    events.agent("half an answ")
    events.add("abort", reason=reason)
    [turn] = read(events).turns
    assert (Signal.INTERRUPTION in turn.signals) == stopped


def test_an_error_of_the_service_marks_the_turn(read):
    events = Events()
    events.user("go")
    events.add("session.error", errorType="query", message="500")
    assert read(events).turns[0].signals == (Signal.ERROR,)


def test_a_message_in_chunks_is_one_message(read):
    events = Events()
    events.user("go")
    events.agent("Part one.", apiCallId="a1", chunkIndex=0, chunkCount=2, outputTokens=9)
    events.agent("Part two.", apiCallId="a1", chunkIndex=1, chunkCount=2, outputTokens=9)
    session = read(events)
    assert session.turns[0].answer == "Part one.\n\nPart two."
    assert session.tokens.output == 9


def test_tokens_are_counted_once_from_receipts(read):
    events = Events()
    events.user("go")
    events.receipt("a1", 100, 10)
    events.agent("x", apiCallId="a1", outputTokens=10)
    events.receipt("a2", 200, 20, agent="sub")
    events.shutdown(300, 30)
    session = read(events)
    assert (session.tokens.input, session.tokens.output) == (300, 30)
    assert session.turns[0].tokens == session.tokens


CACHED = {"inputTokens": 1010, "outputTokens": 50, "cacheReadTokens": 900, "cacheWriteTokens": 60}


@pytest.mark.parametrize("receipts", [True, False], ids=["receipts", "totals alone"])
def test_what_the_client_counts_as_input_and_as_cache_counts_once(read, receipts):
    events = Events()
    events.user("go")
    for number in range(2 if receipts else 0):
        events.add("session.usage_record", usage={"apiCallId": f"a{number}", **CACHED})
    events.agent("x")
    doubled = {key: value * 2 for key, value in CACHED.items()}
    events.add("session.shutdown", modelMetrics={"some-model": {"usage": doubled}})
    assert read(events).tokens == Tokens(input=100, output=100, cache_read=1800, cache_write=120)


def test_input_that_cannot_hold_the_cache_stays_as_it_is_told(read):
    events = Events()
    events.user("go")
    events.add("session.usage_record", usage={"apiCallId": "a", **CACHED, "inputTokens": 50})
    assert read(events).tokens == Tokens(input=50, output=50, cache_read=900, cache_write=60)


def test_totals_since_the_session_began_are_taken_from_the_last(read):
    events = Events()
    for inputs, outputs in ((100, 10), (350, 30)):
        events.user("go")
        events.agent("x", outputTokens=outputs if outputs == 10 else 20)
        events.shutdown(inputs, outputs)
        events.add("session.resume", resumeTime="t", eventCount=3)
    session = read(events)
    assert (session.tokens.input, session.tokens.output) == (350, 30)


def test_totals_of_each_run_are_added(read):
    events = Events()
    for inputs, outputs in ((500, 50), (300, 30)):
        events.user("go")
        events.agent("x", outputTokens=outputs)
        events.shutdown(inputs, outputs)
        events.add("session.resume", resumeTime="t", eventCount=3)
    session = read(events)
    assert (session.tokens.input, session.tokens.output) == (800, 80)


def test_a_session_killed_before_its_totals_has_what_its_messages_say(read):
    events = Events()
    events.user("go")
    events.agent("x", outputTokens=7)
    assert read(events).tokens.output == 7


def test_numbers_that_are_none_are_not_counted(read):
    events = Events()
    events.user("go")
    for number in (-5, 10**30, "seven", True, 1.5, None):
        events.receipt(f"a{number}", number, number)
        events.call(shellExecution={"exitCode": number})
    session = read(events)
    assert session.tokens.output == 0
    assert read_file(COPILOT, session_path(session))[0].state


def session_path(session):
    from pathlib import Path

    return Path(session.path)


def test_the_skill_a_user_names_is_loaded_for_the_prompt_that_follows(read):
    events = Events()
    events.user("before")
    events.add("skill.invoked", name="greet", path="/s/greet/SKILL.md", content="x", trigger="user-invoked")
    events.user("/greet Bob")
    events.add("skill.invoked", name="other", path="/s/other/SKILL.md", content="x", trigger="agent-invoked")
    session = read(events)
    assert [turn.skills for turn in session.turns] == [(), ("greet", "other")]


def test_the_skills_on_offer_stand_in_the_system_prompt(read):
    listing = (
        "<available_skills>\n<skill>\n  <name>greet</name>\n  <description>x</description>\n</skill>\n"
        "<skill>\n  <name>deploy</name>\n</skill>\n</available_skills>\n<name>not one</name>"
    )
    events = Events()
    events.user("go")
    events.add("system.message", role="system", content=listing)
    events.add("system.message", role="system", content=listing.replace("greet", "agents"), agent="sub")
    assert read(events).skills_offered == ("greet", "deploy")


def test_a_prompt_given_as_an_argument_is_a_programs(read):
    alone = "You are the GitHub Copilot CLI. You are running in non-interactive mode and have no way to ask"
    events = Events()
    events.user("count the files")
    events.add("system.message", role="system", content=alone)
    events.agent("3")
    session = read(events)
    assert (session.kind, session.turns[0].typed) == (Kind.HEADLESS, False)
    events.add("session.resume", resumeTime="t", eventCount=4)
    events.user("thanks, and now?")
    events.add("system.message", role="system", content="You are the GitHub Copilot CLI. Ask when in doubt.")
    session = read(events)
    assert session.kind is Kind.HUMAN
    assert [turn.typed for turn in session.turns] == [False, True]


def test_a_session_that_goes_on_for_another_is_an_agents(read):
    events = Events(detachedFromSpawningParentSessionId="parent-1")
    events.user("tidy up")
    session = read(events)
    assert (session.kind, session.parent) == (Kind.SUBAGENT, "parent-1")


@pytest.mark.parametrize(
    "folder", ["/tmp/skillopt-replay-x1/project", "C:\\Temp\\skillopt-replay-x1\\project"]
)
def test_a_session_in_a_replay_folder_is_ours(read, folder):
    events = Events(cwd=folder)
    events.user("go")
    assert read(events).kind is Kind.REPLAY


def test_branch_commit_and_model_come_from_wherever_they_stand(read):
    events = Events(context={"cwd": "/w"})
    context = {"cwd": "/w/sub", "branch": "dev", "headCommit": "a1b2c3"}
    events.add("session.context_changed", **context)
    events.add("session.model_change", newModel="gpt-5.4")
    events.user("go")
    session = read(events)
    assert (session.project, session.branch, session.commit) == ("/w", "dev", "a1b2c3")
    assert session.model == "gpt-5.4"


def test_growing_copies_of_a_session_count_each_event_once(tmp_path):
    events = Events()
    events.user("write the parser")
    events.agent("written", outputTokens=5)
    small = tmp_path / "a57c7eb5-v1.jsonl"
    small.write_text(events.text)
    events.user("no, use `lark`, not `ply`")
    events.agent("done", outputTokens=3)
    events.shutdown(100, 8)
    large = tmp_path / "a57c7eb5-v2.jsonl"
    large.write_text(events.text)
    claims = MemoryClaims()
    first = read_file(COPILOT, small, claims=claims)[0].session
    second = read_file(COPILOT, large, claims=claims)[0].session
    assert (first.prompts, second.prompts) == (("write the parser",), ("no, use `lark`, not `ply`",))
    assert second.before.prompt == "write the parser"
    assert Signal.CORRECTION in mark_corrections(second).turns[0].signals
    assert (first.tokens.output, second.tokens.output) == (5, 3)


@pytest.mark.parametrize("prompts", [1, 3])
def test_calls_that_a_server_numbers_anew_with_every_answer_are_calls_of_their_own(read, prompts):
    events = Events()
    for code in range(3):
        if code < prompts:
            events.user(f"prompt {code}")
        request = events.request(call="0")
        events.agent("", request)
        events.add("tool.execution_start", toolCallId="0", toolName="bash", arguments=request["arguments"])
        events.complete("0", shellExecution={"exitCode": code}, result={"content": ""})
    assert [call.exit_code for turn in read(events).turns for call in turn.tool_calls] == [0, 1, 2]


def test_a_call_that_is_asked_for_behind_its_end_counts_once(read):
    events = Events()
    events.user("list the files")
    events.add("tool.execution_start", toolCallId="a", toolName="bash", arguments={"command": "ls"})
    events.complete("a", shellExecution={"exitCode": 0}, result={"content": ""})
    events.agent("", events.request(call="a"))
    assert [call.command for call in read(events).turns[0].tool_calls] == ["ls"]


def test_an_event_written_twice_counts_once_and_a_prompt_typed_twice_counts_twice(read):
    events = Events()
    events.user("go on")
    events.agent("done")
    events.records.extend(events.records[1:])
    events.user("go on")
    assert read(events).prompts == ("go on", "go on")


def test_lines_of_prompt_mode_and_of_no_known_type_are_counted(read, tmp_path):
    events = Events()
    events.user("go")
    events.add("brand.new_event")
    path = events.write(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"prompt","prompt":"x","cwd":"/w","output":"y","timestamp":"t"}\n')
        file.write(b'{"type":"user.message","prompt":"x"}\n{"type":"user.message","data":"x"}\n')
        file.write(b'[1]\nnull\n"text"\n{"type":"user.mess\n')
    session = read(path)
    assert session.prompts == ("go",)
    assert session.skipped == 2 + 2 + 4
    assert any("brand.new_event" in warning for warning in session.warnings)


def test_everything_stored_is_redacted(read, tmp_path):
    secret = "ghp_" + "x9Yz8Wv7Ut6Sr5Qp4On3"
    events = Events()
    events.user(f"push with {secret}")
    events.call(
        arguments={"command": f"git push https://u:{secret}@host"},
        shellExecution={"exitCode": 1},
        result={"content": secret},
    )
    error = {"message": f"The user rejected this tool call. User feedback: never use {secret}"}
    events.call(success=False, error=error)
    events.agent(f"I used {secret}")
    [reading] = read_file(COPILOT, events.write(tmp_path))
    assert secret not in repr(reading.session)
    assert secret.encode() not in reading.state


def test_a_session_of_the_oldest_clients_is_read_from_its_timeline(tmp_path):
    at = "2025-10-01T10:00:00.000Z"
    asked = {"callId": "c1", "name": "bash", "intentionSummary": None, "arguments": {"command": "make test"}}
    failed = {"type": "success", "log": "1 failed\n<exited with exit code 1>"}
    timeline = [
        {"id": "1", "timestamp": at, "type": "info", "text": "Welcome"},
        {"id": "2", "timestamp": at, "type": "user", "text": "run the tests"},
        {"id": "3", "timestamp": at, "type": "tool_call_requested", **asked},
        {"id": "4", "timestamp": at, "type": "tool_call_completed", **asked, "result": failed},
        {"id": "5", "timestamp": at, "type": "copilot", "text": "One fails."},
        {"id": "6", "timestamp": at, "type": "user", "text": "/fix it"},
        {
            "id": "7",
            "timestamp": at,
            "type": "tool_call_completed",
            "callId": "c2",
            "name": "create",
            "intentionSummary": None,
            "arguments": {"path": "a.py", "file_text": "x"},
            "result": {"type": "rejected"},
        },
        {"id": "8", "timestamp": at, "type": "error", "text": "gone"},
    ]
    document = {
        "sessionId": "3f1c",
        "startTime": at,
        "chatMessages": [{"role": "user", "content": "<reminder>x</reminder>run the tests"}],
        "timeline": timeline,
        "selectedModel": "claude-sonnet-4.5",
    }
    path = tmp_path / "session_3f1c_1759312800000.json"
    path.write_text(json.dumps(document, indent=2))
    assert COPILOT.recognise(path.read_bytes()[:65536])
    [reading] = read_file(COPILOT, path)
    session = reading.session
    assert (session.id, session.started, session.model) == ("3f1c", at, "claude-sonnet-4.5")
    assert session.prompts == ("run the tests", "/fix it")
    assert session.turns[0].answer == "One fails."
    assert [(call.command, call.exit_code) for call in session.turns[0].tool_calls] == [("make test", 1)]
    assert set(session.turns[1].signals) == {Signal.REFUSAL, Signal.ERROR}
    assert reading.offset == path.stat().st_size

    imported = Events()
    imported.add("session.import_legacy", legacySession=document, importTime=at, sourceFile="x")
    imported.user("and now?")
    imported.write(tmp_path)
    prompts = read_file(COPILOT, imported.write(tmp_path))[0].session.prompts
    assert prompts == ("run the tests", "/fix it", "and now?")

    path.write_text(json.dumps(document, indent=2)[:-400])
    session = read_file(COPILOT, path)[0].session
    assert session.prompts == ("run the tests", "/fix it")
    assert session.skipped == 1


def test_only_session_files_are_found_and_nothing_of_the_users(private_home, tmp_path):
    state = private_home / ".copilot" / "session-state"
    for name in (
        "one/events.jsonl",
        "one/files/data.jsonl",
        "one/rewind-file-snapshots/backups/events.jsonl",
        "two/workspace.yaml",
        "three.jsonl",
        "three.json",
    ):
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).touch()
    history = private_home / ".copilot" / "history-session-state"
    history.mkdir()
    (history / "session_x_1.json").touch()
    roots = COPILOT.roots({}, private_home)
    found = [path for root in roots for path in COPILOT.discover(root)]
    assert [path.relative_to(private_home / ".copilot").as_posix() for path in found] == [
        "session-state/one/events.jsonl",
        "session-state/three.jsonl",
        "history-session-state/session_x_1.json",
    ]
    assert list(COPILOT.discover(tmp_path / "missing")) == []


def test_the_configured_folder_replaces_the_defaults(private_home, tmp_path):
    names = ("session-state", "history-session-state")
    home = private_home / ".copilot"
    assert COPILOT.roots({}, private_home) == tuple(home / name for name in names)
    xdg = {"XDG_STATE_HOME": str(tmp_path)}
    assert COPILOT.roots(xdg, private_home)[2:] == tuple(tmp_path / ".copilot" / name for name in names)
    both = {"COPILOT_HOME": f"{tmp_path}/a,{tmp_path}/b", **xdg}
    assert COPILOT.roots(both, private_home) == tuple(
        tmp_path / folder / name for folder in "ab" for name in names
    )


def test_look_alikes_are_refused():
    for line in (
        '{"type":"session_meta","payload":{"id":"x"},"timestamp":"t"}',
        '{"type":"user","uuid":"1","sessionId":"s","isSidechain":false,"message":{"content":"x"}}',
        '{"type":"user.message","data":{"content":"x"}}',
        '{"type":"session.start","data":{"copilotVersion":"0.37","vscodeVersion":"1.109"},"id":"1","parentId":null}',
        '{"type":"session.start","data":{"producer":"other"},"id":"1","parentId":null}',
        '{"sessionId":"s","startTime":"t","history":[]}',
        '{"a":1}',
        "hello",
        "",
    ):
        assert not COPILOT.recognise(line.encode() + b"\n"), line


def test_a_file_that_lost_its_first_line_is_still_recognised(read, tmp_path):
    events = Events()
    events.user("go")
    events.agent("done")
    path = events.write(tmp_path)
    rest = path.read_bytes().split(b"\n", 1)[1]
    assert COPILOT.recognise(b'{"type":"session.sta\n' + rest)
    assert COPILOT.recognise(rest)


@pytest.mark.parametrize(
    ("shown", "told", "command", "prompt"),
    [
        (
            "Review: the diff",
            "[[PLAN]] The user has requested a code review via the /review command.",
            "/review",
            "the diff",
        ),
        (
            "Review: my code changes",
            "The user has requested a code review via the /review command.",
            "/review",
            "",
        ),
        (
            "Security Review: analyzing for vulnerabilities",
            "The user has requested a security-focused code review via the /security-review command.",
            "/security-review",
            "",
        ),
        (
            "Fleet deployed: build\n\nand test",
            "You are now in fleet mode. Dispatch.",
            "/fleet",
            "build\n\nand test",
        ),
        ("Fleet deployed", "You are now in fleet mode. Dispatch.", "/fleet", ""),
        (
            "Rubber duck: my locks",
            "The user has requested a rubber duck review via the /rubber-duck command.",
            "/rubber-duck",
            "my locks",
        ),
        (
            "Rubber duck: the current approach",
            "The user has requested a rubber duck review via the /rubber-duck command.",
            "/rubber-duck",
            "",
        ),
        (
            "Diagnose: why so slow",
            "The user has requested a session diagnosis via the /diagnose command.",
            "/diagnose",
            "why so slow",
        ),
        (
            "Diagnose: this session",
            "The user has requested a session diagnosis via the /diagnose command.",
            "/diagnose",
            "",
        ),
        ("Summarizing 3 changelogs…", "Summarize the following changelogs into one.", "/changelog", ""),
        (
            "GitHub search tools not available. Log in.\n\nResearching: the topic",
            "## MANDATORY CONSTRAINT\n\nYou are a **RESEARCH ORCHESTRATOR**.",
            "/research",
            "the topic",
        ),
    ],
)
def test_what_the_client_shows_for_a_command_is_the_command(read, shown, told, command, prompt):
    events = Events()
    events.user(shown, transformedContent=f"<current_datetime>now</current_datetime>\n\n{told}")
    events.agent("done")
    (turn,) = read(events).turns
    assert (turn.command, turn.prompt) == (command, prompt)


def test_an_objective_set_for_the_autopilot_is_a_prompt(read):
    events = Events()
    events.user("build it")
    events.agent("built")
    for shown in ("Autopilot objective: make it\nblue", "Resume autopilot objective: make it\nblue"):
        events.user(shown, source="autopilot-objective", agentMode="autopilot")
        events.agent("working")
        events.user("", source="autopilot", agentMode="autopilot")
        events.agent("more")
    turns = read(events).turns
    assert [(turn.command, turn.prompt) for turn in turns] == [
        (None, "build it"),
        ("/autopilot", "make it\nblue"),
        ("/autopilot", ""),
    ]


def _refuse_plan(words):
    message = f"Plan not approved. User feedback:\n\n{words}\n\nPlease update the plan based on this feedback"
    return f"{message} and try again."


@pytest.mark.parametrize("receipts", [0, 1])
def test_changes_wanted_in_a_plan_are_a_refusal_with_the_users_words(read, receipts):
    events = Events()
    events.user("begin")
    events.agent("begun")
    for number in range(receipts):
        events.receipt(f"r{number}", 10, 5)
    events.user("plan it")
    events.agent("", events.request("exit_plan_mode", {"summary": "- do it"}, "c1"))
    events.complete("c1", result={"content": _refuse_plan("only one file\n\nand no tests")})
    turn = read(events).turns[1]
    assert Signal.REFUSAL in turn.signals
    assert turn.refusals == ("only one file\n\nand no tests",)


def test_a_plan_that_is_put_away_is_refused_without_words(read):
    events = Events()
    events.user("plan it")
    events.agent("", events.request("exit_plan_mode", {"summary": "- do it"}, "c1"))
    message = _refuse_plan("User requested changes but did not provide specific feedback.")
    events.complete("c1", success=False, error={"message": message, "code": "rejected"})
    turn = read(events).turns[0]
    assert Signal.REFUSAL in turn.signals
    assert turn.refusals == ()


def test_what_another_tool_prints_of_a_refused_plan_refuses_nothing(read):
    events = Events()
    events.user("show the log")
    events.agent("", events.request("bash", {"command": "cat log"}, "c1"))
    events.complete("c1", result={"content": _refuse_plan("only one file")})
    assert Signal.REFUSAL not in read(events).turns[0].signals


def test_work_that_the_client_goes_on_with_after_a_crash_is_the_prompts_before(read):
    events = Events()
    events.user("build it")
    events.agent("begun")
    told = "This session was interrupted while you were working. Go on."
    events.user("Continue the work that was interrupted.", transformedContent=told)
    events.agent("done")
    (turn,) = read(events).turns
    assert turn.prompt == "build it"


@pytest.mark.parametrize(
    "text",
    [
        "Review: the diff",
        "Fleet deployed",
        "Researching: the topic",
        "Reviewing",
        "Diagnose: the build",
        "Continue the work that was interrupted.",
        "Summarizing 3 changelogs…",
    ],
)
def test_a_prompt_that_begins_like_what_is_shown_for_a_command_is_the_users(read, text):
    events = Events()
    events.user(text, transformedContent=f"<current_datetime>now</current_datetime>\n\n{text}")
    events.agent("done")
    assert read(events).prompts == (text,)
