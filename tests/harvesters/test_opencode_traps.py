"""What sessions of OpenCode hold besides the user's words, forks, reverts and unfinished work."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import SOURCES, Kind, MemoryClaims, Signal, mark_corrections, read_file
from skillopt_harvesters.sources.opencode.words import find_refusal, find_words
from tests.support.opencode_store import HEADLESS, Store, tool

OPENCODE = SOURCES["opencode"]
REJECTED = "The user rejected permission to use this specific tool call"


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "opencode" / "opencode.db")
    yield made
    made.close()


def read(store: Store, claims=None) -> dict:
    readings = read_file(OPENCODE, store.path, claims=claims)
    assert readings[-1].warnings == ()
    return {reading.session.id: reading.session for reading in readings if reading.session}


INIT = "Create or update `AGENTS.md` for this repository.\n\nUser-provided focus (honor these):\n{}\n\n## How"
OLD_INIT = (
    "Please analyze this codebase and create an AGENTS.md file containing:\n1. x\n\nIf there's already an "
    "AGENTS.md, improve it if it's located in /p\n\n{}"
)
REVIEW = "You are a code reviewer. Your job is to review code changes.\n\n---\n\nInput: {}\n\n---\n\n## What"


@pytest.mark.parametrize(
    ("text", "command", "prompt"),
    [
        ("fix the tests", None, "fix the tests"),
        (INIT.format("only the tests"), "/init", "only the tests"),
        (INIT.format(""), "/init", ""),
        (OLD_INIT.format("be short"), "/init", "be short"),
        (OLD_INIT.format(""), "/init", ""),
        (OLD_INIT[:80], "/init", ""),
        (REVIEW.format("HEAD~2"), "/review", "HEAD~2"),
        (REVIEW[:62], "/review", ""),
        ("You are a code reviewer, please", None, "You are a code reviewer, please"),
    ],
)
def test_the_clients_own_commands_are_known_by_their_templates(text, command, prompt):
    words = find_words(text)
    assert (words.command, words.prompt) == (command, prompt)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (REJECTED + ".", ""),
        (f"Error: {REJECTED}.", ""),
        (REJECTED + ". You may try again with different parameters.", ""),
        (REJECTED + " with the following feedback: use pnpm\nplease", "use pnpm\nplease"),
        ("The user dismissed this question", ""),
        ("The user has specified a rule which prevents you from using this specific tool call.", None),
        ("File not found: /x", None),
    ],
)
def test_a_refusal_is_told_from_a_failure_and_from_a_rule(error, words):
    refusal = find_refusal(error)
    assert (refusal.words if refusal else None) == words


def test_what_the_client_writes_into_a_message_is_no_prompt(store):
    s = store.session()
    user = store.message(
        s,
        "user",
        {"type": "text", "text": "look at @a.py"},
        {"type": "text", "text": "Called the Read tool with the following input", "synthetic": True},
        {"type": "text", "text": "<file>secret plans</file>", "synthetic": True},
        {"type": "text", "text": "not for the model", "ignored": True},
        {"type": "file", "mime": "text/plain", "url": "file:///a.py"},
    )
    store.agent(s, user, "it is fine", {"type": "text", "text": "reminder", "synthetic": True})
    store.message(s, "user", {"type": "compaction", "auto": True})
    store.agent(s, "x", "a summary of all", summary=True, mode="compaction")
    again = store.message(s, "user", {"type": "text", "text": "Continue if you have", "synthetic": True})
    store.agent(s, again, "so I went on")
    session = read(store)[s]
    assert session.prompts == ("look at @a.py",)
    assert session.turns[0].answer == "so I went on"
    assert session.tokens.output == 3 * 6
    assert session.turns[0].tokens.output == 2 * 6


def test_a_line_the_user_ran_is_a_turn_and_no_prompt(store):
    s = store.session()
    told = store.message(
        s, "user", {"type": "text", "text": "The following tool was executed by the user", "synthetic": True}
    )
    store.agent(s, told, tool(command="git status"), usage={"input": 0, "output": 0})
    user = store.user(s, "commit it")
    store.agent(s, user, "done")
    session = read(store)[s]
    assert [(turn.command, turn.prompt, turn.tool_calls) for turn in session.turns] == [
        ("!", "git status", ()),
        (None, "commit it", ()),
    ]
    assert session.prompts == ("commit it",)


def test_a_command_that_a_sub_agent_runs_is_known_by_its_name(store):
    s = store.session()
    store.message(
        s, "user", {"type": "subtask", "command": "audit", "prompt": "audit the api", "agent": "general"}
    )
    store.message(s, "user", {"type": "subtask", "prompt": "count the files", "agent": "general"})
    turns = read(store)[s].turns
    assert [(turn.command, turn.prompt) for turn in turns] == [
        ("/audit", "audit the api"),
        (None, "count the files"),
    ]


def test_a_picture_alone_is_a_turn_without_words(store):
    s = store.session()
    user = store.message(
        s, "user", {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGk="}
    )
    store.agent(s, user, "a cat")
    assert [(turn.prompt, turn.answer) for turn in read(store)[s].turns] == [("", "a cat")]


def test_who_spoke_is_told_by_the_session(store):
    human = store.session()
    headless = store.session(permission=HEADLESS)
    newer = store.session(permission=json.dumps([{"action": "question", "resource": "*", "effect": "deny"}]))
    asking = store.session(permission=json.dumps([{"permission": "task", "pattern": "*", "action": "deny"}]))
    child = store.session(parent_id=human, permission=HEADLESS)
    replay = store.session(directory="/tmp/skillopt-replay-x1/project", permission=HEADLESS)
    strange = store.session(permission="{")
    for session in (human, headless, newer, asking, child, replay, strange):
        store.user(session, "a prompt")
    sessions = read(store)
    kinds = [sessions[s].kind for s in (human, headless, newer, asking, child, replay, strange)]
    assert kinds == [
        Kind.HUMAN,
        Kind.HEADLESS,
        Kind.HEADLESS,
        Kind.HUMAN,
        Kind.SUBAGENT,
        Kind.REPLAY,
        Kind.HUMAN,
    ]
    assert [sessions[s].turns[0].typed for s in (human, headless, child)] == [True, False, False]
    assert sessions[child].parent == human


def fork(store: Store, session: str, **keys) -> str:
    """Copy a session as the client does: new ids, the same times and words."""
    made = store.session(**keys)
    names = {}
    query = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created"
    for old, created, data in store.run(query, session):
        info = json.loads(data)
        parent = {"parentID": names[info["parentID"]]} if "parentID" in info else {}
        names[old] = store.message(made, info.pop("role"), created=created, **{**info, **parent})
        for (part,) in store.run("SELECT data FROM part WHERE message_id = ? ORDER BY id", old):
            store.part(made, names[old], part)
    return made


def test_a_fork_owns_only_what_is_new_in_it(store):
    old = store.session()
    store.agent(old, store.user(old, "one"), "first", tool(command="ls", code=0))
    new = fork(store, old)
    store.agent(new, store.user(new, "no, not like that"), "second")
    sessions = read(store)
    assert sessions[old].prompts == ("one",)
    assert sessions[new].prompts == ("no, not like that",)
    assert (sessions[new].before.prompt, sessions[new].tokens.output) == ("one", 6)
    assert Signal.CORRECTION in mark_corrections(sessions[new]).turns[0].signals
    assert sessions[new].started > sessions[old].ended


def test_a_fork_is_still_known_when_only_it_is_read_again(store):
    claims = MemoryClaims()
    old = store.session()
    store.agent(old, store.user(old, "one"), "first")
    new = fork(store, old)
    read(store, claims)
    store.agent(new, store.user(new, "two"), "second")
    sessions = read(store, claims)
    assert (sessions[old].prompts, sessions[new].prompts) == (("one",), ("two",))


def test_a_fork_of_a_programs_session_is_a_programs(store):
    old = store.session(permission=HEADLESS)
    store.agent(old, store.user(old, "one"), "first")
    new = fork(store, old)
    store.agent(new, store.user(new, "two"), "second")
    session = read(store)[new]
    assert (session.kind, session.turns[0].typed) == (Kind.HEADLESS, False)


def test_what_the_user_took_back_is_abandoned(store):
    s = store.session()
    store.agent(s, store.user(s, "start"), "ok")
    back = store.user(s, "left")
    store.agent(s, back, "went left")
    store.agent(s, store.user(s, "more"), "further")
    store.run("UPDATE session SET revert = ?", json.dumps({"messageID": back, "snapshot": "x"}))
    turns = read(store)[s].turns
    assert [(turn.prompt, turn.abandoned) for turn in turns] == [
        ("start", False),
        ("left", True),
        ("more", True),
    ]


def test_how_tools_ended_is_read(store):
    s = store.session()
    user = store.user(s, "work")
    store.agent(
        s,
        user,
        tool(command="pytest -q", code=0),
        tool(command="make", code=2),
        tool(command="sleep 9", code=None),
        tool(command="old version"),
        tool("read", error="File not found"),
        tool("bash", status="running", command="still going"),
        tool(
            "apply_patch",
            patchText="*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n*** End Patch",
        ),
        tool("edit", filePath="/home/user/project/c.py"),
        tool("skill", name="greet"),
        tool("skill", name="absent", error="not found"),
    )
    turn = read(store)[s].turns[0]
    assert [(call.name, call.exit_code, call.error) for call in turn.tool_calls] == [
        ("bash", 0, None),
        ("bash", 2, "out"),
        ("bash", None, None),
        ("bash", None, None),
        ("read", None, "File not found"),
        ("bash", None, None),
        ("apply_patch", None, None),
        ("edit", None, None),
        ("skill", None, None),
        ("skill", None, "not found"),
    ]
    assert [call.files for call in turn.tool_calls if call.files] == [
        ("a.py", "b.py"),
        ("/home/user/project/c.py",),
    ]
    assert turn.skills == ("greet",)
    assert set(turn.signals) == {Signal.ERROR, Signal.VERIFIED}


def test_only_a_person_refuses(store):
    human, program = store.session(), store.session(permission=HEADLESS)
    for s in (human, program):
        store.agent(
            s,
            store.user(s, "remove it"),
            tool(command="rm", error=f"{REJECTED} with the following feedback: never"),
        )
    sessions = read(store)
    assert (sessions[human].turns[0].refusals, sessions[program].turns[0].refusals) == (("never",), ())
    assert Signal.REFUSAL in sessions[human].turns[0].signals
    assert Signal.REFUSAL not in sessions[program].turns[0].signals


def test_the_words_of_another_programs_tool_are_not_the_users(store):
    s = store.session()
    error = f"{REJECTED} with the following feedback: never"
    store.agent(s, store.user(s, "fetch it"), tool("tracker_fetch", error=error))
    [turn] = read(store)[s].turns
    assert turn.refusals == ()


def test_an_answer_that_never_ended_was_stopped_if_the_agent_answered_again(store):
    s = store.session()
    store.agent(s, store.user(s, "one"), "half an ans", time={"created": store.clock})
    store.user(s, "typed meanwhile")
    assert Signal.INTERRUPTION not in read(store)[s].turns[0].signals
    store.agent(s, store.user(s, "two"), "answer")
    turns = read(store)[s].turns
    assert [Signal.INTERRUPTION in turn.signals for turn in turns] == [True, False, False]


def test_an_answer_belongs_to_the_prompt_it_answers(store):
    s = store.session()
    first = store.user(s, "one")
    store.agent(s, first, "working")
    second = store.user(s, "and two")
    store.agent(s, first, tool(command="make", code=0))
    store.agent(s, second, "both done")
    turns = read(store)[s].turns
    assert [(turn.answer, len(turn.tool_calls)) for turn in turns] == [("working", 1), ("both done", 0)]


def test_the_tokens_of_every_step_are_counted_and_those_of_the_message_only_without_steps(store):
    s = store.session()
    step = {"type": "step-finish", "tokens": {"input": 100, "output": 10, "cache": {"read": 1, "write": 0}}}
    store.agent(s, store.user(s, "one"), step, "a", step)
    store.agent(s, store.user(s, "two"), "b", {"type": "step-finish", "reason": "stop"})
    session = read(store)[s]
    assert (session.turns[0].tokens.input, session.turns[0].tokens.output) == (200, 20)
    assert (session.turns[1].tokens.input, session.turns[1].tokens.output) == (10, 6)


def test_an_error_of_the_model_and_an_interruption_are_told_apart(store):
    s = store.session()
    store.agent(s, store.user(s, "one"), error={"name": "APIError", "data": {"message": "500"}})
    store.agent(s, store.user(s, "two"), error={"name": "MessageAbortedError", "data": {}})
    store.agent(s, store.user(s, "three"), error={"name": "BrandNewError"})
    signals = [turn.signals for turn in read(store)[s].turns]
    assert signals == [(Signal.ERROR,), (Signal.INTERRUPTION,), (Signal.ERROR,)]


def test_everything_stored_is_redacted(store):
    secret = "ghp_" + "x9Yz8Wv7Ut6Sr5Qp4On3"
    s = store.session()
    store.agent(
        s,
        store.user(s, f"push with {secret}"),
        f"I used {secret}",
        tool(command=f"git push https://u:{secret}@host", code=1),
        tool(command="x", error=f"{REJECTED} with the following feedback: never use {secret}"),
    )
    assert secret not in repr(read(store)[s])
