"""An ask that only adds words to a known phrase belongs to its family; another head is another thing."""

from __future__ import annotations

import pytest

from skillopt_harvesters.normalise import normalise
from skillopt_harvesters.phrases import find_phrase
from skillopt_harvesters.terms import find_terms
from tests.harvesters.asked import group_prompts

DOCSTRINGS = (
    "add docstrings to the parser",
    "write docstrings for the lexer",
    "add docstrings to the printer",
)


def is_with(prompt: str, *others: str) -> bool:
    return any({prompt, others[0]} <= set(cluster) for cluster in group_prompts(*others, prompt))


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("add missing docstrings in the storage package", ("create", "miss", "docstring")),
        ("write the commit message", ("create", "commit", "messag")),
        ("run the tests", ("run", "test")),
        ("sql query that finds users", ("sql", "query")),
        ("explain `this`", None),
        ("the parser has no tests", None),
        ("为登录表单编写单元测试", None),
        ("", None),
    ],
)
def test_a_phrase_ends_with_its_noun(prompt, words):
    phrase = find_phrase(find_terms(normalise(prompt)))
    assert (phrase.words if phrase else None) == words


@pytest.mark.parametrize(
    "prompt",
    ["add google style docstrings to config.py", "write some long overdue docstrings in the storage package"],
)
def test_more_words_before_the_noun_are_the_same_ask(prompt):
    assert is_with(prompt, *DOCSTRINGS)


@pytest.mark.parametrize(
    "prompt",
    ["add a docstring linter to the hooks", "remove missing docstrings", "check the docstrings twice"],
)
def test_another_noun_or_another_deed_is_another_ask(prompt):
    assert not is_with(prompt, *DOCSTRINGS)


def test_a_phrase_worded_once_is_no_family_yet():
    assert len(group_prompts("write a function", "write a tiny recursive sorting function")) == 2
