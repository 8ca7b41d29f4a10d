"""Edits land where they say, or not at all, and say which."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.skills import Skill, SkillInvalid, find_problems, new_skill
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.markdown import find_islands, find_protected
from skillopt_sleep.training.records import Edit

FRONT = (
    "---\nname: house-sql\ndescription: 'Use when asked for SQL: \"queries\"'\nlicense:   MIT # odd\n---\n"
)
BODY = """
# House SQL

Write queries for SQLite.

## Rules

- Use upper case keywords.
- End every query with a semicolon.

## Example

```sql
SELECT 1;
-- End every query with a semicolon.
```

<!-- SLOW_UPDATE_START -->
Never guess a column.
<!-- SLOW_UPDATE_END -->
"""


def make(body=BODY):
    return Skill("house-sql", FRONT + body)


def edit(op, content="", target="", **more):
    return Edit(op=op, content=content, target=target, **more)


def apply_one(change, skill=None, *, max_tokens=2000):
    changed, (result,) = apply_edits(skill or make(), [change], limit=1, max_tokens=max_tokens)
    return changed, result


def test_a_plain_sentence_becomes_the_last_bullet_under_rules():
    changed, result = apply_one(edit("add", "Filter soft-deleted\nrows."))
    assert result.applied
    assert "- End every query with a semicolon.\n- Filter soft-deleted rows.\n\n## Example" in changed.text


def test_rules_get_a_heading_of_their_own_when_the_skill_has_none():
    skill = new_skill("house-sql", "Use for SQL.", "# House SQL")
    changed, _ = apply_one(edit("add", "## Rules\n- Filter rows.\n- Name columns."), skill)
    assert changed.body == "\n# House SQL\n\n## Rules\n\n- Filter rows.\n- Name columns.\n"


def test_a_block_goes_to_the_end_but_before_a_trailing_protected_region():
    changed, result = apply_one(edit("add", "## Dates\n\n| a | b |\n|---|---|\n| 1 | 2 |"))
    assert result.detail == "added at the end"
    assert "```\n\n## Dates\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<!-- SLOW_UPDATE_START -->" in changed.text


def test_numbered_and_starred_lists_go_on_in_their_own_style():
    numbered, _ = apply_one(edit("add", "Third."), make("\n## Rules\n1. First.\n2. Second.\n"))
    starred, _ = apply_one(edit("add", "Second."), make("\n# rules\n\n* First\n  goes on.\n"))
    assert "2. Second.\n3. Third.\n" in numbered.text
    assert "* First\n  goes on.\n* Second.\n" in starred.text


def test_windows_line_endings_are_kept():
    skill = make(BODY.replace("\n", "\r\n"))
    changed, result = apply_one(edit("add", "Filter rows."), skill)
    assert result.applied
    assert "\n" not in changed.body.replace("\r\n", "")


def test_insert_after_a_list_item_adds_an_item_there():
    changed, result = apply_one(edit("insert_after", "Name columns.", "USE  upper\ncase keywords"))
    assert "- Use upper case keywords.\n- Name columns.\n- End every" in changed.text
    assert result.detail == "inserted after line 8"


def test_insert_after_never_splits_a_table_paragraph_or_code_block():
    body = "\n| a | b |\n|---|---|\n| 1 | 2 |\n\nOne\ntwo.\n\n```\nx = 1\ny = 2\n```\nEnd.\n"
    for target, expected in [
        ("| a | b |", "| 1 | 2 |\n\nNew.\n\nOne"),
        ("One", "two.\n\nNew.\n\n```"),
        ("x = 1", "y = 2\n```\n\nNew.\n\nEnd."),
    ]:
        changed, result = apply_one(edit("insert_after", "New.", target), make(body))
        assert result.applied
        assert expected in changed.body


@pytest.mark.parametrize(
    ("target", "content", "expected"),
    [
        ("end every QUERY with  a semicolon.", "Leave semicolons out.", "\n- Leave semicolons out.\n"),
        ("- Use upper case keywords.", "- Use lower case keywords.", "\n- Use lower case keywords.\n"),
        ("upper case", "lower case", "- Use lower case keywords."),
        ("Use upper case keywords.", "- One.\n- Two.", "\n- One.\n- Two.\n- End every"),
        ("SELECT 1;", "SELECT 2;", "```sql\nSELECT 2;\n"),
        ("Write queries for SQLite.", "Two\nlines.", "\nTwo\nlines.\n"),
    ],
)
def test_replace_keeps_what_stands_around_the_target(target, content, expected):
    skill = make(BODY.replace("-- End every query with a semicolon.\n", ""))
    changed, result = apply_one(edit("replace", content, target), skill)
    assert result.applied, result.detail
    assert expected in changed.body


def test_delete_takes_the_bullet_and_leaves_no_gap():
    changed, result = apply_one(edit("delete", target="Use upper case keywords."))
    assert result.applied
    assert "## Rules\n\n- End every query" in changed.text
    inline, _ = apply_one(edit("delete", target="for SQLite"))
    assert "Write queries.\n" in inline.text


def test_a_whole_code_block_can_go_but_no_part_of_its_fence():
    block = "```sql\nSELECT 1;\n-- End every query with a semicolon.\n```"
    whole, result = apply_one(edit("delete", target=block))
    assert result.applied
    assert "```" not in whole.body
    _, torn = apply_one(edit("delete", target="-- End every query with a semicolon.\n```"))
    assert not torn.applied
    assert "part of a code block" in torn.detail


@pytest.mark.parametrize("op", ["insert_after", "replace", "delete"])
@pytest.mark.parametrize(
    "target",
    [
        "Never guess a column.",
        "<!-- SLOW_UPDATE_START -->",
        "```\n\n<!-- SLOW_UPDATE_START -->\nNever guess a column.",
        "a column.\n<!-- SLOW_UPDATE_END -->",
    ],
)
def test_a_protected_region_is_out_of_reach_whatever_the_overlap(op, target):
    changed, result = apply_one(edit(op, "Guess freely.", target))
    assert not result.applied
    assert changed == make()


def test_a_region_without_its_end_protects_the_rest():
    skill = make("\nIntro.\n\n<!-- APPENDIX_START -->\nNote.\n")
    _, result = apply_one(edit("delete", target="Note."), skill)
    assert result.detail == "the target lies in a protected region"
    changed, _ = apply_one(edit("add", "Be kind."), skill)
    assert changed.body.index("Be kind.") < changed.body.index("<!-- APPENDIX_START -->")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "empty"),
        (" \n\u200b- \n", "empty"),
        ("Be kind. <!-- and obey -->", "HTML comment"),
        ("<!-- SLOW_UPDATE_END -->\nBe kind.", "HTML comment"),
        ("Be kind.\n---\nname: other", "front matter"),
        ("[//]: # (run this first)\nBe kind.", "does not see"),
        ("<?run this?>\nBe kind.", "does not see"),
        ("Run:\n```\nmake", "not closed"),
        ("**End every query with a  SEMICOLON**", "says so already"),
        ("- Use upper case keywords\n- End every query with a semicolon.", "says so already"),
    ],
)
def test_content_that_hides_breaks_or_repeats_is_refused(content, why):
    changed, result = apply_one(edit("add", content))
    assert not result.applied
    assert why in result.detail
    assert changed == make()


def test_invisible_characters_are_left_out():
    changed, _ = apply_one(edit("add", "Be\u202e ki\u200bnd\U000e0041."))
    assert "- Be kind.\n" in changed.text


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("Use tabs.", "not in the skill"),
        ("End every query with a semicolon.", "2 times"),
        ("semicol", "not in the skill"),
        ("  ", "empty"),
    ],
)
def test_a_target_that_is_missing_or_ambiguous_is_a_miss(target, why):
    changed, result = apply_one(edit("replace", "Use spaces.", target))
    assert (result.applied, result.miss) == (False, True)
    assert why in result.detail
    assert changed == make()


def test_an_edit_that_changes_nothing_is_not_counted():
    _, result = apply_one(edit("replace", "Write queries for SQLite.", "Write queries for SQLite."))
    assert (result.applied, result.detail) == (False, "the edit changes nothing")


def test_the_learning_rate_counts_applied_edits_only():
    edits = [edit("add", ""), edit("add", "One."), edit("add", "Two."), edit("add", "Three.")]
    changed, results = apply_edits(make(), edits, limit=2, max_tokens=2000)
    assert [r.applied for r in results] == [False, True, True, False]
    assert results[3].detail == "over the learning rate"
    assert "Three." not in changed.text


def test_a_learning_rate_of_zero_changes_nothing():
    changed, results = apply_edits(make(), [edit("add", "One.")], limit=0, max_tokens=2000)
    assert changed == make()
    assert [r.detail for r in results] == ["over the learning rate"]
    with pytest.raises(ValueError, match="learning rate is -1"):
        apply_edits(make(), [], limit=-1, max_tokens=2000)


def test_over_the_size_budget_a_skill_may_only_shrink():
    _, grown = apply_one(edit("add", "A long rule. " * 20), max_tokens=100)
    assert grown.detail == "over the size budget of 100 tokens"
    _, shrunk = apply_one(edit("delete", target="Write queries for SQLite."), max_tokens=10)
    assert shrunk.applied


def test_the_last_text_of_a_skill_cannot_be_deleted():
    skill = new_skill("house-sql", "Use for SQL.", "Only this.")
    changed, result = apply_one(edit("delete", target="Only this."), skill)
    assert changed == skill
    assert "the body is empty" in result.detail


def test_a_rule_is_not_hidden_in_a_comment_that_has_a_rules_heading():
    skill = make("\nIntro.\n\n<!--\n## Rules\n- old\n-->\n")
    changed, _ = apply_one(edit("add", "Be kind."), skill)
    assert changed.body.endswith("-->\n\n## Rules\n\n- Be kind.\n")


def test_text_left_and_right_of_an_edit_never_joins_into_a_comment():
    skill = make("\nA <!gone-- b --> c.\n\n- Rule.\n")
    changed, result = apply_one(edit("delete", target="gone"), skill)
    assert not result.applied
    assert changed == skill


def test_an_illegal_skill_is_not_edited():
    with pytest.raises(SkillInvalid):
        apply_edits(Skill("other", FRONT + BODY), [edit("add", "One.")], limit=1, max_tokens=2000)


PIECES = st.sampled_from(
    [
        "Use upper case.", "- Use upper case.", "* item", "  nested", "1. one", "## Rules", "# Title", "", "",
        "```", "```sql", "~~~", "<!--", "-->", "<!-- note -->", "<!-- SLOW_UPDATE_START -->",
        "<!-- SLOW_UPDATE_END -->", "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->", "---", "| a | b |",
        "Straße", "ẞ ß", "İstanbul", "keep\u00a0this", "> quote", "text <!", "-- x -->", "\r", "\u2028x",
    ]
)  # fmt: skip
TEXT = st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=14).flatmap(
    lambda parts: st.sampled_from(["\n", "\r\n", " "]).map(lambda joint: joint.join(parts))
)


@st.composite
def skills_and_edits(draw):
    body = draw(TEXT).encode("utf-8", "ignore").decode()
    skill = Skill("house-sql", f"{FRONT}\nStart.\n{body}")
    edits = []
    for op in draw(st.lists(st.sampled_from(["add", "insert_after", "replace", "delete"]), max_size=5)):
        start = draw(st.integers(0, len(skill.body)))
        target = draw(st.one_of(TEXT, PIECES, st.just(skill.body[start : start + draw(st.integers(1, 40))])))
        edits.append(edit(op, draw(TEXT), draw(st.sampled_from([target, target.upper()]))))
    return skill, edits


@given(skills_and_edits(), st.integers(0, 4))
def test_whatever_the_edits_the_result_is_legal_and_tells_the_truth(pair, limit):
    skill, edits = pair
    changed, results = apply_edits(skill, edits, limit=limit, max_tokens=400)
    assert find_problems(changed) == []
    assert changed.text.startswith(FRONT)
    assert [_protected(changed)] == [_protected(skill)]
    assert [r.edit for r in results] == edits
    assert sum(r.applied for r in results) <= limit
    assert sum(not i.closed for i in find_islands(changed.body)) <= sum(
        not i.closed for i in find_islands(skill.body)
    )
    current = skill
    for result in results:
        following, (again,) = apply_edits(current, [result.edit], limit=1, max_tokens=400)
        if result.applied:
            assert again.applied
            assert following != current
            current = following
        else:
            assert not again.applied or result.detail == "over the learning rate"
    assert current == changed


@given(skills_and_edits())
def test_no_edit_loses_text_but_what_its_target_matched(pair):
    skill, edits = pair
    for change in edits:
        changed, (result,) = apply_edits(skill, [change], limit=1, max_tokens=4000)
        if not result.applied:
            assert changed == skill
            continue
        before, after = skill.body, changed.body
        start = _count_shared(before, after)
        end = _count_shared(before[start:][::-1], after[start:][::-1])
        gone = before[start : len(before) - end]
        kept = Counter(c for c in result.matched if c.isalpha())
        # A bullet's number goes with its item, nothing else outside of the target does.
        assert Counter(c for c in gone if c.isalpha()) <= kept
        if change.op in ("add", "insert_after"):
            assert not gone.strip()
        else:
            assert result.matched in before
        skill = changed


@given(skills_and_edits())
def test_an_edit_that_does_nothing_does_nothing_however_often(pair):
    skill, edits = pair
    for change in edits:
        first = apply_edits(skill, [change], limit=1, max_tokens=4000)
        if not first[1][0].applied:
            assert first[0] == skill
            assert apply_edits(skill, [change, change], limit=2, max_tokens=4000) == (skill, first[1] * 2)
    assert apply_edits(skill, [], limit=9, max_tokens=4000) == (skill, ())


@given(skills_and_edits())
def test_an_applied_add_can_be_read_and_is_refused_the_second_time(pair):
    skill, edits = pair
    for change in edits:
        added = edit("add", change.content)
        changed, (result,) = apply_edits(skill, [added], limit=1, max_tokens=4000)
        if result.applied:
            _, (again,) = apply_edits(changed, [added], limit=1, max_tokens=4000)
            assert not again.applied


def _protected(skill):
    return [skill.body[i.start : i.end] for i in find_protected(skill.body)]


def _count_shared(one, other):
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
