"""A correction is found in the user's words, and nothing else is taken for one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import find_corrections, is_correction, redact
from skillopt_harvesters.normalise import normalise


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("no, use pnpm, not npm", "pnpm", "npm"),
        ("No, tabs instead of spaces", "tabs", "spaces"),
        ("don't use npm, use pnpm", "pnpm", "npm"),
        ("use TOTAL(amount) not SUM(amount)", "TOTAL(amount)", "SUM(amount)"),
        ("No, use COUNT(DISTINCT id), not COUNT(*).", "COUNT(DISTINCT id)", "COUNT(*)"),
        ("please use fetch instead of axios", "fetch", "axios"),
        ("Actually, use `rg` rather than `grep`", "rg", "grep"),
        ('No, greet with "Moin", not "Hello".', "Moin", "Hello"),
        ("no, end the message with 'Cheers' instead of 'Regards'", "Cheers", "Regards"),
        ("that's not what I asked for: replace `foo` with `bar`", "bar", "foo"),
        ("don't run npm test; run pnpm test", "pnpm test", "npm test"),
        ("always use `uv run pytest`", "uv run pytest", None),
        ("I said use yarn", "yarn", None),
        ("why did you use npm? use pnpm", "pnpm", None),
        ("never use `git add -A`", None, "git add -A"),
        ("Never commit with --no-verify", None, "--no-verify"),
        ("that's wrong, it should be 42", "42", None),
        ("wrong, the heading should be `## Fixed`", "## Fixed", None),
        ("No, that is wrong: it must print Hello, world! with a comma", "Hello, world!", None),
        ("No, use the word heron, not stork", "heron", "stork"),
    ],
)
def test_a_correction_says_what_was_wanted_and_what_not(text, wanted, unwanted):
    [correction] = find_corrections(text)
    assert (correction.wanted, correction.unwanted) == (wanted, unwanted)
    assert correction.quote == text


@pytest.mark.parametrize(
    "text",
    [
        "no problem",
        "No, thanks",
        "no worries, looks good",
        "no need",
        "no it's fine",
        "No, that's all",
        "never mind",
        "don't worry about it",
        "no",
        "now use X",
        "now use pnpm, not npm",
        "thanks, that works",
        "ok",
        "Nothing else",
        "note that the build is slow",
        "Write a script to parse logs, use argparse not click",
        "add a test for the parser",
        "",
        "not yet",
    ],
)
def test_friendly_words_and_new_asks_are_no_corrections(text):
    assert find_corrections(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "No trailers please",
        "Still failing, you edited the assertion instead of the code",
        "You forgot the downgrade path, add it",
        "No, do not skip the test",
        "That's wrong",
        "no, not like that",
        "That's wrong, it must be online-safe, no table lock",
    ],
)
def test_a_complaint_without_a_fragment_is_a_correction_without_a_check(text):
    assert [(c.wanted, c.unwanted) for c in find_corrections(text)] == [(None, None)]


def test_an_instruction_is_general_and_a_fact_about_one_answer_is_not():
    assert find_corrections("no, use pnpm, not npm")[0].general is True
    assert find_corrections("that's wrong, it should be 42")[0].general is False
    assert find_corrections("No, 43, not 42")[0].general is False


def test_what_was_quoted_or_is_code_can_be_looked_for_as_it_stands():
    assert find_corrections("no, say 'Moin' not 'Hello'")[0].literal is True
    assert find_corrections("no, use TOTAL(x), not SUM(x)")[0].literal is True
    assert find_corrections("No, tabs instead of spaces")[0].literal is False
    assert find_corrections("No, answer in JSON, not prose")[0].literal is False


def test_each_sentence_may_correct_something():
    found = find_corrections("No. Don't use axios. Use fetch instead.")
    assert [(c.wanted, c.unwanted) for c in found] == [(None, "axios"), ("fetch", None)]


def test_the_reason_of_a_refusal_needs_no_opener():
    assert find_corrections("use pnpm instead") == ()
    [correction] = find_corrections("use pnpm instead", refusal=True)
    assert correction.wanted == "pnpm"


def test_a_secret_is_neither_quoted_nor_wanted():
    secret = "ghp_" + "x9Yz8Wv7Ut6Sr5Qp4On3"
    [correction] = find_corrections(f"no, use `{secret}`, not `abc`")
    assert secret not in repr(correction)
    assert correction.wanted is None


@given(st.text(max_size=500))
def test_no_text_crashes_it(text):
    assert is_correction(text) == bool(find_corrections(text))
    find_corrections(text, refusal=True)


WORDS = st.sampled_from(
    [
        "no",
        "not",
        "use",
        "don't",
        "always",
        "never",
        "`x`",
        "'y'",
        '"z"',
        "instead",
        "of",
        ",",
        ".",
        ":",
        "it",
        "should",
        "be",
        "must",
        "print",
        "the",
        "a",
        "-",
    ]
)


@given(st.lists(WORDS, max_size=40))
def test_no_string_of_its_own_words_crashes_or_stalls_it(words):
    for correction in find_corrections(" ".join(words), refusal=True):
        assert correction.wanted != ""
        assert correction.unwanted != ""


@pytest.mark.parametrize(
    "piece",
    [
        "a ",
        "no ",
        "use ",
        "key_",
        "token=a ",
        "a://",
        "sk-a-",
        "<system-reminder>",
        "`",
        '"',
        "a/",
        "a.",
        "A_",
    ],
)
def test_no_repetition_stalls_a_pattern(piece):
    text = "no, " + piece * (60_000 // len(piece))
    start = time.process_time()
    find_corrections(text)
    redact(text)
    normalise(text)
    assert time.process_time() - start < 2
