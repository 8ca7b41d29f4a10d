"""A flipped bit in the name of a key hides a prompt as well: the prompt is lost, and told to be."""

from __future__ import annotations

import json
import re

import pytest

from skillopt_harvesters import SOURCES, Signal, read_file
from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events, Transcript
from tests.support.opencode_store import Store as OpenCode
from tests.support.opencode_store import tool
from tests.support.pi_session import PiSession
from tests.support.vscode_chats import Chat, terminal

ASKS = (("one", "ls"), ("two", "make"), ("three", ""))
EXPECTED = [("one", "did one", ["ls"]), ("", "did two", ["make"]), ("three", "did three", [])]


def flip(text: str, key: str, which: int = 0) -> str:
    """Flip a bit in one of the places where a key stands."""
    place = [found.start(1) for found in re.finditer(rf'"({key})"\s*:', text)][which]
    return text[: place + 1] + chr(ord(text[place + 1]) ^ 1) + text[place + 2 :]


def spoil(path, key, which=0, count=1):
    """Flip it in the lines that say "two"."""
    lines = path.read_text().split("\n")
    hit = [number for number, line in enumerate(lines) if '"two"' in line]
    assert len(hit) == count
    for number in hit:
        lines[number] = flip(lines[number], key, which)
    path.write_text("\n".join(lines))
    return path


def check(client, path, skipped=1):
    readings = read_file(SOURCES[client], path)
    [session] = [reading.session for reading in readings if reading.session]
    told = [(turn.prompt, turn.answer, [c.command for c in turn.tool_calls]) for turn in session.turns]
    assert told == EXPECTED
    assert [Signal.UNREAD in turn.signals for turn in session.turns] == [False, True, False]
    assert (session.skipped, len(session.warnings)) == (skipped, 1)


# The type of the record, and that of the block.
@pytest.mark.parametrize(
    ("key", "which"), [("type", 0), ("message", 0), ("content", 0), ("type", 1), ("text", 0)]
)
def test_of_claude_code(transcript, key, which):
    t = transcript()
    for prompt, command in ASKS:
        t.user([{"type": "text", "text": prompt}])
        if command:
            t.call(command=command)
        t.agent(f"did {prompt}")
    check("claude", spoil(t.write(), key, which))


@pytest.mark.parametrize("key", ["attachment", "type", "prompt"])
def test_of_a_prompt_that_was_typed_while_claude_code_worked(transcript, key):
    t = transcript()
    t.user("one")
    t.call(command="ls")
    t.agent("did one")
    t.add("attachment", attachment={"type": "queued_command", "prompt": "two", "commandMode": "prompt"})
    t.call(command="make")
    t.agent("did two")
    t.user("three")
    t.agent("did three")
    path = spoil(t.write(), key, 1 if key == "type" else 0)
    if key == "attachment":
        # It may have been anything that the client attaches.
        [reading] = read_file(SOURCES["claude"], path)
        assert reading.session.skipped == 1
    else:
        check("claude", path)


def test_what_is_damaged_beside_words_does_not_cost_them(transcript, read):
    t = transcript()
    t.user([{"type": "text", "text": "one"}, {"type": "text", "texu": "more"}])
    t.agent("did one")
    session = read(t)
    assert (session.prompts, session.skipped) == (("one",), 1)
    assert Signal.UNREAD not in session.turns[0].signals


def test_a_result_that_lost_its_message_is_no_prompt(transcript, read):
    t = transcript()
    t.user("one")
    t.call(command="ls", outcome={"stdout": "", "interrupted": False})
    record = t.records[-1]
    record["messagf"] = record.pop("message")
    t.agent("did one")
    session = read(t)
    assert [(turn.prompt, turn.answer) for turn in session.turns] == [("one", "did one")]
    assert session.skipped == 1


def codex(folder, *, kept):
    """Tell the prompts as a version does that has only one half of each."""
    r = Rollout(folder)
    for prompt, command in ASKS:
        if kept == "item":
            r.ms += 5_000
            r.completed("UserMessage", content=[{"type": "text", "text": prompt}])
        else:
            r.prompt(prompt)
            del r.lines[-1 if kept == "response_item" else -2]
        if command:
            r.call(command)
        r.answer(f"did {prompt}")
    return r.write()


@pytest.mark.parametrize(
    ("kept", "key", "which"),
    [
        ("response_item", "type", 0),
        ("response_item", "payload", 0),
        ("response_item", "type", 1),
        ("response_item", "role", 0),
        ("response_item", "content", 0),
        ("response_item", "text", 0),
        ("event_msg", "type", 0),
        ("event_msg", "payload", 0),
        ("event_msg", "type", 1),
        ("event_msg", "message", 0),
        ("item", "type", 0),
        ("item", "payload", 0),
        ("item", "type", 1),
        ("item", "item", 0),
        ("item", "type", 2),
        ("item", "content", 0),
        ("item", "text", 0),
    ],
)
def test_of_codex(tmp_path, kept, key, which):
    check("codex", spoil(codex(tmp_path, kept=kept), key, which))


@pytest.mark.parametrize(
    ("half", "key"),
    [(0, key) for key in ("type", "payload", "role", "content", "text")]
    + [(1, key) for key in ("type", "payload", "message")],
)
def test_of_codex_when_the_other_half_is_left(tmp_path, half, key):
    r = Rollout(tmp_path)
    for prompt, _ in ASKS:
        r.prompt(prompt)
        if prompt == "two":
            at = len(r.lines) - 2 + half
            r.lines[at] = flip(r.lines[at].decode(), key).encode()
        r.answer(f"did {prompt}")
    [reading] = read_file(SOURCES["codex"], r.write())
    assert reading.session.prompts == ("one", "two", "three")
    assert not any(Signal.UNREAD in turn.signals for turn in reading.session.turns)


def test_what_codex_repeats_beside_a_summary_is_no_prompt(tmp_path):
    r = Rollout(tmp_path)
    r.prompt("one")
    r.answer("did one")
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}
    r.add("compacted", {"message": "", "replacement_history": [said]})
    r.lines[-1] = flip(r.lines[-1].decode(), "type").encode()
    r.answer("and more")
    [reading] = read_file(SOURCES["codex"], r.write())
    assert [(turn.prompt, turn.answer) for turn in reading.session.turns] == [("one", "and more")]


@pytest.mark.parametrize("kind", [Events, Transcript])
@pytest.mark.parametrize("key", ["type", "data", "content"])
def test_of_copilot_in_a_terminal_and_in_vs_code(tmp_path, kind, key):
    events = kind()
    for prompt, command in ASKS:
        events.user(prompt)
        if command:
            name = "bash" if kind is Events else "run_in_terminal"
            events.agent("", events.request(name, {"command": command}))
        events.agent(f"did {prompt}")
    path = spoil(events.write(tmp_path), key)
    check("copilot" if kind is Events else "vscode", path)


@pytest.mark.parametrize("kind", [Events, Transcript])
def test_what_copilot_itself_says_is_no_prompt_without_its_type(tmp_path, kind):
    events = kind()
    events.user("one")
    for name, keys in (("system.message", {"role": "system"}), ("skill.invoked", {"name": "tests"})):
        events.add(name, content="a text of the client's", **keys)
    events.agent("did one")
    path = events.write(tmp_path)
    lines = path.read_text().split("\n")
    at = [number for number, line in enumerate(lines) if "of the client's" in line or "did one" in line]
    for number in at:
        lines[number] = flip(lines[number], "type")
    path.write_text("\n".join(lines))
    [reading] = read_file(SOURCES["copilot" if kind is Events else "vscode"], path)
    assert [(turn.prompt, turn.signals) for turn in reading.session.turns] == [("one", ())]
    assert reading.session.skipped == len(at)


@pytest.mark.parametrize(
    ("key", "which"), [("message", 0), ("role", 0), ("content", 0), ("type", 1), ("text", 0)]
)
def test_of_pi(tmp_path, key, which):
    session = PiSession()
    for prompt, command in ASKS:
        session.message("user", [{"type": "text", "text": prompt}])
        if command:
            session.call("bash", "ok", command=command)
        session.agent(f"did {prompt}")
    check("pi", spoil(session.write(tmp_path), key, which))


@pytest.mark.parametrize(("table", "key"), [("message", "role"), ("part", "type"), ("part", "text")])
def test_of_opencode(private_home, table, key):
    data = private_home / ".local" / "share" / "opencode"
    store = OpenCode(data / "opencode.db")
    session = store.session()
    for prompt, command in ASKS:
        message = store.user(session, prompt)
        if prompt == "two":
            place = "id" if table == "message" else "message_id"
            [(row,)] = store.run(f"select data from {table} where {place} = ?", message)
            text = row.decode() if isinstance(row, bytes) else row
            store.run(f"update {table} set data = ? where {place} = ?", flip(text, key), message)
        calls = [tool(command=command)] if command else []
        store.agent(session, message, *calls, f"did {prompt}")
    store.close()
    check("opencode", data / "opencode.db")


def chat():
    c = Chat()
    for prompt, command in ASKS:
        c.ask(prompt, *([terminal(command)] if command else []), f"did {prompt}")
    return c


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("key", ["message", "text"])
@pytest.mark.parametrize("form", ["document", "log", "long log"])
def test_of_vs_code(tmp_path, key, form, indent):
    c = chat()
    second = json.dumps(c.requests[1])
    c.requests[1] = json.loads(flip(second, key))
    if form == "document":
        check("vscode", c.write(tmp_path, indent=indent))
        return
    path = tmp_path / "chatSessions" / f"{c.id}.jsonl"
    path.parent.mkdir()
    operations = [{"kind": 0, "v": {**c.state, "requests": []}}]
    operations += [{"kind": 2, "k": ["requests"], "v": [request]} for request in c.requests]
    if form == "long log":
        operations += [{"kind": 1, "k": ["requests", 2, "modelId"], "v": "copilot/other"}] * 3
    path.write_text("".join(json.dumps(one) + "\n" for one in operations))
    check("vscode", path)


def test_a_document_whose_list_of_requests_has_another_name_is_read(tmp_path):
    path = chat().write(tmp_path)
    path.write_text(flip(path.read_text(), "requests"))
    [reading] = read_file(SOURCES["vscode"], path)
    assert reading.session.prompts == ("one", "two", "three")
    assert reading.session.skipped == 1


@pytest.mark.parametrize(
    "operation",
    [
        {"kind": 0, "v": {"version": 3, "sessionId": "x", "creationDate": 1, "requestr": []}},
        {"kind": 2, "k": ["requests"], "w": [{"requestId": "r", "message": {"text": "two"}}]},
        {"kind": 2, "k": ["requestr"], "v": [{"requestId": "r", "message": {"text": "two"}}]},
        {
            "kind": 3,
            "k": ["requests"],
            "v": [{"requestId": f"r{n}", "message": {"text": "x"}} for n in range(4)],
        },
    ],
)
def test_an_operation_without_what_it_sets_is_counted(tmp_path, operation):
    c = chat()
    path = tmp_path / "chatSessions" / f"{c.id}.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps({"kind": 0, "v": c.state}) + "\n" + json.dumps(operation) + "\n")
    [reading] = read_file(SOURCES["vscode"], path)
    assert reading.session.prompts == ("one", "two", "three")
    assert (reading.session.skipped, len(reading.session.warnings)) == (1, 1)


def tell(kind, folder, transcript):
    """Write three prompts as one kind of file has them."""
    prompts = [prompt for prompt, _ in ASKS]
    if kind in {"claude text", "claude blocks"}:
        t = transcript()
        for prompt in prompts:
            t.user(prompt if kind == "claude text" else [{"type": "text", "text": prompt}])
            t.agent(f"did {prompt}")
        return "claude", t.write()
    if kind in {"response_item", "event_msg", "item"}:
        return "codex", codex(folder, kept=kind)
    if kind == "pi":
        session = PiSession()
        for prompt in prompts:
            session.user(prompt)
            session.agent(f"did {prompt}")
        return kind, session.write(folder)
    events = Events() if kind == "copilot" else Transcript()
    for prompt in prompts:
        events.user(prompt)
        events.agent(f"did {prompt}")
    return kind, events.write(folder)


@pytest.mark.parametrize(
    "kind",
    ["claude text", "claude blocks", "response_item", "event_msg", "item", "copilot", "vscode", "pi"],
)
def test_no_flipped_bit_takes_a_prompt_away_without_a_word(tmp_path, transcript, kind):
    client, path = tell(kind, tmp_path, transcript)
    lines = path.read_bytes().rstrip(b"\n").split(b"\n")
    [place] = [number for number, line in enumerate(lines) if b'"two"' in line]
    joined = []
    for at in range(len(lines[place])):
        line = bytearray(lines[place])
        line[at] ^= 1 << at * 5 % 8
        path.write_bytes(b"\n".join([*lines[:place], line, *lines[place + 1 :]]) + b"\n")
        [session] = [reading.session for reading in read_file(SOURCES[client], path) if reading.session]
        if sum(turn.typed and turn.prompt != "" for turn in session.turns) == 3:
            continue
        assert session.warnings
        if not any(Signal.UNREAD in turn.signals for turn in session.turns):
            joined.append(at)
    # A name that says who spoke may be damaged (Claude Code's entrypoint), or a quote with a word beside it.
    assert len(joined) <= 3
