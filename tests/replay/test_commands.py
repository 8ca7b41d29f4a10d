"""Command lines are read as words, and one command is found inside another."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from skillopt_replay.commands import BREAK, contains_command, split_words

WORD = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs",), exclude_characters="\n\\"), min_size=1
)
PLAIN = st.text("abcxyz019-_./=", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("npm test", "npm test"),
        ("cd web && npm test -- --watch=false", "npm test"),
        ("FOO=1 npm test", "npm test"),
        ("npm ci; npm test", "npm test"),
        ("npm test 2>&1 | tail -5", "npm test"),
        ("npm ci\nnpm test", "npm test"),
        ("npm \\\n  test", "npm test"),
        ("bash -lc 'cd web && npm test'", "npm test"),
        ('/bin/sh -c "npm test"', "npm test"),
        ("(npm test)", "npm test"),
        ("git commit -m 'fix: it is done'", "git commit -m 'fix: it is done'"),
        ("uv run pytest -x tests/unit", "pytest -x"),
        ('echo "unbalanced && npm test', "npm test"),
    ],
)
def test_a_command_is_found(line, command):
    assert contains_command(line, command)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("echo npm; test -f x", "npm test"),
        ("npm | test", "npm test"),
        ("npm\ntest", "npm test"),
        ("npm run test", "npm test"),
        ("npm tests", "npm test"),
        ("echo 'npm test'", "npm test"),
        ("git push --force-with-lease", "git push --force"),
        ("", "npm test"),
        ("npm test", ""),
        ("npm test", "&&"),
    ],
)
def test_what_only_looks_like_it_is_not(line, command):
    assert not contains_command(line, command)


@example(["0", ";", "0"], [], [])
@given(st.lists(WORD, min_size=1, max_size=5), st.lists(PLAIN, max_size=3), st.lists(PLAIN, max_size=3))
def test_any_quoted_words_are_found_between_others(words, before, after):
    # Without its quotes a word of operators alone is an operator, and a command of nothing else is none.
    assume(any(set(word) - set("();<>|&") for word in words))
    command = shlex.join(words)
    line = f"{shlex.join(before)} {command} {shlex.join(after)}"
    assert contains_command(line, command)


@given(st.text(max_size=60))
def test_no_line_is_too_broken_to_read(line):
    assert all(isinstance(word, str) for word in split_words(line))


@given(st.lists(PLAIN, min_size=1, max_size=4), st.sampled_from([" && ", " ; ", "\n", " | ", " || ", " & "]))
def test_words_are_never_joined_across_operators(words, operator):
    line = operator.join(words)
    assert [word for word in split_words(line) if word != BREAK] == words
    if len(words) > 1:
        assert not contains_command(line, " ".join(words[:2]))
