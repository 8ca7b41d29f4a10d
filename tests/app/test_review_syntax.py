"""Colours of Markdown and front matter, and rows set side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.review.difference import compare
from skillopt_sleep.review.drawing import lay_out_rows, pair_rows
from skillopt_sleep.review.syntax import find_fenced, mark_line
from skillopt_staging.hunks import Kind


def marked(text, **where):
    return [(text[start:end], kind) for start, end, kind in mark_line(text, **where)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title", [("# Title", "heading")]),
        ("#no title", []),
        ("- run `make`, **always**", [("-", "mark"), ("`make`", "code"), ("**always**", "strong")]),
        ("3. see [this](a.md)", [("3.", "mark"), ("[this](a.md)", "link")]),
        ("plain * text ** with stars", []),
        ("```sh", [("```sh", "code")]),
        ("", []),
    ],
)
def test_what_deserves_a_colour(text, expected):
    assert marked(text) == expected


def test_front_matter_and_code_have_their_own():
    assert marked("name: x", front=True) == [("name", "field")]
    assert marked("  more: x", front=True) == []
    assert marked("# not a heading", fenced=True) == [("# not a heading", "code")]


def test_blocks_of_code_are_found_by_their_lines():
    assert find_fenced("a\n```\nb\nc\n```\nd\n~~~~\ne\n") == {3, 4, 8, 9}


@given(st.text(max_size=80))
def test_parts_lie_inside_the_line_and_in_order(text):
    places = [place for start, end, _ in mark_line(text) for place in (start, end)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


LINES = st.lists(st.text(alphabet="ab `*#é\t\x1b", max_size=30), max_size=12)


@given(LINES, LINES, st.integers(20, 90), st.booleans())
def test_every_block_is_as_high_as_it_was_said_to_be_and_every_row_is_shown_once(old, new, width, split):
    base, text = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    for part in compare(base, text).parts:
        for block in lay_out_rows(part, width, split=split, out=False):
            assert len(block.draw()) == block.height
        pairs = list(pair_rows(part.rows))
        left = [one for one, _ in pairs if one]
        right = [other for _, other in pairs if other]
        assert left == [row for row in part.rows if row.line.kind is not Kind.ADDED]
        assert right == [row for row in part.rows if row.line.kind is not Kind.REMOVED]
