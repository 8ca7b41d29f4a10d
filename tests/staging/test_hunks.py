"""A change comes apart into hunks and goes together again."""

from __future__ import annotations

import subprocess
import time
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_staging.errors import StagingError
from skillopt_staging.hunks import Kind, hunks, take, unified

# Few different lines make many coincidences; the odd ones are content, not line ends.
LINES = st.sampled_from(
    ["a", "b", "c", "", " ", "x\r", "form\ffeed", "sep\u2028arator", "next\x85line", "größe"]
)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end if lines else "",
    st.lists(LINES, max_size=30),
    st.sampled_from(["\n", ""]),
)
CONTEXTS = st.integers(0, 4)


@given(TEXTS, TEXTS, CONTEXTS)
def test_all_hunks_give_the_new_text_and_none_the_old(base, text, context):
    count = len(hunks(base, text, context))
    assert take(base, text, range(1, count + 1), context) == text
    assert take(base, text, (), context) == base
    assert (count == 0) == (base == text)


@given(TEXTS, TEXTS, CONTEXTS, st.data())
def test_a_choice_changes_the_chosen_places_and_no_other(base, text, context, data):
    found = hunks(base, text, context)
    chosen = data.draw(st.sets(st.sampled_from([hunk.index for hunk in found]))) if found else set()
    expected, position = [], 0
    old = [line + "\n" for line in base.split("\n")]
    old[-1] = old[-1].removesuffix("\n")
    for hunk in found:
        start = hunk.old_start - (1 if hunk.old_count else 0)
        expected += old[position:start]
        unwanted = Kind.REMOVED if hunk.index in chosen else Kind.ADDED
        expected += [
            line.text + ("\n" if line.ended else "") for line in hunk.lines if line.kind is not unwanted
        ]
        position = start + hunk.old_count
    assert take(base, text, chosen, context) == "".join(expected + old[position:])


@given(TEXTS, TEXTS, CONTEXTS)
def test_lines_carry_the_numbers_they_have_in_both_texts(base, text, context):
    old, new = base.split("\n"), text.split("\n")
    for hunk in hunks(base, text, context):
        for line in hunk.lines:
            assert line.old is None or old[line.old - 1] == line.text
            assert line.new is None or new[line.new - 1] == line.text
            assert (line.old is None) == (line.kind is Kind.ADDED)
            assert (line.new is None) == (line.kind is Kind.REMOVED)
        assert sum(line.old is not None for line in hunk.lines) == hunk.old_count
        assert sum(line.new is not None for line in hunk.lines) == hunk.new_count


@settings(max_examples=25)
@given(TEXTS.filter(bool), TEXTS.filter(bool))
def test_git_applies_the_unified_form(tmp_path, base, text):
    if base == text:
        assert unified(base, text, "file.md") == ""
        return
    file = tmp_path / "file.md"
    file.write_bytes(base.encode())
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=unified(base, text, "file.md").encode(),
        cwd=tmp_path,
        check=True,
    )
    assert file.read_bytes() == text.encode()


def test_changes_far_apart_are_hunks_of_their_own():
    base = "".join(f"line {number}\n" for number in range(1, 31))
    text = base.replace("line 2\n", "line two\n").replace("line 28\n", "")
    first, second = hunks(base, text)
    assert (first.index, first.header) == (1, "@@ -1,5 +1,5 @@")
    assert (second.index, second.header) == (2, "@@ -25,6 +25,5 @@")
    assert take(base, text, [2]) == base.replace("line 28\n", "")
    assert first.text.split("\n")[1:5] == [" line 1", "-line 2", "+line two", " line 3"]


def test_a_missing_last_line_end_is_shown():
    (hunk,) = hunks("a\n", "a")
    assert hunk.text == "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"


def test_a_new_file_and_a_removed_one_are_named_as_such():
    assert unified("", "a\n", "x.md").startswith("--- /dev/null\n+++ b/x.md\n@@ -0,0 +1 @@\n")
    assert unified("a\n", "", "x.md").startswith("--- a/x.md\n+++ /dev/null\n@@ -1 +0,0 @@\n")


@pytest.mark.parametrize("indices", [[0], [2], [-1], [1, 7]])
def test_a_hunk_that_is_not_there_cannot_be_taken(indices):
    with pytest.raises(StagingError, match="there is no hunk") as caught:
        take("a\n", "b\n", indices)
    assert caught.value.hint == "this change has 1"


def test_long_texts_full_of_blank_lines_are_cut_in_a_moment():
    old = [f"- rule {number}\n" if number % 3 else "\n" for number in range(5000)]
    new = list(old)
    new[1::20] = [line.replace("rule", "new rule") for line in old[1::20]]
    base, text = "".join(old), "".join(new)
    started = time.process_time()
    found = hunks(base, text)
    assert time.process_time() - started < 2
    assert len(found) > 100
    assert take(base, text, [hunk.index for hunk in found]) == text
    assert take(base, text, []) == base


@given(
    st.lists(st.sampled_from("abcdefg\n"), max_size=30), st.lists(st.sampled_from("abcdefg\n"), max_size=30)
)
def test_texts_too_long_to_match_as_a_whole_lose_nothing(old, new):
    base, text = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    with patch("skillopt_staging.hunks._QUICK", 20):
        found = hunks(base, text)
        assert take(base, text, [hunk.index for hunk in found]) == text
        assert take(base, text, []) == base
