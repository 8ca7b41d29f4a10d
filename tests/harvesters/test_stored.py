"""What is stored of a session, and what is remembered to go on reading it, holds no secret anywhere."""

from __future__ import annotations

import json

import msgspec
import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, read_file
from skillopt_harvesters.calls import MAX_ERROR, keep_id
from skillopt_harvesters.redact import redact_path, redact_tail
from tests.harvesters.rollouts import Rollout
from tests.support.pi_session import PiSession

GITHUB = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
AWS = "AKIA" + "Q3EGRZ2LMN7XKWTB"
FOLDER = f"/home/user/{GITHUB}/project"


def stored(reading) -> str:
    return repr(reading.session) + reading.state.decode("utf-8", "replace")


@pytest.mark.parametrize("client", ["claude", "codex", "pi"])
def test_no_field_of_a_session_or_its_state_holds_a_secret_of_the_records(client, transcript, tmp_path):
    if client == "claude":
        t = transcript(cwd=FOLDER, gitBranch=f"fix-{GITHUB}", version=GITHUB)
        t.user("go", permissionMode=GITHUB)
        t.call("Write", file_path=f"{FOLDER}/a.py")
        t.agent({"type": "tool_use", "id": GITHUB, "name": f"mcp {GITHUB}", "input": {}}, message=AWS)
        t.agent("ok", message=GITHUB)
        t.add(f"kind-{GITHUB}")
        path = t.write()
    elif client == "codex":
        git = {
            "commit_hash": GITHUB,
            "branch": GITHUB,
            "repository_url": f"https://x:{GITHUB}@github.com/a/b",
        }
        r = Rollout(tmp_path, cwd=FOLDER, git=git, originator=f"my client of mine {GITHUB}")
        r.event("task_started", turn_id=GITHUB)
        r.prompt("go")
        r.add("turn_context", {"cwd": FOLDER, "turn_id": GITHUB, "model": GITHUB})
        r.add("token_usage_record", {"response_id": GITHUB, "usage": {"input_tokens": 3}})
        r.item("function_call", name="write_stdin", call_id=AWS, arguments=json.dumps({"session_id": GITHUB}))
        path = r.write()
    else:
        s = PiSession(cwd=FOLDER)
        s.user("go")
        s.agent({"type": "toolCall", "id": GITHUB, "name": "write", "arguments": {"path": "a.py"}})
        path = s.write(tmp_path)
    [reading] = read_file(SOURCES[client], path)
    assert reading.session.turns
    assert reading.state
    assert GITHUB[4:20] not in stored(reading)
    assert AWS not in stored(reading)
    assert reading.session.project == "/home/user/[redacted:github-token]/project"


def test_harmless_folders_branches_and_commits_stay_as_they_are(transcript, read):
    folder = "/Users/me/CloudStorage/GoogleDrive-me.name@gmail.com/My Drive/nix-b6gvzjyb2pg0kjfwrjmg1vfhh54"
    t = transcript(cwd=folder, gitBranch="feature/JIRA-1234-add_x@v2")
    t.user("go")
    session = read(t)
    assert (session.project, session.branch) == (folder, "feature/JIRA-1234-add_x@v2")
    assert redact_path("/tmp/pytest-of-root/pytest-12/test_x0") == "/tmp/pytest-of-root/pytest-12/test_x0"


def test_sessions_of_one_folder_stay_together_when_its_name_is_masked(transcript, read):
    projects = set()
    for _ in range(2):
        t = transcript(cwd=FOLDER)
        t.user("go")
        projects.add(read(t).project)
    assert len(projects) == 1


def test_a_call_is_found_by_an_id_that_is_not_kept(transcript):
    claims, resume = MemoryClaims(), None
    t = transcript()
    t.user("go")
    t.agent({"type": "tool_use", "id": GITHUB, "name": "Bash", "input": {"command": "ls"}}, message=GITHUB)
    for _ in range(2):
        [reading] = read_file(SOURCES["claude"], t.write(), claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
        t.user([{"type": "tool_result", "tool_use_id": GITHUB, "content": "x", "is_error": False}])
        t.agent("done", message=GITHUB, tokens=(10, 9))
    [turn] = reading.session.turns
    assert (turn.tool_calls[0].exit_code, turn.tokens.output) == (0, 9)


@pytest.mark.parametrize(
    "name",
    [
        "msg_01XFDUDYJgAACzvnptvVoY",
        "msg_26bd402a-645a-4c70-a1b2",
        "a3bf4f1b-2b0b-422c-9d15-d6c15b0f00a0",
        "message a3bf4f1b-2b0b-422c-9d15-d6c15b0f00a0",
        "#12",
    ],
)
def test_ids_as_clients_make_them_are_kept(name):
    assert keep_id(name) == name
    assert keep_id(keep_id(GITHUB)) == keep_id(GITHUB) != GITHUB


@pytest.mark.parametrize(
    "name", ["0123456789abcdef" * 2 + "0123", "msg_sk-ant-api03-aZ09bY18cX27", AWS, GITHUB]
)
def test_what_may_be_a_secret_is_no_id_that_is_kept(name):
    assert name not in keep_id(name)


def work_of_two_turns(t):
    t.user("go")
    t.call("Bash", "2 passed", command="pytest -q")
    t.call("Write", file_path="/home/user/project/a.py")
    t.user("and now?")
    t.call("Bash", "Error: Exit code 1\nno such file", error=True, command="cat b")


def test_calls_that_are_carried_over_are_the_same_as_when_read_at_once(transcript):
    claims, t = MemoryClaims(), transcript()
    work_of_two_turns(t)
    withdrawn = t.agent({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}})
    [reading] = read_file(SOURCES["claude"], t.write(), claims=claims)
    resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    t.agent("done", retractedMessageUuids=[withdrawn["uuid"]])
    [grown] = read_file(SOURCES["claude"], t.write(), claims=claims, resume=resume)
    [whole] = read_file(SOURCES["claude"], t.path, claims=MemoryClaims())
    assert grown == whole
    assert [[call.name for call in turn.tool_calls] for turn in whole.session.turns] == [
        ["Bash", "Write"],
        ["Bash"],
    ]


def test_a_file_is_read_from_its_start_when_the_stored_session_has_other_calls(transcript):
    claims, t = MemoryClaims(), transcript()
    work_of_two_turns(t)
    [reading] = read_file(SOURCES["claude"], t.write(), claims=claims)
    first, *others = reading.session.turns
    turns = (msgspec.structs.replace(first, tool_calls=()), *others)
    session = msgspec.structs.replace(reading.session, turns=turns)
    resume = Resume(offset=reading.offset, state=reading.state, session=session)
    t.agent("done")
    [again] = read_file(SOURCES["claude"], t.write(), claims=claims, resume=resume)
    assert [len(turn.tool_calls) for turn in again.session.turns] == [2, 1]


@pytest.mark.parametrize("size", range(MAX_ERROR - 60, MAX_ERROR + 20, 3))
def test_the_end_of_a_text_never_begins_with_half_a_secret(size):
    for before in (100, 20_000):
        kept = redact_tail("x " * before + GITHUB + "y " * (size // 2), MAX_ERROR)
        assert len(kept) <= MAX_ERROR
        assert GITHUB[-12:] not in kept


@pytest.mark.parametrize("size", range(0, 60, 3))
def test_a_failed_command_of_pi_keeps_no_half_of_a_secret(tmp_path, size):
    s = PiSession()
    s.user("go")
    s.agent({"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "x"}})
    output = "z " * 9_000 + GITHUB + " " + "y " * (MAX_ERROR - size) + "\n\nCommand exited with code 3"
    s.message("toolResult", [{"type": "text", "text": output}], toolCallId="c1", isError=True)
    [reading] = read_file(SOURCES["pi"], s.write(tmp_path))
    [call] = reading.session.turns[0].tool_calls
    assert (call.exit_code, call.error[-27:].strip()) == (3, "Command exited with code 3")
    assert GITHUB[-12:] not in stored(reading)


@pytest.mark.parametrize("size", range(0, 44, 3))
def test_a_name_that_is_too_long_keeps_no_half_of_a_secret(transcript, size):
    t = transcript()
    t.user("go")
    t.agent({"type": "tool_use", "id": "c1", "name": "n" * (200 - size) + f" {GITHUB}", "input": {}})
    t.add("t" * (80 - size) + f" {GITHUB}")
    t.call("Skill", skill="s" * (199 - size) + f"-{GITHUB}")
    [reading] = read_file(SOURCES["claude"], t.write())
    assert not any(GITHUB[4 : 4 + n] in stored(reading) for n in range(6, 36))
