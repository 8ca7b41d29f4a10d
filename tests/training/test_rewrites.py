"""A rewrite may change everything but the front matter and the protected regions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.skills import Skill, SkillInvalid, find_problems
from skillopt_sleep.training.markdown import find_islands, find_protected
from skillopt_sleep.training.rewrites import enforce_rewrite

FRONT = "---\nname: house-sql\ndescription: 'Use for SQL'\nlicense:   MIT # odd\n---\n"
S, SE = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
A, AE = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"
REGION = f"{S}\nNever guess.  \n{SE}"
BODY = f"\n# House SQL\n\n- Use upper case.\n- Filter rows.\n\n{REGION}\n"
SKILL = Skill("house-sql", FRONT + BODY)


def rewrite(text, skill=SKILL, **more):
    return enforce_rewrite(skill, text, **{"max_tokens": 2000, **more})


def test_a_body_alone_is_taken_under_the_front_matter_in_force():
    result = rewrite(f"# House SQL\n\n- Filter rows.\n- Be kind.\n\n{REGION}")
    assert result.skill.text == f"{FRONT}\n# House SQL\n\n- Filter rows.\n- Be kind.\n\n{REGION}\n"
    assert (result.restored, result.added, result.removed) == ((), ("Be kind.",), ("Use upper case.",))


def test_a_whole_document_may_come_in_a_fence():
    result = rewrite(f"```markdown\n{FRONT}\nRules.\n\n{REGION}\n```")
    assert result.skill.text == f"{FRONT}\nRules.\n\n{REGION}\n"
    assert result.restored == ()


def test_a_changed_front_matter_is_put_back_and_told():
    result = rewrite(f"---\nname: other\ndescription: Mine\n---\nRules.\n\n{REGION}")
    assert result.skill.text.startswith(FRONT)
    assert result.restored == (
        "front matter: description",
        "front matter: license",
        "front matter: name",
    )


@pytest.mark.parametrize("front", ["---\nname: [\n---\n", "---\nplain\n---\n"])
def test_a_front_matter_that_cannot_be_read_is_refused(front):
    assert "front matter that cannot be read" in rewrite(front + "Rules.").refused


def test_a_changed_region_is_put_back_where_the_rewrite_has_it():
    result = rewrite(f"Rules.\n\n{S}\nGuess freely.\n{SE}\n\nMore.")
    assert result.skill.body == f"\nRules.\n\n{REGION}\n\nMore.\n"
    assert result.restored == ("a protected region was changed",)


@pytest.mark.parametrize(
    "text",
    [
        "Rules.",
        f"Rules.\n\n{REGION}\n\n{REGION}",
        f"Rules.\n\n{A}\n- note\n{AE}",
        f"Rules.\n\n{A}\nnote\n{AE}\n\n{REGION}",
    ],
)
def test_a_region_that_is_gone_or_not_alone_any_more_is_put_back_at_the_end(text):
    result = rewrite(text)
    assert result.skill.body == f"\nRules.\n\n{REGION}\n"
    assert result.restored == ("a protected region was dropped, moved into code or added",)


def test_a_region_that_was_moved_into_a_code_block_is_taken_out_of_it():
    assert "shows region markers in a code block" in rewrite(f"Rules.\n\n```\n{REGION}\n```").refused


def test_a_rewrite_that_tears_a_region_is_refused():
    result = rewrite(f"Rules.\n\n{S}\nNever guess.")
    assert result.skill is None
    assert result.refused == "the rewrite tears a protected region: one of its markers is missing"


def test_a_region_without_its_end_stays_to_the_end():
    skill = Skill("house-sql", f"{FRONT}\nRules.\n\n{S}\nNever guess.\n")
    for text in ("New rules.", f"New rules.\n\n{S}\nNever guess."):
        assert rewrite(text, skill).skill.body == f"\nNew rules.\n\n{S}\nNever guess.\n"


def test_windows_line_endings_are_kept():
    skill = Skill("house-sql", SKILL.text.replace("\n", "\r\n"))
    result = rewrite(f"Rules.\n\n{REGION}\n\nMore.\n", skill)
    assert result.restored == ()
    assert "\n" not in result.skill.body.replace("\r\n", "")
    assert REGION.replace("\n", "\r\n") in result.skill.body


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Rules.\n\n```\ncode", "opens a code block"),
        ("Rules.\n\n<!-- open", "HTML comment"),
        ("Rules. <!-- obey --> x", "HTML comment"),
        ("Rules.\n\n[//]: # (obey)", "does not see"),
        (f"{BODY}\n\n", "changes nothing"),
        ("Long. " * 400, "over the size budget of 500"),
        ("Hi.", "fewer than the 60"),
    ],
)
def test_what_hides_breaks_or_does_not_fit_is_refused_with_the_reason(text, why):
    skill = Skill("house-sql", SKILL.text + "\nMore text. " * 20)
    text = text.replace(BODY, skill.body)
    result = rewrite(text, skill, max_tokens=500, min_tokens=60)
    assert result.skill is None
    assert why in result.refused
    assert result.over_size == ("size budget" in why)


def test_an_empty_rewrite_is_refused():
    for text in ("", "\n", "```\n\n```", FRONT):
        result = rewrite(text, Skill("house-sql", f"{FRONT}\nRules.\n"))
        assert result.refused == "the skill would not be legal: the body is empty"


def test_a_skill_over_its_budget_may_shrink_but_not_grow():
    assert rewrite(f"Rules.\n\n{REGION}", max_tokens=10).skill is not None
    assert rewrite(f"{BODY}\nMore.", max_tokens=10).over_size


def test_what_the_skill_hid_before_may_stay():
    skill = Skill("house-sql", f"{FRONT}\nRules.\n\n<!-- mine -->\n\n[docs]: https://example.org\n")
    result = rewrite("New rules.\n\n<!-- mine -->\n\n[docs]: https://example.org", skill)
    assert "<!-- mine -->" in result.skill.body


def test_an_illegal_skill_is_not_rewritten():
    with pytest.raises(SkillInvalid):
        rewrite("Rules.", Skill("other", SKILL.text))


LINES = st.lists(
    st.sampled_from(
        [
            "a",
            "- b",
            "## C",
            "",
            "```",
            "<!-- x -->",
            "<!--",
            "-->",
            "[x]: y",
            "---",
            "name: z",
            "  ",
            S,
            SE,
            A,
            AE,
            REGION,
            "a\u200bb",
        ]
    ),
    max_size=10,
)
BODIES = st.builds(lambda lines, joint: joint.join(lines), LINES, st.sampled_from(["\n", "\r\n"]))


@given(BODIES, BODIES, st.sampled_from(["", FRONT, "---\nname: z\n---\n"]))
def test_whatever_a_model_writes_what_is_protected_stays_and_the_skill_is_legal(before, text, front):
    skill = Skill("house-sql", f"{FRONT}\nStart.\n{before}")
    result = enforce_rewrite(skill, front + text, max_tokens=400)
    assert (result.skill is None) == bool(result.refused)
    if result.skill is None:
        return
    assert find_problems(result.skill) == []
    assert result.skill.text.startswith(FRONT)
    assert _protected(result.skill) == _protected(skill)
    assert _open(result.skill) <= _open(skill)
    again = enforce_rewrite(result.skill, result.skill.text, max_tokens=400)
    assert again.refused == "the rewrite changes nothing" or not again.added


def _protected(skill):
    return [skill.body[i.start : i.end] for i in find_protected(skill.body)]


def _open(skill):
    return sum(not i.closed and i.kind != "protected" for i in find_islands(skill.body))


def test_a_fence_with_a_long_end_is_read_in_no_time():
    started = time.process_time()
    result = rewrite("```\nRules.\n```" + " " * 60_000 + "x")
    assert "does not close it" in result.refused
    assert rewrite(f"  ```md\nRules.\n\n{REGION}\n```  \n \n").skill.body == f"\nRules.\n\n{REGION}\n"
    assert time.process_time() - started < 5
