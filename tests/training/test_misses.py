"""Of an edit that missed, the optimizer is told what it could have meant."""

from __future__ import annotations

import pytest

from skillopt_replay.skills import new_skill
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.misses import collect_misses, render_misses
from skillopt_sleep.training.records import Edit

BODY = """
# House SQL

## Rules

- Use upper case keywords in every query.
- Filter deleted rows.

Filter deleted rows. Always.

<!-- APPENDIX_START -->
Use lower case keywords in every query.
<!-- APPENDIX_END -->
"""


def collect(*edits):
    skill = new_skill("house-sql", "Use for SQL.", BODY)
    _, results = apply_edits(skill, edits, limit=9, max_tokens=2000)
    return collect_misses(skill.body, results)


def test_the_lines_most_like_a_missing_target_are_named_but_none_that_is_protected():
    (miss,) = collect(Edit(op="replace", content="x y", target="Use uppercase keywords in queries."))
    assert miss.near == ("- Use upper case keywords in every query.",)
    assert miss.detail == "the target is not in the skill"


def test_the_lines_that_hold_an_ambiguous_target_are_named():
    (miss,) = collect(Edit(op="delete", target="filter deleted rows."))
    assert miss.near == ("- Filter deleted rows.", "Filter deleted rows. Always.")


def test_what_was_applied_or_refused_for_another_reason_is_no_miss():
    assert collect(Edit(op="add", content="One."), Edit(op="add", content="")) == ()
    assert render_misses([]) == ""


def test_each_miss_is_told_in_one_line_that_can_be_acted_on():
    edits = [
        Edit(op="insert_after", content="x", target="Quite\nelse"),
        Edit(op="delete", target="upercase keyword"),
    ]
    assert render_misses(collect(*edits)).split("\n") == [
        'insert_after "Quite else": the target is not in the skill',
        'delete "upercase keyword": the target is not in the skill'
        ' (the skill has: "- Use upper case keywords in every query.")',
    ]


@pytest.mark.parametrize(
    ("target", "matched", "exact"),
    [
        ("Use upper case keywords in every query.", "Use upper case keywords in every query.", True),
        ("- USE upper  case\nkeywords", "Use upper case keywords", False),
    ],
)
def test_a_result_tells_what_its_target_was_found_as(target, matched, exact):
    skill = new_skill("house-sql", "Use for SQL.", BODY)
    for op in ("replace", "delete", "insert_after"):
        _, (result,) = apply_edits(
            skill, [Edit(op=op, content="Write short names", target=target)], limit=1, max_tokens=2000
        )
        assert (result.applied, result.matched, result.exact) == (True, matched, exact)
    _, (added,) = apply_edits(skill, [Edit(op="add", content="Be brief.")], limit=1, max_tokens=2000)
    assert (added.matched, added.exact) == ("", False)
