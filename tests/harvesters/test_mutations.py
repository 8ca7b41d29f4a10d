"""Recorded transcripts, damaged in every way: nothing raises, and what was not touched is read."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, MemoryClaims, Session, Signal, Turn, read_file
from skillopt_harvesters.marks import mark_of

DATA = Path(__file__).parents[1] / "data" / "transcripts" / "claude"
RECORDED = sorted(path for path in DATA.rglob("projects/**/*.jsonl") if path.stat().st_size)
READ = {"user", "assistant", "system", "attachment"}
CLAUDE = SOURCES["claude"]

recorded = st.sampled_from(RECORDED)
place = st.floats(0, 1, exclude_max=True)


class Read:
    """A transcript of the given lines, read: the session and the marks of the records that were taken."""

    def __init__(self, folder: Path, data: bytes) -> None:
        path = folder / "0bd46943-cb32-4d31-a88d-a8a3cb8d6379.jsonl"
        path.write_bytes(data)
        claims = MemoryClaims()
        [reading] = read_file(CLAUDE, path, claims=claims)
        assert reading.session is not None
        self.offset = reading.offset
        self.session: Session = reading.session
        self.marks = set(claims.marks_of(f"claude/{path.stem}"))
        # What is stored and shown must be storable and showable.
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(self.session), type=Session) == self.session
        msgspec.json.encode(self.session)

    @property
    def content(self) -> Session:
        """The session without what tells of losses."""
        return msgspec.structs.replace(self.session, skipped=0, warnings=())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutations")


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def marks_of_lines(lines: list[bytes]) -> set[int]:
    records = [json.loads(line) for line in lines]
    return {mark_of(r["uuid"]) for r in records if r.get("type") in READ and r.get("uuid")}


@given(recorded, place, place)
def test_a_torn_record_costs_itself(folder, path, where, cut):
    lines = lines_of(path)
    number = int(where * len(lines))
    torn = lines[number][: int(cut * (len(lines[number]) - 2))]
    read = Read(folder, b"".join([*lines[:number], torn + b"\n", *lines[number + 1 :]]))
    assert without_lost(read) == without_lost(Read(folder, b"".join(lines[:number] + lines[number + 1 :])))
    assert read.session.skipped == (1 if torn else 0)
    turns = read.session.turns
    lost = [place for place, turn in enumerate(turns) if Signal.UNREAD in turn.signals]
    if lost:
        # It was a prompt; all that was said and done for it is that turn's.
        [place] = lost
        whole = Read(folder, b"".join(lines)).session.turns
        assert [work_of(turn) for turn in turns] == [work_of(turn) for turn in whole]
        assert turns[:place] == whole[:place]
        assert turns[place + 1 :] == whole[place + 1 :]


def work_of(turn: Turn) -> tuple[object, ...]:
    return turn.answer, turn.tool_calls, turn.tokens


def without_lost(read: Read) -> tuple[object, ...]:
    """All but which turn the answer to a lost prompt is in."""
    session = read.content
    calls = [call for turn in session.turns for call in turn.tool_calls]
    return msgspec.structs.replace(session, turns=()), session.prompts, calls


@given(recorded, place, place)
def test_a_record_glued_to_a_torn_one_is_read(folder, path, where, cut):
    lines = lines_of(path)
    number = int(where * len(lines))
    torn = lines[number][: int(cut * (len(lines[number]) - 2))]
    read = Read(folder, b"".join([*lines[:number], torn, *lines[number + 1 :]]))
    assert without_lost(read) == without_lost(Read(folder, b"".join(lines[:number] + lines[number + 1 :])))


@given(recorded, place, st.sampled_from([b"", b" ", b"\0\0\0", b"\r"]))
def test_records_glued_together_are_all_read(folder, path, where, between):
    lines = lines_of(path)
    number = int(where * len(lines))
    read = Read(
        folder, b"".join([*lines[:number], lines[number].rstrip(b"\n") + between, *lines[number + 1 :]])
    )
    assert read.session == Read(folder, b"".join(lines)).session


@given(recorded, place, st.binary(min_size=1, max_size=40))
def test_garbage_between_lines_costs_nothing_else(folder, path, where, garbage):
    lines = lines_of(path)
    number = int(where * len(lines))
    read = Read(folder, b"".join([*lines[:number], garbage + b"\n", *lines[number:]]))
    assert marks_of_lines(lines) <= read.marks
    assert read.content.turns == Read(folder, b"".join(lines)).content.turns


@given(recorded, place, st.integers(1, 3))
def test_a_record_written_twice_counts_once(folder, path, where, times):
    lines = [line for line in lines_of(path) if json.loads(line).get("uuid")]
    if lines:
        number = int(where * len(lines))
        again = lines[:number] + [lines[number]] * times + lines[number:]
        assert Read(folder, b"".join(again)).session == Read(folder, b"".join(lines)).session


@given(recorded, st.sampled_from(["crlf", "bom", "nuls behind", "nuls after", "blanks"]))
def test_padding_changes_nothing(folder, path, kind):
    lines = lines_of(path)
    padded = {
        "crlf": [line.replace(b"\n", b"\r\n") for line in lines],
        "bom": [b"\xef\xbb\xbf", *lines],
        "nuls behind": [line.replace(b"\n", b"\0\0\0\n") for line in lines],
        "nuls after": [*lines, b"\0" * 5000],
        "blanks": [b"\n \t\n" + line for line in lines],
    }[kind]
    read = Read(folder, b"".join(padded))
    assert read.session == Read(folder, b"".join(lines)).session


@given(recorded, place, st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes_cost_their_line_at_most(folder, path, where, flips):
    lines = lines_of(path)
    number = int(where * len(lines))
    damaged = bytearray(lines[number])
    for at, byte in flips:
        # The end of the line stays: else this is two lines glued together.
        damaged[int(at * (len(damaged) - 1))] = byte
    read = Read(folder, b"".join([*lines[:number], bytes(damaged), *lines[number + 1 :]]))
    assert marks_of_lines(lines[:number] + lines[number + 1 :]) <= read.marks


odd_value = st.sampled_from(
    [
        *(
            None,
            True,
            0,
            -1,
            10**30,
            1e308,
            float("inf"),
            float("nan"),
            "",
            "x" * 300,
            "\ud83d",
            "\u2028",
            [],
            {},
        ),
        *(["a"], [None], [[]], {"type": "text"}, {"text": 1}, [{"type": "text", "text": None}], [{}]),
        json.loads("[" * 60 + "]" * 60),
    ]
)


def replace_somewhere(value: object, choose: list[float], odd: object) -> object:
    """Return the value with one part, found by going down along `choose`, replaced."""
    if not choose or not isinstance(value, dict | list) or not value:
        return odd
    if isinstance(value, dict):
        key = list(value)[int(choose[0] * len(value))]
        return {**value, key: replace_somewhere(value[key], choose[1:], odd)}
    at = int(choose[0] * len(value))
    return [*value[:at], replace_somewhere(value[at], choose[1:], odd), *value[at + 1 :]]


@given(
    recorded,
    st.lists(st.tuples(place, st.lists(place, min_size=1, max_size=5), odd_value), min_size=1, max_size=6),
)
@settings(max_examples=300)
def test_values_of_the_wrong_kind_cost_themselves(folder, path, changes):
    lines = lines_of(path)
    touched = set()
    for where, choose, odd in changes:
        number = int(where * len(lines))
        touched.add(number)
        record = replace_somewhere(json.loads(lines[number]), choose, odd)
        lines[number] = json.dumps(record).encode() + b"\n"
    read = Read(folder, b"".join(lines))
    assert marks_of_lines([line for n, line in enumerate(lines) if n not in touched]) <= read.marks
    assert min(msgspec.structs.astuple(read.session.tokens)) >= 0


@given(recorded, place, place, st.sampled_from([b"\n", b"\n\n", b"\r\n", b"\n{\n}\n", b'\n{"a": [1,\n']))
def test_a_record_broken_by_raw_line_ends_in_a_string_is_put_together(folder, path, where, at, broken_by):
    lines = lines_of(path)
    prompts = [n for n, line in enumerate(lines) if b'"role":"user","content":"' in line]
    if not prompts:
        return
    number = prompts[int(where * len(prompts))]
    start = lines[number].index(b'"role":"user","content":"') + len(b'"role":"user","content":"')
    text = lines[number][start : lines[number].index(b'"', start)]
    cut = start + int(at * len(text))
    if lines[number][cut - 1 : cut] == b"\\" or b'"' in broken_by:
        broken_by = b"\n"
    if lines[number][cut - 1 : cut] == b"\\":
        return
    whole = [*lines]
    escaped = json.dumps(broken_by.decode())[1:-1].encode()
    whole[number] = lines[number][:cut] + escaped + lines[number][cut:]
    broken = [*lines]
    broken[number] = lines[number][:cut] + broken_by + lines[number][cut:]
    assert Read(folder, b"".join(broken)).session == Read(folder, b"".join(whole)).session
