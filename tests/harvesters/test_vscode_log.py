"""A log of operations, whatever its operations, is read as the state they lead to."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, read_file
from skillopt_harvesters.turns import MAX_ANSWER
from tests.support.vscode_chats import FILE, Chat, delete, push, put, terminal, tool

VSCODE = SOURCES["vscode"]
PARTS = st.sampled_from(
    [
        {"value": "Some text. "},
        {"kind": "thinking", "value": "hm"},
        {"kind": "inlineReference", "inlineReference": FILE},
        {"kind": "textEditGroup", "uri": FILE, "edits": [[]]},
        {"kind": "undoStop", "id": "1"},
        {**terminal("pytest -q"), "toolCallId": "c1"},
        {**tool("copilot_readFile"), "toolCallId": "c2"},
    ]
)
KEYS = st.sampled_from(
    [
        ("isCanceled", True),
        ("isCanceled", False),
        ("modelState", {"value": 2}),
        ("modelState", {"value": 1, "completedAt": 1795957830000}),
        ("result", {"errorDetails": {"message": "bad"}}),
        ("result", None),
        ("response", [{"value": "Only this."}]),
        ("message", {"text": "said otherwise", "parts": []}),
        ("shouldBeRemovedOnSend", {"requestId": "x"}),
        ("variableData", {"variables": []}),
    ]
)


@st.composite
def operations(draw: Any) -> list[dict]:
    """Draw operations that fit the state they meet, as the client's do."""
    sizes: list[int] = []
    made: list[dict] = []
    for _ in range(draw(st.integers(1, 25))):
        what = draw(st.sampled_from("ask,ask,part,part,cut part,key,delete,cut,many".split(",")))
        last = len(sizes) - 1
        far = draw(st.integers(0, 12)) == 0
        place = draw(st.integers(0, last)) if far and sizes else last
        if what in {"ask", "many"} or not sizes:
            count = 3 if what == "many" else 1
            made.append(push(["requests"], *(make_request(len(made), number) for number in range(count))))
            sizes.extend([0] * count)
        elif what == "part":
            parts = draw(st.lists(PARTS, min_size=1, max_size=3))
            made.append(push(["requests", place, "response"], *parts))
            sizes[place] += len(parts)
        elif what == "cut part":
            cut = draw(st.integers(0, sizes[place]))
            made.append(push(["requests", place, "response"], draw(PARTS), cut=cut))
            sizes[place] = cut + 1
        elif what == "key":
            key, value = draw(KEYS)
            made.append(put(["requests", place, key], value))
            sizes[place] = 1 if key == "response" else sizes[place]
        elif what == "delete":
            key = draw(st.sampled_from(["result", "isCanceled", "modelState"]))
            made.append(delete(["requests", place, key]))
        else:
            back = draw(st.integers(1, 4 if far else 2))
            length = max(0, len(sizes) - back)
            made.append(push(["requests"], make_request(len(made), 0), cut=length))
            sizes[length:] = [0]
    return made


def make_request(number: int, count: int) -> dict:
    return Chat().ask(f"ask {number}.{count}") | {"requestId": f"request_{number}_{count}", "response": []}


def replay(state: dict, made: list[dict]) -> dict:
    """Apply operations to a state, as VS Code's own reader does."""
    state, made = json.loads(json.dumps([state, made]))
    for operation in made:
        *way, last = operation["k"]
        place: Any = state
        for step in way:
            place = place[step]
        if operation["kind"] == 1:
            place[last] = operation["v"]
        elif operation["kind"] == 3:
            place.pop(last, None)
        else:
            items = place[last]
            del items[operation.get("i", len(items)) :]
            items.extend(operation["v"])
    return state


@given(made=operations(), cuts=st.lists(st.integers(0, 10_000), max_size=5))
@settings(max_examples=250)
def test_a_log_is_read_as_the_state_it_leads_to_at_once_and_in_pieces(tmp_path_factory, made, cuts):
    folder = tmp_path_factory.mktemp("log")
    chat = Chat(session="log")
    path = chat.write_log(folder, made)
    document = folder / "log.json"
    document.write_text(json.dumps(replay(chat.state, made)))
    expected = read_file(VSCODE, document)[0].session
    [at_once] = read_file(VSCODE, path)
    assert at_once.session.turns == expected.turns
    assert at_once.session.skipped == 0
    assert (at_once.session.started, at_once.session.ended) == (expected.started, expected.ended)
    read_in_pieces(path, cuts, at_once)


def test_a_long_answer_that_came_in_pieces_is_read_as_the_whole_of_it(tmp_path):
    chat, parts = Chat(session="log"), [{"value": f"{number} " * 50_000} for number in range(30)]
    chat.ask("tell me all")
    path = chat.write_log(tmp_path, [push(["requests", 0, "response"], part) for part in parts])
    chat.requests[0]["response"] = parts
    document = tmp_path / "log.json"
    document.write_text(json.dumps(chat.state))
    assert read_file(VSCODE, path)[0].session.turns == read_file(VSCODE, document)[0].session.turns


def test_an_answer_in_very_many_pieces_is_read_in_linear_time(tmp_path):
    def take(pieces: int) -> float:
        chat = Chat(session="log")
        chat.ask("tell me all")
        path = chat.write_log(tmp_path, [push(["requests", 0, "response"], {"value": "x"})] * pieces)
        start = time.process_time()
        [reading] = read_file(VSCODE, path)
        assert reading.session.turns[0].answer == "x" * min(pieces, MAX_ANSWER)
        return time.process_time() - start

    assert min(take(16_000) for _ in range(2)) < 8 * max(take(4_000) for _ in range(2))


def read_in_pieces(path: Path, cuts: list[int], at_once) -> None:
    whole = path.read_bytes()
    claims, resume = MemoryClaims(), None
    for cut in sorted({*(len(whole) * cut // 10_000 for cut in cuts), len(whole)}):
        path.write_bytes(whole[:cut])
        if VSCODE.recognise(whole[: min(cut, 65536)]):
            [reading] = read_file(VSCODE, path, claims=claims, resume=resume)
            resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    assert reading.session.turns == at_once.session.turns
