"""Recorded transcripts, written otherwise: what they say stays the same."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path

import msgspec
import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, Session, read_file

DATA = Path(__file__).parents[1] / "data" / "transcripts"
FILES = {
    client: sorted(path for path in (DATA / client).rglob("*.jsonl") if path.stat().st_size)
    for client in ("claude", "codex", "copilot", "pi")
}
ALL = sorted((client, path) for client, paths in FILES.items() for path in paths)


def read(client: str, path: Path, data: bytes, folder: Path) -> Session:
    source = SOURCES[client]
    name = f"{path.parent.name}.jsonl" if path.name == "events.jsonl" else path.name
    written = folder / name
    if path.parent.name == "subagents":
        written = folder / "subagents" / name
        written.parent.mkdir(exist_ok=True)
    written.write_bytes(data)
    [reading] = read_file(source, written, claims=MemoryClaims())
    assert reading.session is not None
    return msgspec.structs.replace(reading.session, skipped=0, warnings=())


def reorder(value, dice):
    """Return the value with the keys of every object in another order."""
    if isinstance(value, dict):
        items = [(key, reorder(item, dice)) for key, item in value.items()]
        dice.shuffle(items)
        return dict(items)
    return [reorder(item, dice) for item in value] if isinstance(value, list) else value


def add_keys(value, dice):
    """Return the value with a key nobody knows in every object but those that hold a tool's arguments."""
    if isinstance(value, dict):
        known = {key: item if key in UNTOUCHED else add_keys(item, dice) for key, item in value.items()}
        return {"zzNew": {"type": "user", "text": "x"}, **known} if dice.random() < 0.5 else known
    return [add_keys(item, dice) for item in value] if isinstance(value, list) else value


UNTOUCHED = {"input", "arguments", "modelMetrics", "toolUseResult", "structured", "result", "payload", "data"}


def as_floats(value, dice):
    """Return the value with counts written as other programs do."""
    if isinstance(value, dict):
        return {
            key: dice.choice([float(item), str(item), item])
            if key.endswith("_tokens") and isinstance(item, int)
            else item
            if key in {"input", "arguments"}
            else as_floats(item, dice)
            for key, item in value.items()
        }
    return [as_floats(item, dice) for item in value] if isinstance(value, list) else value


def spell(record, dice) -> bytes:
    """Return a record as one of the ways to write JSON."""
    separators = dice.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
    return json.dumps(record, ensure_ascii=dice.random() < 0.5, separators=separators).encode()


@pytest.mark.parametrize(("client", "path"), ALL, ids=[f"{c}-{p.parent.name}-{p.stem}"[:80] for c, p in ALL])
@pytest.mark.parametrize("how", ["spelled", "padded", "floats", "twice", "new keys", "other order"])
def test_the_same_in_other_json_is_the_same(client, path, how, tmp_path):
    dice = random.Random(f"{path.name}{how}")
    lines = path.read_bytes().splitlines()
    as_it_is = read(client, path, b"\n".join(lines) + b"\n", tmp_path)
    try:
        records = [json.loads(line) for line in lines]
    except ValueError:
        pytest.skip("damaged on purpose")
    if how == "spelled":
        data = [spell(record, dice) for record in records]
    elif how == "padded":
        data = [b" \t" + line + b" \r" for line in lines]
    elif how == "floats":
        data = [json.dumps(as_floats(record, dice), separators=(",", ":")).encode() for record in records]
    elif how == "other order":
        data = [json.dumps(reorder(record, dice), separators=(",", ":")).encode() for record in records]
    elif how == "new keys":
        data = [json.dumps(add_keys(record, dice), separators=(",", ":")).encode() for record in records]
    elif client == "codex":
        # Nothing names its records.
        return
    else:
        data = [*lines, *lines]
    assert without_digests(read(client, path, b"\n".join(data) + b"\n", tmp_path)) == without_digests(
        as_it_is
    )


def without_digests(session: Session) -> Session:
    """Arguments have a digest of how they are written."""
    turns = tuple(
        msgspec.structs.replace(
            turn,
            tool_calls=tuple(msgspec.structs.replace(call, arguments_digest="") for call in turn.tool_calls),
        )
        for turn in session.turns
    )
    return msgspec.structs.replace(session, turns=turns)


def is_answer(record):
    message = record.get("message")
    return record.get("type") == "assistant" and isinstance(message["content"], list)


def belong_together(one, other):
    return is_answer(one) and is_answer(other) and one["message"]["id"] == other["message"]["id"]


def split_blocks(records, dice):
    """Write a record a block."""
    for record in records:
        blocks = record["message"]["content"] if is_answer(record) else []
        for block in blocks[:-1]:
            yield {**record, "uuid": str(uuid.uuid4()), "message": {**record["message"], "content": [block]}}
        last = {"message": {**record["message"], "content": blocks[-1:]}} if blocks else {}
        yield {**record, **last}


def grow_messages(records, dice):
    """Tell in each record of a message all that was told of it before."""
    before = {}
    for record in records:
        if belong_together(before, record) and record["message"].get("model") != "<synthetic>":
            content = before["message"]["content"] + record["message"]["content"]
            record = {**record, "message": {**record["message"], "content": content}}  # noqa: PLW2901
        before = record
        yield record


def spell_content(records, dice):
    """Write text as a string, as a list of blocks or as a list of strings."""
    for record in records:
        message = record.get("message") or {}
        content = message.get("content")
        if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
            content = content[0]["text"]
        if isinstance(content, str):
            content = dice.choice([content, [content], [{"type": "text", "text": content}]])
            record = {**record, "message": {**message, "content": content}}  # noqa: PLW2901
        yield record


def add_noise(records, dice):
    """Put records in between that say nothing, or that others say."""
    said = [record["message"] for record in records if record.get("message")]
    words = {"role": "user", "content": "never a prompt"}
    for record in records:
        message = dice.choice(said) if said else words
        noise = [
            {"type": "progress", "data": {"type": "agent_progress", "message": message}},
            {"type": "queue-operation", "operation": "enqueue", "content": "do it"},
            {"type": "last-prompt", "lastPrompt": "do it"},
            {"type": "brand-new", "message": message},
            {"message": message},
            {"type": "user", "isMeta": True, "message": words},
            {"type": "user", "isCompactSummary": True, "message": words},
            *([1, 2], "text", None, 5),
        ]
        for one in dice.sample(noise, dice.randint(0, 2)):
            yield {**one, "uuid": str(uuid.uuid4())} if isinstance(one, dict) else one
        yield record


def shuffle_clocks(records, dice):
    times = [record["timestamp"] for record in records if "timestamp" in record]
    dice.shuffle(times)
    return [{**record, "timestamp": times.pop()} if "timestamp" in record else record for record in records]


def repeat_records(records, dice):
    for number, record in enumerate(records):
        yield record
        if dice.random() < 0.1:
            yield from (one for one in records[max(0, number - 6) : number + 1] if one.get("uuid"))


def change_folder(records, dice):
    began = False
    for record in records:
        yield {**record, "cwd": "/elsewhere"} if began and "cwd" in record else record
        began = began or "cwd" in record


WAYS = [split_blocks, grow_messages, spell_content, add_noise, shuffle_clocks, repeat_records, change_folder]


@pytest.mark.parametrize("path", FILES["claude"], ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_claude_code_session_says_does_not_hang_on_how_its_records_are_cut(path, way, tmp_path):
    try:
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
    except ValueError:
        pytest.skip("damaged on purpose")
    otherwise = way(records, random.Random(path.name))

    def write(records):
        return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)

    one, other = (read("claude", path, write(made), tmp_path) for made in (records, otherwise))
    assert without_times(other) == without_times(one)


def without_times(session: Session) -> Session:
    turns = tuple(msgspec.structs.replace(turn, started=None) for turn in session.turns)
    return msgspec.structs.replace(session, turns=turns, started=None, ended=None)
