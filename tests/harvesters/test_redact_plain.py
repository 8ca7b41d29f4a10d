"""What is passed over because its words are plain holds nothing that the stages would find."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import redact
from skillopt_harvesters.redact import _redact, plain, programs
from skillopt_harvesters.redact.places import _BY_WORD, _NEEDLES
from skillopt_harvesters.redact.plain import is_plain

# Everything a rule begins with, and pieces that a rule could take for a value.
RULES = sorted(
    {word.strip() for word in _BY_WORD}
    | {needle for _, needles in _NEEDLES for needle in needles}
    | {needle for needle, _ in programs._COMMANDS}
    | {word for arguments in programs._ARGUMENTS.values() for words, _ in arguments for word in words}
    | set(programs._ARGUMENTS)
    | {
        "BEGIN",
        "END",
        "PuTTY",
        "Private-MAC:",
        "in",
        "us",
        "use",
        "by",
        "with",
        "is",
        "my",
        "xfreerdp",
        "/p:",
    }
)
VALUES = [
    "hunter2",
    "Tr0ub4dor",
    "s3cr3tW0rd",
    "bob/x7Kq9",
    "'aB3dE5fG7'",
    "x",
    "a1b2c3d4e5f6g7h8i9j",
    "(",
    '"',
]
words = st.one_of(
    st.sampled_from(RULES), st.sampled_from(VALUES), st.text("abz019_./-:=|<({\"'`@$%#;,>)}\\ ", max_size=8)
)
texts = st.lists(st.tuples(words, st.sampled_from(["", " ", " ", "\n", "\t"])), max_size=8).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


@given(texts)
def test_a_plain_text_stays_as_it_is_in_every_stage(text):
    if is_plain(text):
        assert _redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Add a CHANGELOG line for csv importer",
        "The test for log_parser() fails on CI, fix it: it is in src/mod_12.py!",
        "read-only, and `uv run pytest` (twice)",
    ],
)
def test_what_people_ask_is_plain(text):
    assert is_plain(text)
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "xfreerdp /u /p: hunter2",
        "vault login s3cr3tW0rd",
        "log in with bob / hunter2x",
        "sign in as bob / hunter2x",
        "net use x hunter22",
        "my password is hunter2",
        "seed phrase: abandon ability able",
        "aB3dE5fG7hI9jK1lM3nO5",
        "mail bob@corp.io",
        "x" * 257,
        "pässwört",
    ],
)
def test_a_text_with_what_a_rule_begins_with_is_not_plain(text):
    assert not is_plain(text)


def test_no_more_words_are_remembered_than_a_fixed_number(monkeypatch):
    monkeypatch.setattr(plain, "_plain", set())
    monkeypatch.setattr(plain, "_MANY", 3)
    assert is_plain("one two three four five")
    assert len(plain._plain) == 3
    assert is_plain("five six seven")


def test_the_shape_of_a_word_is_told_in_linear_time():
    assert re.fullmatch(plain._SHAPE, "a-" * 9 + "a")
    assert not is_plain("-" * 500)
