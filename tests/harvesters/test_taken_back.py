"""Clients that delete what the user took back: it stays as abandoned, and hides nothing that came after."""

from __future__ import annotations

from tests.support.copilot_events import Events
from tests.support.indexes import Index
from tests.support.vscode_chats import Chat


def turns_of(index: Index, name: str) -> list[tuple[str, bool]]:
    return [(turn.prompt, turn.abandoned) for turn in index.sessions[name].turns]


def test_what_copilot_removed_by_a_rewind_stays_as_abandoned(private_home, tmp_path):
    index = Index(tmp_path / "index.db", private_home)
    folder = private_home / ".copilot" / "session-state"
    e = Events()
    places = []
    for prompt in ("one", "two", "three"):
        places.append(len(e.records))
        e.user(prompt)
        e.call(arguments={"command": prompt}, result={"content": "x\n<exited with exit code 0>"})
    e.write(folder)
    index.harvest()
    del e.records[places[1] :]
    e.day = 2
    e.user("four")
    e.write(folder)
    assert index.harvest().warnings == ()
    expected = [("one", False), ("two", True), ("three", True), ("four", False)]
    assert turns_of(index, e.id) == expected
    e.call(arguments={"command": "four"}, result={"content": "x\n<exited with exit code 3>"})
    e.user("five")
    e.write(folder)
    assert index.harvest().warnings == ()
    assert turns_of(index, e.id) == [*expected, ("five", False)]
    calls = [call for turn in index.sessions[e.id].turns for call in turn.tool_calls]
    assert [call.exit_code for call in calls] == [0, 0, 0, 3]


def test_requests_that_vscode_removed_stay_as_abandoned(private_home, tmp_path):
    index = Index(tmp_path / "index.db", private_home)
    folder = private_home / ".config" / "Code" / "User" / "workspaceStorage" / "abc"
    chat = Chat()
    for prompt in ("one", "two", "three"):
        chat.ask(prompt, f"did {prompt}")
    chat.write(folder)
    index.harvest()
    del chat.requests[1:]
    chat.ask("four", "did four", timestamp=1795960000000)
    chat.write(folder)
    assert index.harvest().warnings == ()
    expected = [("one", False), ("two", True), ("three", True), ("four", False)]
    assert turns_of(index, chat.id) == expected
    chat.ask("five", "did five", timestamp=1795960100000)
    chat.write(folder)
    assert index.harvest().warnings == ()
    assert turns_of(index, chat.id) == [*expected, ("five", False)]


def test_a_file_that_lost_its_end_loses_nothing_that_was_read(private_home, tmp_path):
    index = Index(tmp_path / "index.db", private_home)
    folder = private_home / ".copilot" / "session-state"
    e = Events()
    for prompt in ("one", "two"):
        e.user(prompt)
    e.write(folder)
    index.harvest()
    e.records.pop()
    e.write(folder)
    index.harvest()
    assert turns_of(index, e.id) == [("one", False), ("two", False)]
