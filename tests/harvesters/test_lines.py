"""Lines are read with bounded memory, and a bad one costs one line."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.lines import PADDING, LineReader, decode_leniently
from skillopt_harvesters.salvage import salvage


def read(data: bytes, **options):
    reader = LineReader(io.BytesIO(data), **options)
    return [line.strip(PADDING) for block in reader.blocks() for line in block], reader


def test_only_a_newline_ends_a_line():
    text = json.dumps({"a": "one\u2028two\u2029three\x85four"}, ensure_ascii=False).encode()
    lines, _ = read(text + b"\n" + b'{"b":1}\n')
    assert lines == [text, b'{"b":1}']


def test_marks_and_padding_around_a_line_are_dropped():
    lines, reader = read(b'\xef\xbb\xbf{"a":1}\r\n\r\n\n{"b":2}\x00\x00\x00\n')
    assert lines == [b'{"a":1}', b'{"b":2}']
    assert reader.offset == 26


@pytest.mark.parametrize("between", [b"\n", b""])
def test_a_hole_that_a_crash_left_is_a_line_of_its_own_but_not_at_the_beginning(between):
    hole = b"\x00" * 100
    lines, reader = read(hole + b'{"a":1}\n' + hole + between + b'{"b":2}\n' + hole)
    assert lines == [b'{"a":1}', b"", b'{"b":2}']
    assert reader.offset == 216 + len(between)


@pytest.mark.parametrize(("goes_on", "lines"), [(True, [b'{"b":2}']), (False, [b"", b'{"b":2}'])])
def test_nuls_behind_a_record_that_was_read_before_its_line_ended_are_no_hole(goes_on, lines):
    assert read(b'\x00\x00\r\n{"b":2}\n', offset=7, goes_on=goes_on)[0] == lines


def test_a_byte_order_mark_inside_a_file_is_dropped_and_costs_no_record():
    mark = b"\xef\xbb\xbf"
    lines, _ = read(b'{"a":1}\n' + mark + b'{"b":2}\n{"c":3}' + mark + b'{"d":4}\n')
    assert [decode_leniently(line) for line in lines] == [[{"a": 1}], [{"b": 2}], [{"c": 3}, {"d": 4}]]
    assert salvage(lines[-1])[1] == 0


def test_whole_records_on_a_last_line_without_an_end_are_read():
    data = b'{"a":1}\n{"b":2}{"c":3}'
    lines, reader = read(data)
    assert lines == [b'{"a":1}', b'{"b":2}{"c":3}']
    assert reader.offset == len(data)
    lines, reader = read(data + b'{"d":')
    assert lines == [b'{"a":1}']
    assert reader.offset == 8


def leave(data: bytes, **options) -> tuple[list[bytes], bytes]:
    """Return the lines of a file that may grow, and what of it stays unread."""
    reader = LineReader(io.BytesIO(data), **options)
    lines = [line.strip(PADDING) for chunk in reader.chunks() for line in reader.split(chunk)]
    waits = reader.wait()
    assert waits == (reader.offset < len(data))
    lines += [line.strip(PADDING) for line in reader.rest()]
    return lines, data[reader.offset :]


def test_a_broken_last_record_stays_unread_as_long_as_it_may_go_on():
    halves = b'{"b":"if (x) {\n', b"two}\n", b'three"}\n'
    for count in (1, 2):
        broken = b"".join(halves[:count])
        for mark in (b"", b"\xef\xbb\xbf"):
            assert leave(mark + b'{"a":1}\n' + broken) == ([b'{"a":1}'], broken)
        assert leave(b"x" * 1000 + b'\n{"a":1}\n' + broken, limit=100) == ([b'{"a":1}'], broken)
    for broken in (b'{"b":"if (x) {}\n', b'{"b":"{}\n{}\n'):
        assert leave(b'{"a":1}\n' + broken) == ([b'{"a":1}'], broken)
    whole = b"".join(halves)
    assert leave(b'{"a":1}\n' + whole) == ([b'{"a":1}', whole[:-1]], b"")


def test_what_comes_behind_a_broken_last_record_is_not_kept_waiting():
    for rest in (b'{"c":3}\n', b'{"c":"\xff"}\n', b"x" * 200 + b"\n"):
        _, unread = leave(b'{"a":1}\n{"b":"one\n' + rest, limit=100)
        assert unread == b""


def test_a_record_on_a_line_with_another_may_be_broken_over_the_next_lines():
    first, second = b'{"type":"a","uuid":"1"}', b'{"type":"b",\n"text":"x\ny"}'
    [line], _ = read(first + second + b"\n")
    assert decode_leniently(line) == [{"type": "a", "uuid": "1"}, {"type": "b", "text": "x\ny"}]


def test_a_broken_last_record_waits_for_its_rest_behind_a_torn_one_as_well():
    torn = b'{"type":"a","text":"half{"type":"b","timestamp":"t"}\n'
    lines, rest = leave(torn + b'{"type":"c",\n')
    assert lines == [torn.rstrip()]
    assert rest == b'{"type":"c",\n'
    lines, rest = leave(torn + b'{"type":"c",\n"text":"x"}\n')
    assert [decode_leniently(line)[0]["type"] for line in lines] == ["b", "c"]
    assert rest == b""


def test_a_key_that_was_broken_over_lines_is_that_key():
    [line], _ = read(b'{"a":1,"par\n  ent":"x\ny"}\n')
    assert decode_leniently(line) == [{"a": 1, "parent": "x\ny"}]


def test_a_torn_last_line_stays_unread_until_it_is_whole():
    whole, torn = b'{"a":1}\n', b'{"b":'
    lines, reader = read(whole + torn)
    assert lines == [b'{"a":1}']
    assert reader.offset == len(whole)
    lines, reader = read(whole + torn + b"2}")
    assert lines == [b'{"a":1}', b'{"b":2}']
    assert reader.offset == len(whole + torn) + 2


def test_an_overlong_line_is_passed_over_and_counted():
    data = b'{"a":1}\n' + b"x" * 1000 + b"\n" + b'{"b":2}\n'
    lines, reader = read(data, limit=100)
    assert lines == [b'{"a":1}', b'{"b":2}']
    assert (reader.overlong, reader.offset) == (1, len(data))


def test_an_overlong_line_without_an_end_stays_unread():
    lines, reader = read(b'{"a":1}\n' + b"x" * 1000, limit=100)
    assert len(lines) == 1
    assert (reader.overlong, reader.is_unended, reader.offset) == (0, True, 8)
    assert not read(b'{"a":1}\n{"b"')[1].is_unended


def test_a_line_of_exactly_the_limit_is_kept():
    line = b"1" * 100
    lines, _ = read(line + b"\n", limit=100)
    assert lines == [line]


def test_noise_is_told_by_its_first_bytes():
    data = b'{"type":"mode","x":1}\n{"type":"user"}\n'
    lines, reader = read(data, noise=(b'{"type":"mode"',))
    assert lines == [b'{"type":"user"}']
    assert (reader.noise_lines, reader.offset) == (1, len(data))


def test_a_record_glued_to_a_torn_one_is_found():
    torn = b'{"type":"user","message":{"content":[{"type":"text","text":"half a sen'
    whole = b'{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}'
    assert decode_leniently(torn + whole) == [json.loads(whole)]


def test_two_whole_records_on_a_line_are_both_found():
    assert decode_leniently(b'{"type":"a"}{"type":"b"}') == [{"type": "a"}, {"type": "b"}]


def test_half_an_emoji_and_bytes_that_are_no_text_are_replaced():
    [value] = decode_leniently(b'{"a":"\\ud83d","b":"\xff"}')
    assert value == {"a": "?", "b": "\ufffd"}
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def test_a_bottomless_line_is_given_up():
    assert decode_leniently(b'{"a":' + b"[" * 200_000) == []


@given(st.binary(max_size=400))
def test_no_bytes_crash_the_decoder(data):
    for value in decode_leniently(data):
        json.dumps(value, ensure_ascii=False).encode("utf-8")


@given(st.lists(st.binary(max_size=60), max_size=20), st.integers(1, 40))
def test_the_offset_always_stands_behind_a_newline_or_a_whole_last_line(parts, limit):
    data = b"\n".join(parts)
    reader = LineReader(io.BytesIO(data), limit=limit)
    for chunk in reader.chunks():
        assert reader.offset == len(data) or data[reader.offset - 1 : reader.offset] == b"\n"
        assert all(len(line) <= limit for line in bytes(chunk.view).split(b"\n"))
    assert reader.offset <= len(data)
