"""Different words are one family when the sessions show that they ask for the same; else they are not."""

from __future__ import annotations

import pytest

from skillopt_harvesters.grouping import group
from tests.harvesters.asked import ask, show

NOTES = ("Draft what customers should know about {}", "Put {} on the list of changes")
OTHERS = ("explain how {} works", "profile {} and find the hot spot", "translate the texts of {}")
THINGS = ("the parser", "the tax rules", "the retry queue", "the price cache", "the audit log")
SPECIFIC = "No, group it under Fixed and link the issue number"


def make(*templates, others=OTHERS, **seen):
    """Ask each template about each thing; the asks of the first two show what is given."""
    prompts = [(t, t.format(thing)) for thing in THINGS for t in (*templates, *others)]
    return [
        ask(prompt, number, **(seen if template in templates else {}))
        for number, (template, prompt) in enumerate(prompts)
    ]


def is_one(clusters, *templates) -> bool:
    prompts = {template.format(THINGS[0]) for template in templates}
    return any(prompts <= set(cluster) for cluster in show(clusters))


def test_without_evidence_other_words_are_another_family():
    assert not is_one(group(make(*NOTES)), *NOTES)


@pytest.mark.parametrize(
    "seen",
    [
        {"skills": ("release-notes",)},
        {"said": (SPECIFIC,)},
        {"said": ("You broke the snapshot", "no, the German texts first")},
    ],
)
def test_a_skill_or_the_same_specific_words_afterwards_make_one_family(seen):
    clusters = group(make(*NOTES, **seen))
    assert is_one(clusters, *NOTES)
    assert len(clusters) == 1 + len(OTHERS)


@pytest.mark.parametrize(
    "said",
    [
        "no, that's wrong",
        "try again",
        "that's not what I asked for",
        "it still fails",
        "looks good, thanks",
        "no, use pnpm, not npm",
        "now commit and push it",
        "不对,重来",
        "还是有问题",
    ],
)
def test_words_that_could_follow_anything_join_nothing(said):
    assert not is_one(group(make(*NOTES, said=(said,))), *NOTES)


def test_a_slash_command_belongs_with_the_asks_that_load_its_skill():
    asks = make(*NOTES, skills=("release-notes",))
    asks += [ask("/release-notes for May", 90), ask("/release-notes for June", 91)]
    assert any({"/release-notes for May", NOTES[0].format(THINGS[0])} <= set(c) for c in show(group(asks)))


def test_a_skill_that_is_loaded_whatever_is_asked_joins_nothing():
    asks = make(*NOTES, *OTHERS, others=(), skills=("house-rules",))
    assert len(group(asks)) == len(NOTES) + len(OTHERS)


def test_a_skill_loaded_once_by_mistake_joins_nothing():
    asks = make(*NOTES)
    asks[0] = ask(asks[0].prompt, 0, skills=("profiling",))
    asks = [
        ask(one.prompt, number, skills=("profiling",)) if one.prompt.startswith("profile") else one
        for number, one in enumerate(asks)
    ]
    assert not is_one(group(asks), NOTES[0], OTHERS[1])


def test_evidence_alone_does_not_make_one_family_of_very_many_patterns():
    nonsense = [
        f"{word}ify the {word}age of a {word}ling"
        for word in (
            "ab",
            "cor",
            "dun",
            "el",
            "fi",
            "gor",
            "hul",
            "im",
            "jar",
            "ko",
            "lum",
            "mer",
            "nor",
            "os",
        )
    ]
    asks = [
        ask(f"{prompt} {thing}", number * 10 + place, said=(f"No, paint corner {min(number, other)} violet",))
        for number, prompt in enumerate(nonsense)
        for place, (thing, other) in enumerate((("one", number), ("two", number - 1), ("three", number + 1)))
    ]
    assert max(len(cluster.patterns) for cluster in group(asks)) <= 12


def refine(first, second, number, session=None):
    session = session or f"s{number}"
    return [
        ask(first, number, session=session),
        ask(second, number, session=session, turn=1),
    ]


def test_what_only_ever_follows_one_kind_of_ask_is_no_task():
    asks = make()
    for number, thing in enumerate(THINGS, 100):
        asks += refine(f"review my diff for {thing}", "Sort the findings by severity", number)
    assert ["Sort the findings by severity"] * 5 not in show(group(asks))
    assert any(f"review my diff for {THINGS[0]}" in cluster for cluster in show(group(asks)))


def test_what_follows_asks_of_any_kind_is_a_task():
    asks = []
    for number, thing in enumerate(THINGS, 100):
        asks += refine(f"review my diff for {thing}", "regenerate the lockfile", number)
        asks += refine(f"profile {thing} and find the hot spot", "regenerate the lockfile", number + 50)
    assert ["regenerate the lockfile"] * 10 in show(group(asks))


def test_a_slash_command_after_an_ask_is_a_task():
    asks = []
    for number, thing in enumerate(THINGS, 100):
        asks += refine(f"review my diff for {thing}", "/ship it", number)
    assert ["/ship it"] * 5 in show(group(asks))
