"""A session that VS Code keeps in several files is one, and what grew is read from where it grew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import (
    SOURCES,
    Change,
    MemoryClaims,
    Resume,
    Session,
    harvest,
    read_file,
)
from tests.support.copilot_events import Transcript
from tests.support.vscode_chats import Chat, delete, push, put, terminal, tool

VSCODE = SOURCES["vscode"]


@pytest.fixture
def storage(private_home: Path) -> Path:
    """The storage of one workspace."""
    folder = private_home / ".config" / "Code" / "User" / "workspaceStorage" / "0f3c"
    folder.mkdir(parents=True)
    (folder / "workspace.json").write_text('{"folder":"file:///home/user/project"}')
    return folder


@pytest.fixture
def run(private_home):
    """Harvest the private home; returns what was read, the cursors to go on with, and the counts."""
    known: dict[tuple[str, str], Session] = {}
    claims = MemoryClaims()

    def once(cursors=None):
        work = harvest(
            [VSCODE],
            cursors or {},
            env={},
            home=private_home,
            claims=claims,
            recall=lambda client, name: known.get((client, name)),
        )
        read, seen = [], dict(cursors or {})
        for one in work:
            if one.session:
                read.append(one)
                known[one.session.client, one.session.id] = one.session
            if one.cursor:
                seen[one.cursor.path] = one.cursor
        return read, seen, work.stats

    return once


def chat_of(*prompts, session=""):
    chat = Chat(session=session)
    for prompt in prompts:
        chat.ask(prompt, "done")
    return chat


def transcript_of(*prompts, session=""):
    transcript = Transcript(session=session)
    for prompt in prompts:
        transcript.user(prompt)
        transcript.agent("done")
    return transcript


def grow(path: Path, *operations) -> None:
    with path.open("a") as file:
        file.write("".join(json.dumps(operation) + "\n" for operation in operations))


def test_a_session_in_three_files_is_one_and_the_log_tells_it(storage, run):
    chat = chat_of("one", "two")
    chat.requests[0]["response"] = [terminal("make", code=2)]
    chat.write(storage)
    log = chat.write_log(storage)
    transcript_of("one", "two", session=chat.id).write(storage)
    [one], cursors, stats = run()
    assert (stats.files_seen, stats.sessions) == (1, 1)
    assert one.session.path == str(log)
    assert one.session.project == "/home/user/project"
    assert one.session.turns[0].tool_calls[0].exit_code == 2
    assert run(cursors)[0] == []


def test_the_transcript_tells_it_when_the_log_lost_prompts(storage, run):
    chat = chat_of("three")
    chat.write_log(storage)
    transcript = transcript_of("one", "two", "three", session=chat.id)
    path = transcript.write(storage)
    [one], cursors, _ = run()
    assert (one.session.prompts, one.session.path) == (("one", "two", "three"), str(path))
    transcript.user("four")
    transcript.write(storage)
    [again], _, _ = run(cursors)
    assert again.session.prompts == ("one", "two", "three", "four")


def test_a_name_that_leaves_no_room_for_another_ending_costs_nothing(storage, run):
    chat_of("one").write(storage)
    long = chat_of("two", session="a" * 250)
    long.write(storage)
    read, _, stats = run()
    assert sorted(one.session.prompts for one in read) == [("one",), ("two",)]
    assert stats.skipped == 0


def test_a_log_that_comes_later_is_the_session_though_the_transcript_has_more_words(storage, run):
    transcript = transcript_of("one", session="5f0c")
    transcript.call("run_in_terminal", {"command": "make"})
    transcript.agent("All of it is done, and here is a long report.")
    transcript.write(storage)
    _, cursors, _ = run()
    chat = Chat(session="5f0c")
    chat.ask("one", terminal("make", code=2), "done")
    path = chat.write_log(storage)
    [again], _, _ = run(cursors)
    assert again.session.path == str(path)
    assert again.session.turns[0].tool_calls[0].exit_code == 2


def test_a_transcript_alone_is_a_session_and_gives_way_to_a_log(storage, run):
    transcript_of("one", session="5f0c").write(storage)
    [first], cursors, _ = run()
    assert first.session.prompts == ("one",)
    chat_of("one", "two", session="5f0c").write_log(storage)
    [second], _, stats = run(cursors)
    assert (second.session.id, second.session.prompts, stats.files_seen) == ("5f0c", ("one", "two"), 1)


def test_a_change_of_any_of_its_files_is_noticed(storage, run):
    chat = chat_of("one")
    chat.write_log(storage)
    path = transcript_of("one", session=chat.id).write(storage)
    _, cursors, _ = run()
    transcript_of("one", "two", session=chat.id).write(storage)
    assert run(cursors)[0][0].session.path == str(path)


def test_a_document_written_anew_is_read_again_and_an_unchanged_one_is_not_opened(storage, run, monkeypatch):
    chat = chat_of("one")
    path = chat.write(storage)
    _, cursors, stats = run()
    assert stats.bytes_read == path.stat().st_size
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: pytest.fail("an unchanged file was opened"))
        assert run(cursors)[0] == []
    chat.ask("two", "done")
    chat.write(storage)
    [again], _, stats = run(cursors)
    assert again.session.prompts == ("one", "two")
    assert stats.bytes_read == path.stat().st_size


@pytest.mark.parametrize("write", ["write", "write_log"])
def test_a_session_the_client_emptied_is_kept_as_it_was(storage, run, write):
    chat = chat_of("one", "two")
    path = getattr(chat, write)(storage)
    _, cursors, _ = run()
    chat.requests = []
    getattr(chat, write)(storage)
    os.utime(path, (2e9, 2e9))
    emptied, cursors, _ = run(cursors)
    assert not emptied
    for text in ("three", "four", "five"):
        chat.ask(text, "done")
    getattr(chat, write)(storage)
    [after], _, _ = run(cursors)
    assert after.session.prompts == ("three", "four", "five")


def test_going_back_in_a_log_leaves_what_came_before(storage, run):
    chat = chat_of("one", "two", "three")
    path = chat.write_log(storage)
    _, cursors, _ = run()
    instead = Chat().ask("two, in another way", "done")
    grow(path, push(["requests"], instead, cut=1))
    [again], _, _ = run(cursors)
    assert again.session.prompts == ("one", "two, in another way")


def test_a_log_that_grew_is_read_from_its_last_requests_on(storage, run):
    chat = chat_of(*(f"ask {number}" for number in range(50)))
    first = chat_of("ask first")
    path = first.write_log(storage)
    grow(path, *(push(["requests"], request) for request in chat.requests))
    _, cursors, _ = run()
    before = cursors[str(path)].offset
    assert before > path.stat().st_size * 0.9
    last = Chat()
    grow(path, push(["requests"], last.ask("and one more", "x")))
    [again], cursors, stats = run(cursors)
    assert again.change is Change.APPENDED
    assert len(again.session.prompts) == 52
    assert again.session.prompts[-1] == "and one more"
    assert stats.bytes_read < 3000


def test_a_log_without_its_first_line_is_read(storage, run):
    path = chat_of("lost").write_log(storage)
    path.write_text('{"kind":0,"v":{"vers\n')
    grow(path, push(["requests"], chat_of("kept").requests[0]))
    [one], _, _ = run()
    assert (one.session.prompts, one.session.skipped) == (("kept",), 1)


def test_sessions_of_every_place_are_found_once(private_home, run):
    users = (
        ".config/Code/User",
        ".config/Code - Insiders/User",
        ".config/VSCodium/User",
        "Library/Application Support/Code/User",
        "AppData/Roaming/Code/User",
        ".vscode-server/data/User",
        ".vscode-server-insiders/data/User",
    )
    for number, user in enumerate(users):
        chat_of("one", session=f"chat-{number}").write(private_home / user / "workspaceStorage" / "0f3c")
    shared = private_home / users[0] / "globalStorage"
    for name in ("emptyWindowChatSessions", "transferredChatSessions"):
        chat_of("one", session=name).write(shared)
        (shared / "chatSessions").rename(shared / name)
    for name in ("0f3c/chatEditingSessions/x/state.json", "0f3c/other.extension/transcripts/x.jsonl"):
        other = private_home / users[0] / "workspaceStorage" / name
        other.parent.mkdir(parents=True)
        other.write_text(json.dumps(chat_of("not looked at").state))
    read, _, stats = run()
    assert stats.files_seen == len(read) == len(users) + 2
    assert {one.session.prompts for one in read} == {("one",)}


def test_the_variables_that_move_vs_code_are_followed(private_home, tmp_path):
    def roots(**env):
        return VSCODE.roots({name: str(value) for name, value in env.items()}, private_home)

    assert private_home / ".config/Code/User" in roots()
    assert tmp_path / "Code/User" in roots(XDG_CONFIG_HOME=tmp_path)
    assert tmp_path / "Code - Insiders/User" in roots(APPDATA=tmp_path)
    assert roots(VSCODE_PORTABLE=tmp_path)[0] == tmp_path / "user-data/User"
    assert private_home / ".config/Code/User" not in roots(VSCODE_PORTABLE=tmp_path)
    assert roots(VSCODE_APPDATA=tmp_path)[0] == tmp_path / "Code/User"
    assert private_home / ".vscode-server/data/User" in roots(VSCODE_PORTABLE=tmp_path)
    assert tmp_path / "data/User" in roots(VSCODE_AGENT_FOLDER=tmp_path)
    assert all(list(VSCODE.discover(root)) == [] for root in roots())


def rich_log(folder: Path) -> Path:
    """Write a log in which everything happens that can."""
    chat = Chat(session="rich")
    asked = [chat.ask(f"ask {number}", "x", promptTokens=10, completionTokens=1) for number in range(9)]
    chat.requests = []
    operations = [
        push(["requests"], asked[0]),
        put(["requests", 0, "response"], [{"value": "half"}]),
        push(["requests", 0, "response"], {"value": "whole"}, terminal("pytest -q"), cut=0),
        push(["requests"], asked[1], asked[2]),
        push(["requests", 2, "response"], tool("copilot_readFile"), {"value": "seen"}),
        {"kind": 7},
        push(["requests"], asked[3], {**asked[4], "isSystemInitiated": True}),
        push(["requests", 4, "response"], {"value": "went on"}),
        put(["requests", 3, "isCanceled"], True),
        push(["requests"], {**asked[5], "message": {"text": "no, use `lark`, not `ply`"}}),
        push(["requests"], asked[6], cut=5),
        delete(["requests", 5, "result"]),
        push(["requests"], asked[7]),
        {"kind": 0, "v": {**chat.state, "requests": []}},
        push(["requests"], asked[7]),
        push(["requests"], asked[8]),
        put(["requests", 1, "modelState"], {"value": 3}),
        put(["customTitle"], "x"),
    ]
    return chat.write_log(folder, operations)


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=6))
@settings(max_examples=80)
def test_reading_a_log_in_pieces_gives_the_same_session_as_reading_it_at_once(tmp_path_factory, cuts):
    folder = tmp_path_factory.mktemp("pieces")
    path = rich_log(folder)
    check_pieces(path, cuts)


def check_pieces(path: Path, cuts: list[int]) -> None:
    whole = path.read_bytes()
    [at_once] = read_file(VSCODE, path)
    assert len(at_once.session.turns) > 1
    claims, resume = MemoryClaims(), None
    for cut in sorted({*(len(whole) * cut // 10_000 for cut in cuts), len(whole)}):
        path.write_bytes(whole[:cut])
        if VSCODE.recognise(whole[:cut][:65536]):
            [reading] = read_file(VSCODE, path, claims=claims, resume=resume)
            resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    assert reading.session == at_once.session
    assert reading.offset == at_once.offset


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=6))
@settings(max_examples=40)
def test_reading_a_transcript_in_pieces_gives_the_same_session_as_reading_it_at_once(tmp_path_factory, cuts):
    transcript = transcript_of("one", "two", "no, not that", "three", session="rich")
    transcript.call("run_in_terminal", {"command": "pytest -q"})
    transcript.add("brand.new")
    transcript.user("four")
    path = transcript.write(tmp_path_factory.mktemp("pieces"))
    check_pieces(path, cuts)


# The peak of this process alone: `ru_maxrss` begins with that of the process it was forked from.
MEASURE = """
import pathlib, re, resource, sys
from skillopt_harvesters import SOURCES, read_file

[reading] = read_file(SOURCES["vscode"], pathlib.Path(sys.argv[1]))
status = pathlib.Path("/proc/self/status")
if status.exists():
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1])
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(len(reading.session.turns), reading.session.skipped, peak // 1024)
"""


def measure(path: Path) -> tuple[int, int, int]:
    """Return turns, skipped records and the peak memory in MiB of reading a file in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    turns, skipped, peak = map(int, done.stdout.split())
    return turns, skipped, peak


@pytest.fixture
def huge(tmp_path):
    """Write a session of 64 MB in some form."""

    def write(form: str) -> Path:
        path = tmp_path / ("huge.json" if form.startswith("document") else "huge.jsonl")
        chat = chat_of("before", "after")
        before, after = (json.dumps(request) for request in chat.requests)
        big = json.dumps({**chat.requests[0], "requestId": "request_big", "message": {"text": "big"}})[:-1]
        header = '{"version":3,"responderUsername":"GitHub Copilot","sessionId":"x","requests":['
        opening = {"log": '{"kind":0,"v":' + header, "document": header}[form.split("-", maxsplit=1)[0]]
        with path.open("w") as file:
            file.write(f"{opening}{before},")
            if form.endswith("many"):
                result = ',"result":{"metadata":{"output":"' + 'say \\"x\\"\\n' * 100_000 + '"}}},'
                for number in range(60):
                    file.write(big.replace("request_big", f"request_{number}") + result)
            elif form.endswith("string"):
                file.write(big + ',"response":[{"value":"' + "x" * 64_000_000 + '"}]},')
            else:
                edit = '{"text":"y","range":{"startLineNumber":1,"startColumn":1}},'
                file.write(big + ',"response":[{"kind":"textEditGroup","uri":{"path":"/a.py"},"edits":[[')
                for _ in range(64):
                    file.write(edit * (1_000_000 // len(edit)))
                file.write('{"text":"z"}]]},{"value":"Done."}]},')
            file.write(f"{after}]}}")
            file.write("}\n" if form.startswith("log") else "")
        return path

    return write


@pytest.mark.parametrize("what", ["many", "string", "edits"])
@pytest.mark.parametrize("kind", ["document", "log"])
def test_memory_does_not_grow_with_a_session_of_64_mb(huge, kind, what):
    path = huge(f"{kind}-{what}")
    assert path.stat().st_size > 60_000_000
    turns, skipped, peak = measure(path)
    assert (turns, skipped) == (62 if what == "many" else 3, 0)
    assert peak < 150


@pytest.mark.parametrize("others", [("document",), ("transcript",), ("document", "transcript")])
@pytest.mark.parametrize("spoiled", [b"", b"\0" * 5_000, b"garbage\n", b'{"a": 1}\n'])
def test_a_log_that_a_crash_spoiled_hides_no_other_file(storage, run, spoiled, others):
    chat = chat_of("one", "two")
    if "document" in others:
        chat.write(storage)
    if "transcript" in others:
        transcript_of("one", "two", session=chat.id).write(storage)
    log = storage / "chatSessions" / f"{chat.id}.jsonl"
    log.parent.mkdir(exist_ok=True)
    log.write_bytes(spoiled)
    [one], cursors, _ = run()
    assert (one.session.id, one.session.prompts) == (chat.id, ("one", "two"))
    assert run(cursors)[0] == []
    # The client goes on with the log.
    chat.ask("three", "done")
    chat.write_log(storage)
    [again], cursors, _ = run(cursors)
    assert again.session.prompts == ("one", "two", "three")
    assert again.session.path == str(log)


@pytest.mark.parametrize("form", ["document", "log", "transcript"])
def test_a_file_that_is_no_session_any_more_is_told(storage, run, form):
    if form == "transcript":
        path = transcript_of("one", "two").write(storage)
        path.write_bytes(path.read_bytes().replace(b'{"type"', b'["type"'))
    else:
        chat = chat_of("one", "two")
        path = chat.write(storage) if form == "document" else chat.write_log(storage)
        path.write_bytes(b";" + path.read_bytes()[1:])
    read, _, stats = run()
    assert (read, stats.skipped) == ([], 1)
    assert stats.warnings == [f"{path}: it is no chat session that can be read"]
