"""The stages that are passed over because no word has their sign would have found nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import redact
from skillopt_harvesters.redact import _STAGES, programs, signs
from skillopt_harvesters.redact.places import _BY_WORD, _NEEDLES
from skillopt_harvesters.redact.signs import find_signs
from skillopt_harvesters.redact.view import View
from tests.harvesters.test_redact_planted import planted_in_places, planted_known, planted_named

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


def find_signs_in(text: str) -> int:
    return find_signs(text)[0]


def assert_no_stage_was_needed(text: str) -> None:
    told, named = find_signs(text)
    view = View.of(text)
    assert view == View.of(text, named)
    for sign, stage in _STAGES:
        assert told & sign or not list(stage(view)), (stage.__name__, text)


@settings(max_examples=1000)
@given(texts)
def test_a_stage_without_its_sign_finds_nothing(text):
    assert_no_stage_was_needed(text)


def test_every_planted_secret_has_the_sign_of_its_stage():
    for _, _, text in planted_known() + planted_named() + planted_in_places():
        assert_no_stage_was_needed(text)


@pytest.mark.parametrize(
    "text",
    [
        "Add a CHANGELOG line for csv importer",
        "The test for log_parser() fails on CI, fix it: it is in src/mod_12.py!",
        "read-only, and `uv run pytest` (twice)",
    ],
)
def test_what_people_ask_has_no_sign(text):
    assert not find_signs_in(text)
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
        "pässwört",
    ],
)
def test_a_text_with_what_a_rule_begins_with_has_a_sign(text):
    assert find_signs_in(text)


def test_no_more_words_are_remembered_than_a_fixed_number(monkeypatch):
    monkeypatch.setattr(signs, "_plain", set())
    monkeypatch.setattr(signs, "_known", {})
    monkeypatch.setattr(signs, "_MANY", 3)
    assert not find_signs_in("one two three four five")
    assert find_signs_in("token secret")
    assert len(signs._plain) + len(signs._known) <= 3


def test_a_text_of_strange_words_alone_is_left_to_all_stages(monkeypatch):
    monkeypatch.setattr(signs, "_plain", set())
    text = " ".join(f"word{number}" for number in range(100))
    assert find_signs_in(text) == signs.ALL
    while find_signs_in(text) == signs.ALL:
        pass
    assert not find_signs_in(text)


def test_a_sign_is_told_in_linear_time():
    find_signs("-" * 1_000_000)
    find_signs("?" * 1_000_000)
