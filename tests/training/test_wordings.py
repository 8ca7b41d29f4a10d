"""Patterns are put in words where these say the same."""

from __future__ import annotations

import pytest

from skillopt_sleep.training.wordings import say_pattern

BARE = ", with no code fence (```) and no other text around it"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\A[^a-z]*\Z", "must be in UPPER CASE throughout, every letter of it"),
        (r"\bDONE[.!]*\s*\Z", "must end with `DONE`"),
        (r"(?s)\A\s*\{.*\}\s*\Z", f"must begin with `{{` and end with `}}`{BARE}"),
        (r"(?:\A|\n)#### <number>\s*\Z", "must end with `#### <number>`"),
        (r"\AHello, ", f"must begin with `Hello,`{BARE}"),
    ],
    ids=["class", "end", "both", "group", "begin"],
)
def test_how_an_answer_begins_and_ends_is_told_in_words(pattern, words):
    assert say_pattern(pattern) == words


@pytest.mark.parametrize(
    "pattern",
    [r"yes|no\Z", r"a+\Z", r"(?!no\Z)", r"\A[^xyz]*\Z", r"\d+", "(", r"\A.*yes", r"no\w*\Z", r"\A[^x]*yes"],
    ids=["branches", "repeat", "lookahead", "class", "digits", "broken", "anything", "letters", "others"],
)
def test_what_is_not_plain_is_left_as_a_pattern(pattern):
    assert say_pattern(pattern) == ""


def test_many_words_of_a_pattern_are_read_in_no_time():
    listed = ", ".join(f"<word{n}>" for n in range(60))
    assert say_pattern(listed) == ""
    assert say_pattern(rf"\A{listed}\Z").startswith("must begin with `<word0>, <word1>")
    assert say_pattern(r"\Atotal <word>*") == f"must begin with `total`{BARE}"
