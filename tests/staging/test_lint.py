"""What a client would stumble over in a SKILL.md, and whether its front matter is untouched."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_staging.front_matter import same_front_matter, split_front_matter
from skillopt_staging.lint import lint, lint_folder, lint_listing
from tests.support.front_matter import ENDLESS

FRONT = "---\nname: tidy-tests\ndescription: How to run the tests here.\n---\n"
GOOD = FRONT + "\nRun them all.\n"


def codes(text, *, folder="tidy-tests", client="claude"):
    return [found.code for found in lint(text, folder=folder, client=client)]


def test_a_good_skill_has_nothing_to_say_about():
    assert codes(GOOD) == []
    assert codes("\ufeff" + GOOD.replace("\n", "\r\n")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run them all.\n", ["front-matter"]),
        ("---\nname: x\nno end\n", ["front-matter"]),
        ("---\n- a\n---\nbody\n", ["front-matter"]),
        ("---\nname: tidy-tests\ndescription: Use when: always\n---\nbody\n", ["front-matter"]),
        (GOOD.replace("name: tidy-tests", "name: Tidy_Tests"), ["name", "name-folder"]),
        (GOOD.replace("name: tidy-tests", "name: other"), ["name-folder"]),
        (GOOD.replace("name: tidy-tests\n", ""), ["name", "name-folder"]),
        (GOOD.replace("How to run the tests here.", "''"), ["description"]),
        (GOOD.replace("How to run the tests here.", "d" * 1024), []),
        (GOOD.replace("How to run the tests here.", "d" * 1025), ["description"]),
        (GOOD.replace("---\n\n", "compatibility: " + "c" * 501 + "\n---\n\n"), ["compatibility"]),
        (GOOD.replace("---\n\n", "mood: fine\n---\n\n"), ["fields"]),
        (FRONT, ["body"]),
        (FRONT + "line\n" * 499, []),
        (FRONT + "line\n" * 500, ["body-lines"]),
        (FRONT + "x" * 19_999, []),
        (FRONT + "x" * 20_000, ["body-tokens"]),
    ],
)
def test_every_limit_warns_where_it_begins(text, expected):
    assert codes(text) == expected


def test_a_name_of_64_characters_is_the_longest():
    for length, expected in ((64, []), (65, ["name"])):
        name = "n" * length
        assert codes(GOOD.replace("tidy-tests", name), folder=name) == expected


def test_fields_only_one_client_knows_are_named_for_the_others():
    text = GOOD.replace("---\n\n", "when_to_use: daily\n---\n\n")
    assert codes(text, client="claude") == []
    assert codes(text, client="codex") == ["fields"]


def test_claude_counts_description_and_when_to_use_together():
    text = GOOD.replace("How to run the tests here.", "d" * 1000 + "\nwhen_to_use: " + "w" * 537)
    assert codes(text, client="claude") == ["listing"]
    assert codes(text.replace("w" * 537, "w" * 536)) == []


@settings(max_examples=25)
@given(st.text(max_size=40))
def test_no_text_breaks_the_check(text):
    lint(text, folder="x")
    lint("---\n" + text + "\n---\n", folder="x")
    front, body = split_front_matter(text)
    assert text.endswith(body)
    assert front is None or front in text


def test_the_body_may_change_and_the_front_matter_may_not():
    assert same_front_matter(GOOD, FRONT + "Other.\n")
    assert not same_front_matter(GOOD, GOOD.replace("name: tidy-tests", "name:  tidy-tests"))
    assert not same_front_matter(GOOD, GOOD.replace("\n", "\r\n"))
    assert not same_front_matter(GOOD, "Run them all.\n")
    assert same_front_matter("a\n", "b\n")


RICH = (
    "---\n# who\nname: x\ndescription: >-\n  one\n\n  two: three\nmetadata:\n  a: 1\n  description: inner\n"
    'license: "MIT" # kept\n---\nbody\n'
)


def test_an_allowed_field_may_change_with_all_its_lines():
    changed = RICH.replace("description: >-\n  one\n\n  two: three\n", "description: short\n")
    assert not same_front_matter(RICH, changed)
    assert same_front_matter(RICH, changed, allow=["description"])
    assert not same_front_matter(RICH, changed.replace("a: 1", "a: 2"), allow=["description"])
    assert not same_front_matter(RICH, changed.replace("inner", "outer"), allow=["description"])
    assert same_front_matter(RICH, RICH.replace('license: "MIT" # kept\n', ""), allow=["license"])


def test_the_order_of_the_fields_counts():
    one, other = "---\na: 1\nb: 2\n---\n", "---\nb: 2\na: 1\n---\n"
    assert not same_front_matter(one, other)


def test_files_a_skill_names_must_be_there():
    text = GOOD + "See [help](references/help.md), run scripts/check.sh, and [the site](https://x.test/a).\n"
    assert [one.code for one in lint_folder(text, {"references/help.md", "scripts/check.sh"})] == []
    (missing,) = lint_folder(text, {"references/help.md"})
    assert missing.code == "missing-file"
    assert "scripts/check.sh" in missing.message
    assert [one.code for one in lint_folder(GOOD, {"references/a/b.md"})] == ["deep-file"]


def test_what_codex_cannot_list_together_is_told():
    many = {f"skill-{number}": "d" * 400 for number in range(25)}
    assert [one.code for one in lint_listing(many, client="codex")] == ["listing"]
    assert lint_listing(many, client="claude") == ()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("field", ENDLESS.values(), ids=ENDLESS)
def test_front_matter_that_is_made_to_be_read_for_ever_warns(field):
    assert codes(f"---\nname: tidy-tests\n{field}\n---\n\nRun them all.\n") == ["front-matter"]
