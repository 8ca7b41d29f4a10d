"""What VS Code's chat sessions hold besides the user's words and the agent's answers."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import SOURCES, Kind, MemoryClaims, Signal, Tokens, mark_corrections, read_file
from skillopt_harvesters.sources.vscode.uris import to_path
from tests.support.copilot_events import Events, Transcript
from tests.support.vscode_chats import COPILOT, FILE, Chat, delete, push, put, terminal, tool

VSCODE = SOURCES["vscode"]


@pytest.fixture
def read(tmp_path):
    """Write a chat as a document and read it back as a session."""

    def read_back(chat, claims=None):
        path = chat.write(tmp_path) if isinstance(chat, (Chat, Transcript)) else chat
        return read_file(VSCODE, path, claims=claims)[0].session

    return read_back


def test_a_document_and_an_export_are_read_alike(read, tmp_path):
    chat = Chat()
    chat.ask("write greet.py", "Done.")
    chat.ask("thanks")
    session = read(chat)
    assert (session.id, session.client, session.client_version) == (chat.id, "vscode", "0.37.6")
    assert session.prompts == ("write greet.py", "thanks")
    assert (session.turns[0].answer, session.model) == ("Done.", "claude-sonnet-4")
    assert (session.started, session.ended) == ("2026-11-29T13:10:00.000Z", "2026-11-29T13:11:30.000Z")
    exported = read_file(VSCODE, chat.export(tmp_path / "chat.json"))[0].session
    assert (exported.id, exported.turns) == ("chat", session.turns)
    assert read(chat.write(tmp_path, indent=4)).turns == session.turns


def test_a_sentence_broken_up_by_references_is_whole_again(read):
    chat = Chat()
    symbol = {"name": "greet", "location": {"uri": FILE, "range": {}}}
    chat.ask(
        "where?",
        "See ",
        {"kind": "inlineReference", "inlineReference": FILE},
        " and ",
        {"kind": "inlineReference", "inlineReference": {"uri": FILE, "range": {}}, "name": "greet.py:3"},
        ", ",
        {"kind": "inlineReference", "inlineReference": symbol},
        ".",
    )
    assert read(chat).turns[0].answer == "See greet.py and greet.py:3, greet."


@pytest.mark.parametrize(
    "part",
    [
        {"value": "Hello"},
        {"value": {"value": "Hello", "isTrusted": False}},
        {"kind": "markdownContent", "content": {"value": "Hello"}},
        {"kind": "markdownContent", "content": "Hello"},
        {"kind": "markdownVuln", "content": {"value": "Hello"}, "vulnerabilities": []},
    ],
)
def test_markdown_has_many_shapes(read, part):
    chat = Chat()
    chat.ask("hi", part)
    assert read(chat).turns[0].answer == "Hello"


def test_a_response_and_a_message_may_be_plain_text(read):
    chat = Chat()
    chat.ask("hi")
    chat.requests[0] |= {"message": "hi", "response": "Hello"}
    session = read(chat)
    assert (session.prompts, session.turns[0].answer) == (("hi",), "Hello")


def test_the_answer_is_what_follows_the_last_call(read):
    chat = Chat()
    chat.ask("go", "I look.", tool("copilot_readFile"), "It is ", {"kind": "undoStop"}, "fine.")
    [turn] = read(chat).turns
    assert (turn.answer, [call.name for call in turn.tool_calls]) == ("It is fine.", ["copilot_readFile"])


def test_text_the_client_took_back_is_no_answer(read):
    chat = Chat()
    chat.ask("go", "Public code", {"kind": "clearToPreviousToolInvocation", "reason": 1}, "My own")
    assert read(chat).turns[0].answer == "My own"


def test_fences_around_text_that_went_into_a_file_are_dropped(read):
    chat = Chat()
    edit = {"kind": "textEditGroup", "uri": FILE, "edits": [[{"text": "x", "range": {}}]], "done": True}
    fences = ["I write it.\n", "\n```\n", {"kind": "codeblockUri", "uri": FILE, "isEdit": True}]
    chat.ask("go", *fences, edit, "\n```\n", "Done.")
    [turn] = read(chat).turns
    assert "```" not in turn.answer
    assert turn.answer.endswith("Done.")
    assert [(call.name, call.files) for call in turn.tool_calls] == [
        ("textEditGroup", ("/home/user/project/greet.py",))
    ]


def test_an_edit_belongs_to_the_call_that_made_it(read):
    chat = Chat()
    edit = {"kind": "textEditGroup", "uri": FILE, "edits": []}
    chat.ask("go", tool("copilot_replaceString"), edit, edit, tool("copilot_readFile"), "Done.")
    [turn] = read(chat).turns
    assert [(call.name, len(call.files)) for call in turn.tool_calls] == [
        ("copilot_replaceString", 1),
        ("copilot_readFile", 0),
    ]


def test_a_command_line_and_how_it_ended(read):
    chat = Chat()
    chat.ask("test", terminal("pytest -q", code=1, output="1 failed"), terminal("pytest -q"), "Fixed.")
    [turn] = read(chat).turns
    assert [(call.command, call.exit_code, call.error) for call in turn.tool_calls] == [
        ("pytest -q", 1, "1 failed"),
        ("pytest -q", 0, None),
    ]
    assert set(turn.signals) == {Signal.ERROR, Signal.VERIFIED}


@pytest.mark.parametrize(
    ("data", "command"),
    [
        ({"kind": "terminal", "command": "ls", "language": "sh"}, "ls"),
        ({"kind": "terminal", "commandLine": {"original": "ls", "userEdited": "ls -a"}}, "ls -a"),
        ({"kind": "terminal", "commandLine": {"original": "ls", "toolEdited": " ls"}}, " ls"),
        (
            {"commandLine": {"original": "ls", "toolEdited": "bwrap -- ls", "isSandboxWrapped": True}},
            "ls",
        ),
        ({"kind": "terminal", "commandLine": None}, None),
        (None, None),
    ],
)
def test_the_command_line_that_was_run(read, data, command):
    chat = Chat()
    chat.ask("go", tool("run_in_terminal", toolSpecificData=data))
    [call] = read(chat).turns[0].tool_calls
    assert (call.command, call.exit_code) == (command, None)


def test_a_tool_that_failed_is_an_error(read):
    chat = Chat()
    output = [{"type": "embed", "value": "no such file"}]
    chat.ask("go", tool("mcp_read", resultDetails={"input": "{}", "output": output, "isError": True}))
    [turn] = read(chat).turns
    assert (turn.tool_calls[0].error, turn.signals) == ("no such file", (Signal.ERROR,))


@pytest.mark.parametrize(
    ("confirmed", "refused"),
    [
        ({"type": 0}, True),
        ({"type": 5}, True),
        (False, True),
        ({"type": 0, "source": "user"}, True),
        ({"type": 0, "source": "hook"}, False),
        ({"type": 5, "source": "riskAssessment"}, False),
        ({"type": 0, "source": {}}, False),
        ({"type": 1}, False),
        ({"type": 4}, False),
        (True, False),
        (None, False),
    ],
)
def test_a_call_the_user_did_not_allow_is_a_refusal(read, confirmed, refused):
    chat = Chat()
    chat.ask("go", tool("run_in_terminal", isConfirmed=confirmed))
    assert (Signal.REFUSAL in read(chat).turns[0].signals) == refused


def test_a_call_that_a_cancelled_answer_left_open_is_not_refused(read):
    chat = Chat()
    chat.ask("go", tool("run_in_terminal", isConfirmed={"type": 0}), isCanceled=True)
    assert read(chat).turns[0].signals == (Signal.INTERRUPTION,)


def test_a_rejected_plan_is_a_refusal_in_the_users_words(read):
    chat = Chat()
    review = {"rejected": True, "feedback": "use sqlite"}
    chat.ask("plan it", {"kind": "planReview", "title": "x", "content": "y", "data": review})
    [turn] = read(chat).turns
    assert (turn.refusals, turn.signals) == (("use sqlite",), (Signal.REFUSAL,))


@pytest.mark.parametrize(
    "how",
    [
        {"isCanceled": True, "modelState": ...},
        {"modelState": {"value": 2, "completedAt": 1}},
        {"result": {"errorDetails": {"message": "Canceled", "code": "canceled"}}},
    ],
)
def test_a_cancelled_answer_is_an_interruption_and_keeps_its_half(read, how):
    chat = Chat()
    chat.ask("go", "Half an ans", **how)
    [turn] = read(chat).turns
    assert (turn.answer, turn.signals) == ("Half an ans", (Signal.INTERRUPTION,))


def test_a_failed_answer_is_an_error(read):
    chat = Chat()
    chat.ask("go", result={"errorDetails": {"message": "Sorry, no response was returned."}})
    chat.ask("again", modelState={"value": 3})
    assert [turn.signals for turn in read(chat).turns] == [(Signal.ERROR,), (Signal.ERROR,)]


def test_other_peoples_participants_are_not_ours(read):
    chat = Chat()
    foreign = {"extensionId": {"value": "someone.else"}, "id": "else.agent", "extensionVersion": "1"}
    chat.ask("to copilot", "ours")
    chat.ask("@else to another", "theirs", agent=foreign)
    chat.ask("to the setup", "x", agent={"extensionId": "nullExtensionDescription", "id": "setup.agent"})
    chat.ask("to nobody", "x", agent=...)
    assert read(chat).prompts == ("to copilot", "to the setup", "to nobody")


@pytest.mark.parametrize(
    "more",
    [
        {"isSystemInitiated": True},
        {"requestSource": "agentMerge"},
        {"hiddenFromTranscript": True},
        {"confirmation": "Continue"},
    ],
)
def test_a_request_nobody_typed_goes_on_in_the_turn_before(read, more):
    chat = Chat()
    chat.ask("go", "One.")
    chat.ask("@agent Continue", tool("copilot_readFile"), "Two.", **more)
    [turn] = read(chat).turns
    assert (turn.prompt, turn.answer, len(turn.tool_calls)) == ("go", "Two.", 1)


def test_a_session_in_which_nobody_typed_is_a_programs(read):
    chat = Chat()
    chat.ask("merge it", "done", requestSource="agentMerge")
    assert read(chat).kind is Kind.HEADLESS


def test_injected_users_are_nobody(read):
    chat = Chat()
    chat.ask("<environment_info>\nThe user's current OS is: Linux\n</environment_info>", "noted")
    chat.ask("go", "done")
    session = read(chat)
    assert session.prompts == ("go",)
    assert [turn.typed for turn in session.turns] == [False, True]


def test_a_slash_command_is_in_the_text_or_beside_it(read):
    chat = Chat()
    chat.ask("@workspace /explain this file")
    chat.ask("this file", slashCommand={"name": "tests", "description": "x"})
    chat.ask("/my-prompt Bob")
    turns = read(chat).turns
    assert [(turn.command, turn.prompt) for turn in turns] == [
        ("/explain", "this file"),
        ("/tests", "this file"),
        ("/my-prompt", "Bob"),
    ]


def test_a_request_the_user_went_back_before_is_abandoned(read):
    chat = Chat()
    chat.ask("left", "x")
    chat.ask("right", "y", shouldBeRemovedOnSend={"requestId": "request_0", "afterUndoStop": "1"})
    assert [turn.abandoned for turn in read(chat).turns] == [False, True]


def test_tokens_are_counted_where_they_are_told(read):
    chat = Chat()
    chat.ask("go", promptTokens=100, completionTokens=7)
    chat.ask("go on", promptTokens=-1, completionTokens=10**40)
    chat.ask("and on", promptTokens="x", completionTokens=True)
    session = read(chat)
    assert (session.tokens.input, session.tokens.output) == (100, 7)


def test_a_skill_is_loaded_by_reading_its_instructions(read):
    chat = Chat()
    message = {"value": "Reading [](file:///home/user/.copilot/skills/greet/SKILL.md)"}
    chat.ask("go", tool("copilot_readFile", invocationMessage=message))
    transcript = Transcript()
    transcript.user("go")
    transcript.call("read_file", {"filePath": "/home/user/.copilot/skills/greet/SKILL.md"})
    assert [read(one).turns[0].skills for one in (chat, transcript)] == [("greet",), ("greet",)]


def test_the_state_of_the_repository_is_kept(tmp_path):
    chat = Chat()
    chat.ask("go")
    state = {**chat.state, "repoData": {"localBranch": "dev", "localHeadCommit": "a1b2c3", "diffs": [{}]}}
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({**state, "workingDirectory": "file:///home/user/my%20project"}))
    session = read_file(VSCODE, path)[0].session
    assert (session.branch, session.commit) == ("dev", "a1b2c3")
    assert session.project == "/home/user/my project"


@pytest.mark.parametrize(
    ("workspace", "project"),
    [
        ({"folder": "file:///home/user/my%20project"}, "/home/user/my project"),
        ({"folder": "file:///c%3A/Users/me/app"}, "C:\\Users\\me\\app"),
        ({"folder": "file:///D:/app"}, "D:\\app"),
        ({"folder": "file://server/share/app"}, "\\\\server\\share\\app"),
        ({"folder": "vscode-remote://ssh-remote%2Bbox/home/user/app"}, "/home/user/app"),
        ({"folder": "vscode-remote://wsl%2Bubuntu/home/user/app"}, "/home/user/app"),
        ({"folder": "vscode-vfs://github/a/b"}, None),
        ({"workspace": "file:///home/user/all/all.code-workspace"}, "/home/user/all"),
        ({"workspace": "file:///home/user/.config/Code/Workspaces/17/workspace.json"}, None),
        ({"folder": 5}, None),
        ([], None),
        ("{", None),
    ],
)
def test_the_project_is_the_folder_the_window_was_opened_on(tmp_path, workspace, project):
    storage = tmp_path / "workspaceStorage" / "0f3c"
    chat, transcript = Chat(), Transcript()
    chat.ask("go")
    transcript.user("go")
    paths = [chat.write(storage), transcript.write(storage)]
    text = workspace if isinstance(workspace, str) else json.dumps(workspace)
    (storage / "workspace.json").write_text(text)
    assert [read_file(VSCODE, path)[0].session.project for path in paths] == [project, project]


def test_a_session_in_a_replay_folder_is_ours(tmp_path):
    storage = tmp_path / "workspaceStorage" / "0f3c"
    chat = Chat()
    chat.ask("go")
    path = chat.write(storage)
    (storage / "workspace.json").write_text('{"folder":"file:///tmp/skillopt-replay-x1/project"}')
    assert read_file(VSCODE, path)[0].session.kind is Kind.REPLAY


def test_uris_have_parts_or_are_text():
    assert to_path({"scheme": "file", "path": "/c:/x/y"}) == "C:\\x\\y"
    assert to_path({"path": "/a b"}) == "/a b"
    assert to_path({"scheme": "vscode-notebook-cell", "path": "/a"}) is None
    for value in (None, 5, "", {}, {"path": 5}, {"path": ""}, "http://[", "untitled:Untitled-1"):
        assert to_path(value) is None


def test_a_transcript_of_the_extension_says_whether_and_not_how_a_command_ended(read):
    transcript = Transcript()
    transcript.user("test it")
    transcript.call("run_in_terminal", {"command": "pytest -q"}, success=True)
    transcript.call("run_in_terminal", {"command": "make"}, success=False)
    transcript.call("create_file", {"filePath": "/w/a.py", "content": "x"})
    transcript.agent("\n\n   ")
    transcript.agent("Done.", reasoningText="hm")
    session = read(transcript)
    [turn] = session.turns
    assert [(call.command, call.exit_code, call.error) for call in turn.tool_calls] == [
        ("pytest -q", None, None),
        ("make", None, ""),
        (None, None, None),
    ]
    assert turn.tool_calls[2].files == ("/w/a.py",)
    assert (turn.answer, turn.signals) == ("Done.", (Signal.ERROR,))
    assert (session.client, session.client_version, session.kind) == ("vscode", "0.37.6", Kind.HUMAN)


def test_tokens_of_a_transcript_are_told_by_newer_extensions(read):
    transcript = Transcript()
    transcript.user("go")
    transcript.add("assistant.usage", inputTokens=100, outputTokens=7, cacheReadTokens=3)
    assert read(transcript).tokens == Tokens(input=97, output=7, cache_read=3)


def test_a_transcript_in_which_nobody_spoke_is_an_agents(read):
    transcript = Transcript()
    transcript.agent("I work.")
    session = read(transcript)
    assert (session.kind, session.turns[0].typed) == (Kind.SUBAGENT, False)


def test_a_transcript_saved_under_another_name_is_told_by_its_content(tmp_path):
    transcript = Transcript()
    transcript.user("go")
    path = tmp_path / "transcript.json"
    path.write_text(transcript.text)
    assert VSCODE.recognise(path.read_bytes())
    assert read_file(VSCODE, path)[0].session.prompts == ("go",)


def log(tmp_path, operations, *asks):
    chat = Chat()
    for ask in asks:
        chat.ask(*ask)
    return read_file(VSCODE, chat.write_log(tmp_path, operations))[0].session


@pytest.mark.parametrize("index", [0, "0"])
def test_obsolete_partial_answers_vanish(tmp_path, index):
    operations = [
        push(["requests", index, "response"], {"value": "obsolete partial answer"}),
        push(["requests", index, "response"], {"value": "The answer"}, {"value": " is 4."}, cut=0),
        put(["requests", index, "modelState"], {"value": 1}),
    ]
    [turn] = log(tmp_path, operations, ("2+2?",)).turns
    assert turn.answer == "The answer is 4."


def test_requests_are_pushed_changed_cut_and_deleted(tmp_path):
    chat = Chat()
    second, third, fourth = (chat.ask(text, "x") for text in ("second", "third", "fourth"))
    operations = [
        push(["requests"], second),
        push(["requests"], third),
        push(["requests"], fourth, cut=2),
        put(["requests", 1, "message", "text"], "second, edited"),
        put(["requests", 0, "result"], {"errorDetails": {"message": "bad"}}),
        delete(["requests", 0, "result"]),
        put(["requests", 2, "isCanceled"], True),
        put(["customTitle"], "a title"),
        delete(["inputState"]),
        put(["inputState", "inputText"], "a draft that was never sent"),
        push(["pendingRequests"], {"id": "p", "request": third}),
    ]
    session = log(tmp_path, operations, ("first", "y"))
    assert session.prompts == ("first", "second, edited", "fourth")
    told = {Signal.ERROR, Signal.INTERRUPTION}
    assert [told.intersection(turn.signals) for turn in session.turns] == [
        set(),
        set(),
        {Signal.INTERRUPTION},
    ]
    assert session.skipped == 0


def test_a_whole_new_state_takes_the_place_of_the_old(tmp_path):
    chat = Chat()
    chat.ask("first, with the whole answer", "all of it")
    chat.ask("second", "x")
    whole = {"kind": 0, "v": chat.state}
    session = log(tmp_path, [whole, push(["requests"], chat.ask("third", "y"))], ("first", "half"))
    assert session.prompts == ("first, with the whole answer", "second", "third")


def test_a_later_state_that_lost_the_requests_does_not_lose_them_here(tmp_path):
    chat = Chat()
    empty = {"kind": 0, "v": {**chat.state, "requests": []}}
    after = push(["requests"], chat.ask("and then", "z"))
    session = log(tmp_path, [empty, after], ("first", "x"), ("second", "y"))
    assert session.prompts == ("first", "second", "and then")
    emptied = log(tmp_path, [delete(["requests"])], ("first", "x"))
    assert emptied.prompts == ("first",)


def test_an_edit_far_back_is_replayed_from_the_start(tmp_path):
    asks = [(f"ask {number}", "x") for number in range(6)]
    chat = Chat()
    cut = push(["requests"], chat.ask("another way", "y"), cut=1)
    assert log(tmp_path, [cut], *asks).prompts == ("ask 0", "another way")
    changed = put(["requests", 0, "response"], [{"value": "changed late"}])
    assert log(tmp_path, [changed], *asks).turns[0].answer == "changed late"


@pytest.mark.parametrize(
    "operation",
    [
        put(["requests", 99, "response"], []),
        put(["requests", -1, "response"], []),
        put(["requests", "x"], {}),
        put(["requests", 0, "response", 99], {"value": "x"}),
        put(["requests", 0, "response", "x"], {"value": "x"}),
        push(["requests", 0, "response"], cut=-3),
        push(["requests"], cut=-3),
        {"kind": 2, "k": ["requests"], "v": "x"},
        {"kind": 2, "k": ["requests"]},
        {"kind": 1, "k": []},
        {"kind": 1, "k": [None, 1.5]},
        {"kind": 1, "k": "requests"},
        {"kind": 9, "k": ["requests"]},
        {"kind": "1"},
        {"kind": 0, "v": None},
        {"kind": 0, "v": {"requests": None}},
        {},
    ],
)
def test_an_operation_that_fits_nothing_is_passed_over(tmp_path, operation):
    chat = Chat()
    session = log(tmp_path, [operation, push(["requests"], chat.ask("last", "x"))], ("first", "y"))
    assert session.prompts[-1] == "last"


def test_half_an_emoji_does_not_break_a_document(read, tmp_path):
    chat = Chat()
    chat.ask("go", "broken \ud83d emoji")
    chat.ask("on", "fine")
    session = read(chat)
    assert session.prompts == ("go", "on")
    json.dumps(session.turns[0].answer, ensure_ascii=False).encode("utf-8")
    assert log(tmp_path, [], ("go", "broken \ud83d emoji")).prompts == ("go",)


def test_a_torn_document_keeps_the_requests_before_the_tear(read, tmp_path):
    chat = Chat()
    for number in range(4):
        chat.ask(f"ask {number}", "x" * 50)
    path = chat.write(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"ask 2") + 3])
    session = read(path)
    assert session.prompts == ("ask 0", "ask 1")
    assert session.skipped == 1


def test_a_damaged_request_costs_that_request(read, tmp_path):
    chat = Chat()
    for number in range(4):
        chat.ask(f"ask {number}", "x")
    path = chat.write(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"ask 1", "parts"', b'"ask 1, "parts"'))
    session = read(path)
    assert session.prompts == ("ask 0", "ask 2", "ask 3")
    assert session.skipped == 1
    chat.export(tmp_path / "x.json")
    damaged = (tmp_path / "x.json").read_bytes().replace(b'"initialLocation"', b'"initialLocation')
    (tmp_path / "x.json").write_bytes(damaged)
    session = read(tmp_path / "x.json")
    assert len(session.prompts) == 4
    assert session.skipped == 1


def test_a_fork_or_an_export_repeats_nothing_of_the_session_it_was_made_of(read, tmp_path):
    chat = Chat()
    chat.ask("write the parser", "written")
    claims = MemoryClaims()
    read(chat, claims)
    fork = Chat()
    fork.requests = list(chat.requests)
    fork.ask("no, use `lark`, not `ply`", "done")
    session = read(fork, claims)
    assert session.prompts == ("no, use `lark`, not `ply`",)
    assert session.before.prompt == "write the parser"
    assert Signal.CORRECTION in mark_corrections(session).turns[0].signals
    assert read(chat.export(tmp_path / "chat.json"), claims).turns == ()


def test_everything_stored_is_redacted(tmp_path):
    secret = "ghp_" + "x9Yz8Wv7Ut6Sr5Qp4On3"
    chat = Chat()
    chat.ask(f"push with {secret}", terminal(f"git push https://u:{secret}@host", code=1, output=secret))
    chat.ask("and?", f"I used {secret}")
    for path in (chat.write(tmp_path / "a"), chat.write_log(tmp_path / "b")):
        [reading] = read_file(VSCODE, path)
        assert len(reading.session.turns) == 2
        assert secret not in repr(reading.session)
        assert secret.encode() not in reading.state


def test_look_alikes_are_refused():
    for text in (
        '{"version":3,"requests":[]}',
        '{"requests":[{"id":1}]}',
        '{"sessionId":"s","history":[]}',
        '{"info":{},"requests":[{"url":"x"}]}',
        '{"kind":0,"v":{"a":1}}',
        '{"kind":1,"k":["other"],"v":1}',
        '[{"role":"user","content":"x"}]',
        '{"type":"session_meta","payload":{}}',
        "hello",
        "",
        "{",
    ):
        assert not VSCODE.recognise(text.encode()), text
    events = Events()
    events.user("go")
    assert not VSCODE.recognise(events.text.encode())
    chat = Chat()
    chat.ask("go", agent=COPILOT)
    for name, source in SOURCES.items():
        assert source.recognise(json.dumps(chat.state).encode()) == (name == "vscode")
        assert source.recognise(Transcript().text.encode()) == (name == "vscode")
