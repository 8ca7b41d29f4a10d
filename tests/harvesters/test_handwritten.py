"""Asks as people type them, each worded in its own way, are mostly found together and hardly mixed up."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from skillopt_harvesters.grouping import group
from tests.harvesters.asked import ask, group_prompts
from tests.harvesters.planted.handwritten import ALONE, FAMILIES
from tests.harvesters.planted.score import score

TRUTH = {prompt: name for name, prompts in FAMILIES.items() for prompt in prompts} | {
    prompt: prompt for prompt in ALONE
}
MOST_WRONG = 3


@pytest.mark.parametrize("order", range(4))
def test_asks_of_twenty_five_kinds_are_hardly_ever_mixed_up(order: int):
    prompts = list(TRUTH)
    random.Random(order).shuffle(prompts)
    clusters = group(ask(prompt, number) for number, prompt in enumerate(prompts))
    kinds = [Counter(TRUTH[one.prompt] for one in cluster.asks) for cluster in clusters]
    wrong = [kind for kind in kinds if len(kind) > 1]
    assert sum(kind.total() - max(kind.values()) for kind in kinds) <= MOST_WRONG, wrong
    found = score([(name, number) for number, kind in enumerate(kinds) for name in kind.elements()])
    assert found.pair_precision >= 0.95
    assert found.recall >= 0.75, found
    biggest = {name: max(kind[name] for kind in kinds) for name in FAMILIES}
    assert sum(count > 1 for count in biggest.values()) >= len(FAMILIES) - 3, biggest


def test_there_are_a_hundred_and_twenty_asks_in_two_languages():
    assert len(TRUTH) == 120
    assert len(FAMILIES) == 25
    assert sum(name.startswith("zh ") for name in FAMILIES) == 5


@pytest.mark.parametrize(
    "kinds",
    [
        ("write tests", "run tests", "fix test"),
        ("commit message", "pull request text", "changelog"),
        ("docstrings", "readme", "explain"),
        ("docker image", "docker compose"),
        ("zh tests", "zh comments"),
        ("zh explain", "zh fix"),
    ],
)
def test_neighbours_stay_apart_when_nothing_else_is_asked(kinds):
    made = group_prompts(*(prompt for kind in kinds for prompt in FAMILIES[kind]))
    assert all(len({TRUTH[prompt] for prompt in cluster}) == 1 for cluster in made), made
