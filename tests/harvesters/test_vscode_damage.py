"""A damaged request or operation of a VS Code chat costs that one, and nothing stops a reading."""

from __future__ import annotations

import json
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, read_file
from tests.support.copilot_events import Transcript
from tests.support.damage import damaged
from tests.support.vscode_chats import FILE, Chat, push, put, terminal, tool

VSCODE = SOURCES["vscode"]
ASKS = [f"ask about the {what}" for what in "parser lexer tokens grammar printer cache tests docs".split()]


def make_chat() -> Chat:
    chat = Chat(session="damaged")
    for ask in ASKS:
        chat.ask(
            ask,
            "I look at ",
            {"kind": "inlineReference", "inlineReference": FILE},
            tool("copilot_readFile", resultDetails=[FILE]),
            {"kind": "textEditGroup", "uri": FILE, "edits": [[{"text": 'print("{[")', "range": {"a": 1}}]]},
            terminal("pytest -q", code=1, output='E  assert "}" == "]"\n'),
            "It fails.",
        )
    return chat


def check(path: Path, lost: set[str]) -> None:
    [reading] = read_file(VSCODE, path)
    found = [prompt for prompt in reading.session.prompts if prompt in ASKS]
    assert found == [ask for ask in ASKS if ask not in lost or ask in found]
    repr(reading.session).encode("utf-8")


@given(data=st.data(), indent=st.sampled_from([None, 1]))
@settings(max_examples=300)
def test_a_damaged_request_of_a_document_costs_that_request(tmp_path_factory, data, indent):
    chat = make_chat()
    path = chat.write(tmp_path_factory.mktemp("damaged"), indent=indent)
    text = path.read_bytes()
    place = data.draw(st.integers(0, len(ASKS) - 1))
    starts = [text.index(f'"requestId": "{request["requestId"]}"'.encode()) for request in chat.requests]
    start, end = [*starts, text.rindex(b"]")][place : place + 2]
    at = data.draw(st.integers(start, end - 20))
    length = data.draw(st.integers(0, 30))
    new = data.draw(st.binary(max_size=30).filter(lambda value: b"requestId" not in value))
    path.write_bytes(text[:at] + new + text[min(at + length, end - 20) :])
    check(path, {ASKS[place]})


@given(data=st.data())
@settings(max_examples=300)
def test_a_damaged_operation_costs_that_operation(tmp_path_factory, data):
    chat = make_chat()
    requests, chat.requests = chat.requests, []
    operations = []
    for number, request in enumerate(requests):
        operations.append(push(["requests"], {**request, "response": []}))
        operations.append(push(["requests", number, "response"], *request["response"]))
    # The last push is damaged, or something said about it: what was pushed later would have another place.
    operations[-1:-1] = [put(["requests", len(ASKS) - 1, "modelState"], {"value": 1})]
    path = chat.write_log(tmp_path_factory.mktemp("damaged"), operations)
    lines = path.read_bytes().splitlines()
    place = data.draw(st.sampled_from([*range(2, len(lines), 2), len(lines) - 1]))
    pushes = lines[place].startswith(b'{"kind":2,"k":["requests"],')
    changed = data.draw(damaged(lines, place))
    path.write_bytes(changed)
    [reading] = read_file(VSCODE, path)
    if not pushes:
        assert [prompt for prompt in reading.session.prompts if prompt in ASKS] == ASKS
    repr(reading.session).encode("utf-8")


@given(data=st.data())
@settings(max_examples=200)
def test_a_damaged_event_of_a_transcript_costs_that_event(tmp_path_factory, data):
    transcript = Transcript(session="damaged")
    for ask in ASKS:
        transcript.user(ask)
        transcript.agent("I look.", transcript.request("read_file", {"filePath": "/w/a.py"}))
        transcript.call("run_in_terminal", {"command": "pytest -q"}, success=False)
    lines = transcript.text.encode().splitlines()
    place = data.draw(st.integers(1, len(lines) - 1))
    path = tmp_path_factory.mktemp("damaged") / "damaged.jsonl"
    path.write_bytes(data.draw(damaged(lines, place)))
    record = json.loads(lines[place])
    check(path, {record["data"]["content"]} if record["type"] == "user.message" else set())


@given(seed=st.integers(0, 2**32), amount=st.integers(1, 40), form=st.sampled_from(["write", "write_log"]))
@settings(max_examples=200)
def test_many_flipped_bytes_stop_nothing(tmp_path_factory, seed, amount, form):
    chance = random.Random(seed)
    path = getattr(make_chat(), form)(tmp_path_factory.mktemp("damaged"))
    text = bytearray(path.read_bytes())
    for _ in range(amount):
        text[chance.randrange(len(text))] = chance.randrange(256)
    path.write_bytes(text)
    VSCODE.recognise(bytes(text[:65536]))
    [reading] = read_file(VSCODE, path)
    assert reading.offset <= len(text)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(data=st.data())
@settings(max_examples=300)
def test_any_value_may_stand_anywhere(tmp_path_factory, data):
    chat = make_chat()
    place = data.draw(st.integers(0, len(ASKS) - 1))
    request = chat.requests[place]
    key = data.draw(st.sampled_from([*request, "isCanceled", "slashCommand", "confirmation", "promptTokens"]))
    if key == "response" and data.draw(st.booleans()):
        part = data.draw(st.sampled_from(request["response"]))
        part[data.draw(st.sampled_from([*part, "kind", "value", "content"]))] = data.draw(ANY)
    else:
        request[key] = data.draw(ANY)
    folder = tmp_path_factory.mktemp("odd")
    for path in (chat.write(folder), chat.write_log(folder / "log", [put([key], data.draw(ANY))])):
        check(path, {ASKS[place]})


def test_an_operation_that_cuts_to_less_than_nothing_takes_nothing_away(tmp_path):
    chat = Chat(session="cut")
    chat.ask("look at the parser", "Done.")
    operations = [
        {"kind": 0, "v": chat.state},
        {"kind": 2, "k": ["requests"], "v": [], "i": -5},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [], "i": -1},
    ]
    path = tmp_path / "chatSessions" / "cut.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(operation) + "\n" for operation in operations), encoding="utf-8")
    [reading] = read_file(VSCODE, path)
    assert [(turn.prompt, turn.answer) for turn in reading.session.turns] == [("look at the parser", "Done.")]
