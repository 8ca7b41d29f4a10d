"""What the proposal changed goes onto the live file, written down as the live file is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_staging.errors import StagingError
from skillopt_staging.merge import merge, same_content
from skillopt_staging.styles import BOM, plain, restyle

LINES = st.sampled_from(
    [b"a", b"b", b"c", b"", b"\xff\xfe", "größe".encode(), b"<<<<<<< x", b"=======", b"a\rb"]
)
CONTENTS = st.lists(LINES, max_size=15).map(lambda lines: b"".join(line + b"\n" for line in lines))
STYLES = st.tuples(st.sampled_from([b"\n", b"\r\n"]), st.booleans(), st.booleans())
FILES = st.lists(
    st.one_of(LINES, st.just(b"\r"), st.just(b"x\r")).flatmap(
        lambda line: st.sampled_from([line + b"\n", line + b"\r\n"])
    ),
    max_size=15,
).flatmap(lambda lines: st.sampled_from([b"".join(lines), b"".join(lines) + b"end", BOM + b"".join(lines)]))


def ends_blank(content):
    return content in {b"", b"\n"} or content.endswith(b"\n\n")


def written(content, style):
    end, bom, unfinished = style
    data = content.replace(b"\n", end)
    if unfinished and not ends_blank(content):
        data = data.removesuffix(end)
    return (BOM if bom else b"") + data


def style_of(data):
    body = data.removeprefix(BOM)
    ends = {line.endswith(b"\r") for line in body.split(b"\n")[:-1]}
    return ends, data.startswith(BOM), body.endswith(b"\n")


@given(FILES)
def test_a_file_restyled_as_itself_is_itself(data):
    assert restyle(plain(data), data) == data


@given(CONTENTS, CONTENTS, STYLES, STYLES)
def test_an_untouched_live_file_takes_the_proposal_in_its_own_style(base, proposed, live_style, other):
    live = written(base, live_style)
    outcome = merge(written(base, other), live, written(proposed, other))
    assert outcome.data is not None
    assert same_content(outcome.data, written(proposed, other))
    if live and proposed and style_of(live)[0]:
        ends, bom, finished = style_of(outcome.data)
        assert ends <= style_of(live)[0]
        assert bom == style_of(live)[1]
        assert finished == (style_of(live)[2] or ends_blank(proposed))


@given(CONTENTS, CONTENTS, STYLES, STYLES)
def test_a_live_file_that_has_the_proposal_already_stays_as_it_is(base, proposed, one, other):
    live = written(proposed, one)
    assert merge(written(base, other), live, written(proposed, other)).data == live
    assert merge(live, live, written(proposed, other)).data == live


@given(FILES, FILES)
def test_a_proposal_that_changes_nothing_leaves_every_byte(base, live):
    assert merge(base, live, base).data == live


PARTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"\xfe\n", b"\n"]), max_size=4).map(b"".join)
MIDDLE = b"".join(b"kept %d\n" % number for number in range(8))


@settings(max_examples=30)
@given(PARTS, PARTS, PARTS, PARTS, STYLES)
def test_changes_in_different_places_come_together(top, new_top, bottom, new_bottom, style):
    base = top + MIDDLE + bottom
    mine, merged = new_top + MIDDLE + bottom, new_top + MIDDLE + new_bottom
    end, bom, unfinished = style
    outcome = merge(base, written(mine, style), top + MIDDLE + new_bottom)
    assert outcome.data == written(merged, (end, bom, unfinished and not ends_blank(mine)))


def test_changes_in_one_place_conflict_and_show_all_three_sides():
    outcome = merge(b"one\ntwo\n", b"one\nmine\n", b"one\ntheirs\n")
    assert (outcome.data, outcome.conflicts) == (None, 1)
    assert outcome.marked == (
        b"one\n<<<<<<< live\nmine\n||||||| before\ntwo\n=======\ntheirs\n>>>>>>> proposed\n"
    )


def test_more_conflicts_than_git_counts_are_conflicts():
    base = b"".join(b"%d\nkept\nkept\nkept\n" % number for number in range(300))
    outcome = merge(
        base,
        base.replace(b"\nkept\nkept\nkept", b"x\nkept\nkept\nkept"),
        base.replace(b"\nkept\nkept\nkept", b"y\nkept\nkept\nkept"),
    )
    assert outcome.data is None
    assert outcome.conflicts >= 127


def test_mixed_line_ends_change_only_where_the_proposal_does():
    live = b"one\r\ntwo\nthree\r\nfour\n"
    assert (
        merge(plain(live), live, b"one\ntwo\nnew\nthree\nfour\n").data == b"one\r\ntwo\nnew\nthree\r\nfour\n"
    )


def test_a_binary_file_is_merged_only_when_one_side_left_it_alone():
    assert merge(b"a\0\n", b"a\0\n", b"b\0\n").data == b"b\0\n"
    assert merge(b"a\0\n", b"c\0\n", b"b\0\n").data is None


def test_the_users_conflict_style_does_not_change_the_outcome(private_home):
    (private_home / ".gitconfig").write_text("[merge]\n\tconflictStyle = merge\n[core]\n\tautocrlf = true\n")
    outcome = merge(b"one\ntwo\n", b"one\nmine\n", b"one\ntheirs\n")
    assert b"||||||| before" in outcome.marked
    assert merge(b"a\n1\n2\n3\n", b"b\n1\n2\n3\n", b"a\n1\n2\nc\n").data == b"b\n1\n2\nc\n"


def test_a_file_beyond_all_measure_is_refused():
    with pytest.raises(StagingError, match="larger than 16 MiB"):
        merge(b"", b"", b"x" * (16 * 1024 * 1024 + 1))
