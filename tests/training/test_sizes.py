"""A skill that outgrows its budget is to be compressed, and to what is said."""

from __future__ import annotations

import pytest

from skillopt_replay.skills import new_skill
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.sizes import SizeBudget, needs_compression
from skillopt_sleep.training.words import count_tokens

BUDGET = SizeBudget(least=50, most=100)
SKILL = new_skill("house-sql", "Use for SQL.", "# House SQL\n\n## Rules\n\n" + "- Keep to this rule.\n" * 14)


def edit(skill, *contents, budget=BUDGET):
    edits = [Edit(op="add", content=content) for content in contents]
    edited, results = apply_edits(skill, edits, limit=9, max_tokens=budget.most)
    return needs_compression(edited, results, budget)


def test_while_all_fits_there_is_nothing_to_do():
    assert edit(SKILL, "Short.") is None
    assert edit(SKILL, "") is None, "refused for another reason"


def test_an_edit_that_does_not_fit_is_held_back_and_room_is_made_for_it():
    found = edit(SKILL, "Short.", "A rule that is rather long. " * 4)
    assert [e.content for e in found.held_back] == ["A rule that is rather long. " * 4]
    assert found.tokens == count_tokens(SKILL.text + "- Short.\n")
    assert (found.wanted, found.least) == (100 - 28 - 1, 50)


def test_no_more_is_asked_than_the_least_size():
    assert edit(SKILL, "A rule that is far too long. " * 20).wanted == 50


def test_a_skill_that_is_over_the_budget_already_has_to_shrink():
    found = edit(SKILL, budget=SizeBudget(least=10, most=40))
    assert (found.wanted, found.held_back) == (40, ())


@pytest.mark.parametrize(("least", "most"), [(0, 10), (11, 10)])
def test_a_budget_that_makes_no_sense_is_refused(least, most):
    with pytest.raises(ValueError, match="1 <= least <= most"):
        SizeBudget(least=least, most=most)
