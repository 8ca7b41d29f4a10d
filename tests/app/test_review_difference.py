from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.review.difference import compare
from skillopt_sleep.review.provenance import find_edits
from skillopt_sleep.review.words import compare_words, pair_lines
from skillopt_staging.hunks import Kind, hunks
from tests.support.proposals import COMMIT_EDITS, COMMITS_BASE, COMMITS_TEXT

LINES = st.lists(st.text(alphabet="ab \t-é\u202e", max_size=8), max_size=12)


def cut(text: str, spans) -> list[str]:
    return [text[start:end] for start, end in spans]


def rows_added(difference):
    return [row for part in difference.parts for row in part.rows if row.line.kind is Kind.ADDED]


def test_hunks_are_numbered_as_the_staging_wing_numbers_them():
    base = "".join(f"line {number}\n" for number in range(60))
    text = (
        base.replace("line 5\n", "LINE 5\n").replace("line 30\n", "").replace("line 50\n", "line 50\nnew\n")
    )
    difference = compare(base, text)
    assert [part.number for part in difference.parts] == [1, 2, 3]
    assert [part.hunk for part in difference.parts] == list(hunks(base, text))
    assert (difference.added, difference.removed) == (2, 2)


def test_the_place_of_a_hunk_tells_front_matter_from_body():
    places = [part.place for part in compare(COMMITS_BASE, COMMITS_TEXT).parts]
    assert places == ["front matter", "body"]
    assert [part.place for part in compare("", COMMITS_TEXT).parts] == ["front matter and body"]
    assert [part.place for part in compare("a\n---\nb\n", "a\n---\nc\n").parts] == ["body"]


def test_equal_texts_have_no_hunks():
    assert compare("a\n", "a\n").parts == ()


def test_changed_words_are_marked_on_both_sides():
    old, new = "Use the past tense, always.", "Use the imperative, always."
    removed, added = compare_words(old, new)
    assert cut(old, removed) == ["past tense"]
    assert cut(new, added) == ["imperative"]


def test_added_words_are_marked_without_the_space_before_them():
    old, new = "Write messages.", "Write messages for this project."
    removed, added = compare_words(old, new)
    assert cut(old, removed) == []
    assert cut(new, added) == ["for this project"]


def test_a_change_of_spaces_alone_is_marked():
    removed, added = compare_words("a b", "a  b")
    assert (removed, added) == (((1, 2),), ((1, 3),))


def test_a_rewritten_line_has_no_marks():
    assert compare_words("Explain what happened", "# Examples of commands") == ((), ())


def test_lines_of_unequal_blocks_are_paired_by_likeness():
    old = ["Start with a capital letter.", "No full stop at the end."]
    new = [
        "Run make check first.",
        "Start with a small letter.",
        "A body.",
        "No full stop, ever, at the end.",
    ]
    assert pair_lines(old, new) == [(0, 1), (1, 3)]


@given(LINES, LINES)
def test_rows_give_back_both_texts_and_spans_lie_inside_their_lines(old, new):
    base, text = "\n".join(old), "\n".join(new)
    rows = [row for part in compare(base, text).parts for row in part.rows]
    for row in rows:
        ends = [0]
        for start, end in row.spans:
            assert ends[-1] <= start < end <= len(row.line.text)
            ends.append(end)
        if row.line.kind is Kind.SAME:
            assert not row.spans
            assert base.split("\n")[row.line.old - 1] == text.split("\n")[row.line.new - 1] == row.line.text


def test_five_thousand_lines_with_changes_everywhere_are_compared():
    old = [f"- rule {number}: do the {number % 7} thing\n" for number in range(5000)]
    new = [
        line.replace("do the", "never do the") if number % 20 == 0 else line
        for number, line in enumerate(old)
    ]
    difference = compare("".join(old), "".join(new))
    assert (len(difference.parts), difference.added, difference.removed) == (250, 250, 250)
    assert all(cut(row.line.text, row.spans) == ["never"] for row in rows_added(difference))


def test_a_hunk_finds_the_edits_and_words_it_rests_on():
    front, body = compare(COMMITS_BASE, COMMITS_TEXT).parts
    assert find_edits(front.hunk, COMMIT_EDITS) == []
    assert find_edits(body.hunk, COMMIT_EDITS) == list(COMMIT_EDITS)


@given(
    st.lists(st.sampled_from("abcd"), max_size=30),
    st.lists(st.sampled_from("abcx"), max_size=30),
    st.integers(0, 9),
)
def test_more_or_less_context_changes_no_hunk(old, new, context):
    base, text = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    usual, shown = compare(base, text), compare(base, text, context)
    assert [part.number for part in usual.parts] == [part.number for part in shown.parts]
    seen: set[int] = set()
    for before, after in zip(usual.parts, shown.parts, strict=True):
        changed = [
            [row.line for row in part.rows if row.line.kind is not Kind.SAME] for part in (before, after)
        ]
        assert changed[0] == changed[1]
        for row in after.rows:
            line = row.line
            if line.old is not None:
                assert old[line.old - 1] == line.text
                assert line.old not in seen
                seen.add(line.old)
            if line.new is not None:
                assert new[line.new - 1] == line.text
