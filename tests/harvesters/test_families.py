"""Asks with the same template and other values are one family; others are not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.cluster import Families, shingle, signature, similarity
from skillopt_harvesters.mine import name_skill
from skillopt_harvesters.normalise import fold, normalise

ALIKE = [
    (
        "Write the SQL query: how many orders did Ana place?",
        "Write the SQL query: total amount of orders from Oslo?",
    ),
    ("add a changelog entry for X", "add a changelog entry for Y and Z"),
    ("Please add a changelog entry for the retry queue.", "add a changelog entry for #1234"),
    ("Fix the failing test in tests/test_a.py", "Can you fix the failing tests in src/b_test.go?"),
    ("Bump version to 1.2.3", "bump the version to 2.0"),
    ("Greet Ana in our house style.", "Greet Bob in our house style."),
    ("Commit the tax rules work", "Make a commit for tax rules"),
    ("Rename `foo` to `bar`", "rename `a.b` to `c`"),
]
UNLIKE = [
    ("Write the SQL query: how many orders did Ana place?", "Write the unit test for the parser"),
    ("Document the tax rules", "Commit the tax rules"),
    ("Write a function that parses dates", "Write a function that sorts users"),
    ("explain the parser", "refactor the parser"),
    ("run the tests", "run the linter"),
    ("add a changelog entry for X", "add a migration for the audit log"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_the_same_ask_with_other_values_is_one_family(one, other):
    families = Families()
    assert families.add(normalise(one)) == families.add(normalise(other))


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_another_ask_is_another_family(one, other):
    families = Families()
    assert families.add(normalise(one)) != families.add(normalise(other))


def test_values_leave_the_skeleton():
    skeleton = normalise(
        "Please rename `a` in src/x.py to 'b', see https://h.org/1 and #12 for Ana in do_it()"
    )
    expected = "rename <code> in <file> to <str> see <url> and <id> for <name> in <name>"
    assert " ".join(skeleton) == expected


def test_near_identical_prompts_fold_to_the_same():
    assert fold("Please add a changelog entry for X!") == fold("add  changelog entry for x") != fold("add y")


def test_families_do_not_depend_on_what_comes_later():
    prompts = [one for pair in ALIKE + UNLIKE for one in pair]
    few, many = Families(), Families()
    first = [few.add(normalise(prompt)) for prompt in prompts]
    assert [many.add(normalise(prompt)) for prompt in [*prompts, *(f"do thing {n} now" for n in range(50))]][
        : len(first)
    ] == first


@given(
    st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]), max_size=8), st.data()
)
def test_similarity_is_symmetric_and_at_most_one(words, data):
    one = tuple(words)
    other = tuple(data.draw(st.permutations(words)))
    assert similarity(one, other) == similarity(other, one) <= 1.0
    assert signature(shingle(one)) == signature(shingle(one))


@given(st.text(max_size=400))
def test_no_prompt_crashes_the_normaliser(text):
    Families().add(normalise(text))
    fold(text)


def test_clustering_time_grows_with_the_number_of_asks_and_not_its_square():
    def cluster(count: int) -> float:
        families = Families()
        start = time.process_time()
        for n in range(count):
            families.add((f"verb{n % 997}", f"noun{n}", f"thing{n * 7}", f"place{n % 13}"))
        return time.process_time() - start

    cluster(100)
    assert cluster(1200) < 12 * max(cluster(300), 0.01)


def test_a_skill_is_named_by_what_the_first_wordings_share():
    wordings = [
        ("which", "command", "adds", "httpx", "as", "dependency"),
        ("numpy", "should", "become", "dependency", "which", "command", "adds", "it"),
        ("add", "rich", "as", "dependency"),
    ]
    name = name_skill(wordings[0], wordings, "0f" * 8)
    assert "httpx" not in name
    assert name == name_skill(wordings[0], [*wordings, ("something", "httpx", "else")], "0f" * 8)
