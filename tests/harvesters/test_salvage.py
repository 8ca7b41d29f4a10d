"""Records broken over lines are joined, and what cannot be joined costs no other record."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.lines import PADDING, LineReader
from skillopt_harvesters.salvage import decode_leniently, salvage
from skillopt_harvesters.sources.claude.records import decode_line as decode_claude
from skillopt_harvesters.sources.codex.decode import decode_patiently
from skillopt_harvesters.sources.copilot.records import Event
from skillopt_harvesters.sources.loose import decode_line


class Trickle(io.RawIOBase):
    """A stream that gives as many bytes as it likes."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self.data = io.BytesIO(data)
        self.sizes = sizes

    def readinto(self, buffer):
        self.sizes = [*self.sizes[1:], self.sizes[0]]
        piece = self.data.read(min(self.sizes[0], len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


def read(data: bytes, **options) -> list[bytes]:
    reader = LineReader(io.BytesIO(data), **options)
    return [line.strip(PADDING) for block in reader.blocks() for line in block]


def test_a_record_broken_by_raw_line_ends_is_joined():
    whole = b'{"a":"first"}\n{"b":"one\n two }\n{three\n"}\n{"c":3}\n'
    assert read(whole) == [b'{"a":"first"}', b'{"b":"one\n two }\n{three\n"}', b'{"c":3}']
    assert decode_leniently(read(whole)[1]) == [{"b": "one\n two }\n{three\n"}]


def test_a_record_broken_behind_a_brace_is_joined():
    whole = b'{"b":"if (x) {}\n{three}\n{four}"}\n'
    for rest in (b"", b'{"c":3}\n', b'{"c":"\t"}\n'):
        assert read(b'{"a":1}\n' + whole + rest)[:2] == [b'{"a":1}', whole.strip()]
    # Others are whole, though not quite as they should be.
    assert read(b'{"a":"\t"}\n{"b":"\xff"}\n{"c":"\x01"}\n') == [
        b'{"a":"\t"}',
        b'{"b":"\xff"}',
        b'{"c":"\x01"}',
    ]


def test_a_record_broken_behind_a_brace_where_chunks_meet_is_joined():
    for limit in range(40, 120):
        filler = b'{"x":"' + b"y" * 20 + b'"}\n'
        data = filler * 3 + b'{"b":"{one}\n{two}\nthree"}\n' + filler
        assert b'{"b":"{one}\n{two}\nthree"}' in read(data, limit=limit)


def test_names_that_were_broken_over_lines_are_whole():
    line = b'{"type":"us\ner","call_id":"call_\n1","parentUuid":"a\nb","text":"x\ny","toolUseID":"t\n1"}'
    assert decode_leniently(line) == [
        {"type": "user", "call_id": "call_1", "parentUuid": "ab", "text": "x\ny", "toolUseID": "t1"}
    ]


def test_records_with_a_comma_between_them_are_all_read():
    records = [{"a": 1}, {"b": "x, y"}, {"c": 3}]
    for ending in (b"", b",", b", \r"):
        line = b" , ".join(json.dumps(record).encode() for record in records) + ending
        assert salvage(line) == (records, 0)
    assert salvage(b'{"a":1},{"b":') == ([{"a": 1}], 1)


def test_a_broken_record_at_the_end_waits_for_nothing():
    assert read(b'{"a":1}\n{"b":"one\ntwo\n') == [b'{"a":1}', b'{"b":"one', b"two"]


def test_a_whole_record_ends_the_search_for_the_rest_of_a_torn_one():
    assert read(b'{"a":"torn\n{"b":1}\ntail"}\n') == [b'{"a":"torn', b'{"b":1}', b'tail"}']


def test_a_record_broken_where_chunks_meet_is_joined():
    for limit in range(40, 120):
        filler = b'{"x":"' + b"y" * 20 + b'"}\n'
        data = filler * 3 + b'{"b":"one\ntwo\nthree"}\n' + filler
        assert b'{"b":"one\ntwo\nthree"}' in read(data, limit=limit)


def test_a_part_of_a_torn_record_is_not_taken_for_a_record():
    torn = b'{"type":"attachment","attachment":{"type":"user","message":{"role":"user","content":"x"}}'
    assert salvage(torn) == ([], 1)
    assert salvage(b'{"a":[{"b":1},{"type":"user"}') == ([], 1)
    whole = b'{"timestamp":"t","type":"user"}'
    assert salvage(b'{"a":[{"b":1},' + whole) == ([json.loads(whole)], 1)
    assert salvage(b'{"a":"half' + b'{"type":"user"}') == ([{"type": "user"}], 1)


def test_a_glued_record_is_found_behind_very_many_torn_objects():
    torn = b'{"a":[' + b'{"b":1},' * 20_000
    assert salvage(torn + b'{"timestamp":1}') == ([{"timestamp": 1}], 1)


def test_hostile_lines_take_a_moment():
    size = 2_000_000
    for line in (
        b'{"' * (size // 2),
        b'{"a":' * (size // 5),
        b'{"a":[' * (size // 6),
        b'"' * (size + 1),
        b"[" * size,
    ):
        assert salvage(line)[1] == 1
    read(b"{\n" * size)
    read(b'{"a":"\n' * (size // 7))
    read(b'{"a":"\n}\n' * (size // 9))


lines = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.dictionaries(st.text(max_size=4), st.text(max_size=12), min_size=1).map(
            lambda value: json.dumps(value, ensure_ascii=False).encode()
        ),
        st.sampled_from([b"", b"\r", b"\0\0", b'{"a":"', b'"}', b"{}", b"}", b"\xef\xbb\xbf"]),
    ),
    max_size=12,
)


@given(lines, st.lists(st.integers(1, 50), min_size=1, max_size=4), st.integers(8, 80), st.booleans())
def test_every_whole_record_is_read_however_the_bytes_come(parts, sizes, limit, ended):
    data = b"\n".join(parts) + (b"\n" if ended else b"")
    reader = LineReader(Trickle(data, sizes), limit=limit)
    found = [line.strip(PADDING) for block in reader.blocks() for line in block]
    joined = b"\n".join(found)
    wanted = [part.strip(PADDING) for part in data.split(b"\n") if len(part) <= limit]
    for part in wanted:
        if part.startswith(b'{"') and part.endswith(b"}") and decode_leniently(part):
            assert part in joined
    assert reader.offset <= len(data)
    assert all(len(line) <= limit for line in found)


@given(lines)
def test_one_read_at_a_time_gives_the_same_as_all_at_once(parts):
    data = b"\n".join(parts)
    assert read(data) == [
        line.strip(PADDING)
        for block in LineReader(Trickle(data, [1, 7, 3]), limit=10_000).blocks()
        for line in block
    ]


def test_all_whole_records_behind_a_torn_one_are_found():
    whole = [{"type": "user", "timestamp": "t", "text": "a } b"}, {"type": "agent", "timestamp": "u"}]
    torn = b'{"type":"user","timestamp":"s","parts":[{"text":"hal'
    for blanks in (b"", b" ", b"\0\0"):
        line = torn + blanks.join(json.dumps(record).encode() for record in whole)
        assert salvage(line) == (whole, 1)


def test_a_part_of_a_torn_record_is_no_record():
    line = b'{"type":"user","parts":[{"text":"a"},{"text":"b"}' + json.dumps({"timestamp": "t"}).encode()
    assert salvage(line) == ([{"timestamp": "t"}], 1)


@pytest.mark.parametrize(
    "decode",
    [decode_claude, decode_patiently, lambda line: decode_line(line, Event)],
    ids=["claude", "codex", "any"],
)
def test_a_line_whose_beginning_is_lost_is_given_up_once(decode):
    assert decode(b'7,"uuid","cwd","x","version":"2.1.332"}') == ([], 1)
