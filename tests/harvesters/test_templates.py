"""A family says what stays the same in its asks and what varies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.fences import find_fenced
from skillopt_harvesters.normalise import FENCED, normalise
from skillopt_harvesters.templates import find_shared, make_template
from skillopt_harvesters.titles import make_title
from tests.harvesters.asked import group_prompts
from tests.harvesters.planted.workshop import PLAN, SPECIFY, TASKS


def fill(*prompts: str) -> list[tuple[str, tuple[str, ...]]]:
    shared = find_shared(prompts)
    made = [make_template(prompt, shared) for prompt in prompts]
    assert [one.text.format(*one.values) for one in made] == list(prompts)
    return [(one.text, one.values) for one in made]


@pytest.mark.parametrize(
    ("prompts", "template", "values"),
    [
        (
            ["Add docstrings to the tax rules", "Add docstrings to `parse`", "add docstrings to src/x.py"],
            "Add docstrings to the {0}",
            ("tax rules",),
        ),
        (
            ["Rename `foo` to `bar` everywhere.", "rename `a.b` to `c` everywhere"],
            "Rename `{0}` to `{1}` everywhere.",
            ("foo", "bar"),
        ),
        (["run the tests"], "run the tests", ()),
        (["/greet Ana and Bob", "/greet Eve"], "/greet {0}", ("Ana and Bob",)),
        (["/greet", "/greet Eve"], "/greet", ()),
        (["print {x} as JSON", "print {y} as JSON"], "print {{{0}}} as JSON", ("x",)),
        (
            ["为搜索索引编写单元测试", "为登录表编写单元测试", "为缓存编写单元测试"],
            "为{0}编写单元测试",
            ("搜索索引",),
        ),
    ],
)
def test_what_most_prompts_have_stays_and_the_rest_is_a_slot(prompts, template, values):
    assert fill(*prompts)[0] == (template, values)


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=120), min_size=1, max_size=4)
)
def test_a_template_filled_with_its_values_is_the_prompt(prompts):
    fill(*prompts)


def test_a_template_of_a_very_long_prompt_holds_its_beginning():
    long = "do this: " + "word " * 2000
    made = make_template(long, find_shared([long]))
    assert made.text.format(*made.values) == long[:2000]


@pytest.mark.parametrize("template", [SPECIFY, PLAN, TASKS])
def test_the_words_in_the_fence_of_a_template_are_its_variable_part(template):
    prompt = template.format(x="show the {price} with tax\n\nin euros")
    made = make_template(prompt, find_shared([prompt]))
    assert made.values == ("show the {price} with tax\n\nin euros",)
    assert made.text.format("") == template.format(x="")
    assert normalise(prompt)[0] == FENCED
    assert normalise(prompt) == normalise(template.format(x="other words"))


def test_templates_are_families_and_different_ones_stay_apart():
    asked = ["a price with tax", "a search box", "an address book", ""]
    prompts = [template.format(x=words) for words in asked for template in (SPECIFY, PLAN, TASKS)]
    assert sorted(map(sorted, group_prompts(*prompts))) == sorted(
        sorted(template.format(x=words) for words in asked) for template in (SPECIFY, PLAN, TASKS)
    )


def test_a_later_version_of_a_template_is_the_same_family():
    newer = SPECIFY.replace("three at most", "two at most") + "7. Say which branch it is on.\n"
    assert len(group_prompts(SPECIFY.format(x="a search box"), newer.format(x="an address book"))) == 1


@pytest.mark.parametrize(
    "prompt",
    [
        "## User Input\n\nno fence here",
        "write a test\n\n```text\nsome code\n```\n",
        "```text\n## User Input\n```\n",
        "## User Input\n\n```text\nnever closed",
        "## User Input is what I call it\n```\nx\n```",
    ],
)
def test_other_prompts_with_fences_are_no_templates(prompt):
    assert find_fenced(prompt) is None


@pytest.mark.parametrize("fence", ["```", "````text", "~~~", "```markdown"])
def test_any_fence_under_the_heading_holds_the_users_words(fence):
    mark = fence[:4] if fence.startswith("````") else fence[:3]
    found = find_fenced(f"## User Input\n\n{fence}\nwhat I want\n{mark}\n\nDo it.")
    assert found is not None
    assert (found.words, found.template) == ("what I want", f"## User Input\n\n{fence}\n{mark}\n\nDo it.")


@pytest.mark.parametrize(
    ("prompts", "title"),
    [
        (["Add docstrings to the parser", "add docstrings to tax rules"], "Add docstrings"),
        (["Rename `a` to `b` everywhere", "Rename `c` to `d` everywhere"], "Rename … to … everywhere"),
        (["/greet Ana", "/greet Bob"], "/greet"),
        ([SPECIFY.format(x="a search box")], "Given the description of a feature"),
        (["## User Input\n```\nx\n```\nThe text after `/speckit.plan` is the input."], "/speckit.plan"),
    ],
)
def test_a_title_is_what_the_template_says(prompts, title):
    assert make_title(prompts).startswith(title)
