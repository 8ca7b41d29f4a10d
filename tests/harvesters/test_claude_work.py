"""What an agent does between two prompts is taken together as it is taken record by record."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, Session, read_file
from skillopt_harvesters.calls import are_plain, keep_id
from skillopt_harvesters.marks import mark_of, marks_of
from skillopt_harvesters.sources.claude.conversation import Conversation
from skillopt_harvesters.sources.claude.records import Record
from skillopt_harvesters.sources.claude.session import ClaudeReader
from skillopt_harvesters.turns import TurnDraft

DATA = Path(__file__).parents[1] / "data" / "transcripts" / "claude"
FILES = [
    pytest.param(path, id=f"{path.parent.name[-12:]}-{path.stem[-12:]}")
    for path in sorted(DATA.rglob("*.jsonl"))
]
# Ids that stay, and such as become a digest.
MESSAGES = ["msg_01AbCdEfGhIjKlMnOpQrStUv", "msg_0a1b-2c3d", "gen-1712345678-aBcDeFgHiJkL", "m1", None]
CALLS = [f"toolu_{n:024x}" for n in range(6)] + [f"tool:{n:024x}:of-another-kind" for n in range(4)] + [None]
TOOLS = ["Bash", "Read", "Edit", "Skill", "mcp__x__y", None]


def sessions_of(path: Path) -> list[tuple[Session | None, bytes]]:
    """Return what is read of a file, with what the next reading will know."""
    return [(reading.session, reading.state) for reading in read_file(SOURCES["claude"], path)]


def take_one_by_one(conversation: Conversation, found: list[Record], *, plain: bool) -> None:
    """Take records as those are taken that are no usual work."""
    assert plain in {True, False}
    for record in found:
        if record.type == "assistant":
            conversation.take_assistant(record, copied=False)
        elif record.type == "user":
            conversation.take_user(record, copied=False)
        elif record.type == "attachment" and record.attachment is not None:
            conversation.take_attachment(record, record.attachment, copied=False)


def singly(
    monkeypatch: pytest.MonkeyPatch, path: Path, *, by_line: bool = False
) -> list[tuple[Session | None, bytes]]:
    """Return what is read of a file record by record: by lines, or without what takes usual work."""
    together = ClaudeReader.take_all
    with monkeypatch.context() as patched:
        if by_line:
            patched.setattr(ClaudeReader, "take_chunk", lambda _reader, _chunk: False)
            patched.setattr(
                ClaudeReader, "take_all", lambda reader, lines: [together(reader, [line]) for line in lines]
            )
        else:
            patched.setattr("skillopt_harvesters.sources.claude.session.take_work", take_one_by_one)
        return sessions_of(path)


@pytest.mark.parametrize("path", FILES)
def test_a_recorded_file_reads_the_same_record_by_record(path, monkeypatch):
    together = sessions_of(path)
    assert together == singly(monkeypatch, path)
    assert together == singly(monkeypatch, path, by_line=True)


def any_block(rng: random.Random) -> dict | str:
    kind = rng.choice(["tool_use", "tool_use", "text", "thinking", "bare"])
    if kind == "tool_use":
        given = {"command": rng.choice(["make test", "ls"]), "file_path": "/p/a.py", "skill": "tidy"}
        return {"type": kind, "id": rng.choice(CALLS), "name": rng.choice(TOOLS), "input": given}
    text = rng.choice(["Done.", "  \n", "I look.", "It holds.", ""])
    return text if kind == "bare" else {"type": kind, kind: text}


def any_record(rng: random.Random) -> dict:
    kind = rng.choice(["assistant"] * 5 + ["result"] * 4 + ["prompt", "attachment", "system"])
    if kind == "assistant":
        message = {
            "role": kind,
            "id": rng.choice(MESSAGES),
            "model": rng.choice(["m-1", "m-2", None, "<synthetic>"] if rng.random() < 0.2 else ["m-1"]),
            "content": [any_block(rng) for _ in range(rng.choice([1, 1, 1, 2, 0]))],
        }
        if rng.random() < 0.8:
            message["usage"] = {"input_tokens": rng.randrange(9), "output_tokens": rng.choice([None, 3])}
        record = {"type": kind, "message": message}
        if rng.random() < 0.1:
            record[rng.choice(["isApiErrorMessage", "attributionSkill"])] = rng.choice([True, "tidy"])
        return record
    if kind == "result":
        blocks = [
            {"type": "tool_result", "tool_use_id": rng.choice(CALLS), "content": "ok"}
            | ({"is_error": True, "content": "Exit code 2\nno"} if rng.random() < 0.2 else {})
            for _ in range(rng.choice([1, 1, 1, 2]))
        ]
        words = [{"type": "text", "text": "and then?"}] if rng.random() < 0.1 else []
        return {
            "type": "user",
            "message": {"role": "user", "content": blocks + words},
            "toolUseResult": rng.choice(["ok", {"interrupted": rng.random() < 0.3}]),
        }
    if kind == "prompt":
        return {"type": "user", "message": {"role": "user", "content": rng.choice(["go on", "now this"])}}
    if kind == "attachment":
        return {"type": kind, "attachment": {"type": "skill_listing", "names": ["tidy"]}}
    return {"type": kind, "content": "x"}


@pytest.mark.parametrize("seed", range(150))
def test_work_of_any_kind_reads_the_same_record_by_record(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    has_odd_ids = rng.random() < 0.2
    lines = []
    for number in range(rng.choice([5, 40, 200])):
        own = f"record-{number}" if has_odd_ids else f"{number:08x}-0000-4000-8000-{number:012x}"
        shared = {"uuid": own, "sessionId": "s", "cwd": "/p", "isSidechain": False}
        lines.append(any_record(rng) | shared | {"timestamp": f"2026-11-01T10:{number % 60:02}:00.000Z"})
    path = tmp_path / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    together = sessions_of(path)
    assert together == singly(monkeypatch, path)
    assert together == singly(monkeypatch, path, by_line=True)


@pytest.mark.parametrize("seed", range(40))
def test_pieces_said_together_leave_what_they_leave_said_one_by_one(seed):
    rng = random.Random(seed)
    together, by_one = TurnDraft(), TurnDraft()
    for _ in range(4):
        pieces = [
            (rng.choice([*filter(None, MESSAGES), f"msg_{rng.random()}"]), rng.choice("ab"), f"r{n}")
            for n in range(rng.randrange(5))
        ]
        together.say_all(pieces)
        for piece in pieces:
            by_one.say_once(*piece)
        assert together.texts == by_one.texts


@pytest.mark.parametrize(
    "name",
    [
        *filter(None, MESSAGES + CALLS),
        "msg_" + "a" * 41,
        "msg_" + "-a" * 21,
        "msg_a-Z" * 4,
        "msg_a\nmsg_b",
        "",
    ],
)
def test_ids_that_are_plain_are_kept_as_they_are(name):
    assert keep_id(name) == name or not are_plain([name])
    assert not are_plain(["msg_1", name]) or are_plain([name])


def test_very_many_ids_are_looked_at_in_a_moment():
    assert are_plain([f"msg_{number:020x}" for number in range(50_000)])
    assert not are_plain([*(f"msg_{number:020x}" for number in range(50_000)), "msg_?"])


@pytest.mark.parametrize(
    "odd",
    [
        "0000000A-0000-4000-8000-00000000000A",
        "00000000-0000-4000-8000-00000000000 ",
        "0000000000004000-8000-0000-00000000-",
        "00000000-0000-4000-8000-000000000000\n",
        "x",
        "",
    ],
)
def test_marks_do_not_depend_on_the_ids_beside_them(odd):
    ids = ["9789b115-c1fe-440f-aaf7-97fdc403d285", odd, "0d6395d2-d860-4146-a7fb-0545f047573c", odd]
    assert marks_of(ids) == list(map(mark_of, ids))
    assert marks_of(ids[:1]) == [mark_of(ids[0])]
    assert marks_of([]) == []
