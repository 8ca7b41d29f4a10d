"""Families that share words no other family has are one; asks of one shape for other things are not."""

from __future__ import annotations

import pytest

from skillopt_harvesters.kin import find_kin
from skillopt_harvesters.leftovers import Wording
from skillopt_harvesters.normalise import FENCED
from tests.harvesters.asked import group_prompts

GROUPED = [Wording({"give": 0.5, "sql": 1.0, "group": 1.0, "day": 1.0}, 3)]
REPORT = [Wording({"create": 0.5, "sql": 1.0, "query": 1.0, "report": 1.0, "day": 1.0}, 2)]
DEPLOY = [Wording({"deploy": 1.0, "staging": 1.0}, 3)]


def kin(*clusters) -> list[tuple[int, int]]:
    return list(find_kin(clusters))


def test_two_families_with_two_words_of_their_own_in_common_are_one():
    assert kin(GROUPED, DEPLOY, REPORT) == [(0, 2)]


def test_a_word_that_a_third_family_has_speaks_for_neither():
    assert kin(GROUPED, REPORT, [Wording({"plan": 1.0, "day": 1.0}, 2)]) == []


def test_what_was_asked_once_is_no_family_yet():
    assert kin(GROUPED, [REPORT[0]._replace(asks=1)]) == []


def test_one_deed_is_not_another():
    backup = {"nightly": 1.0, "backup": 1.0}
    made, removed = [Wording({"create": 0.5} | backup, 3)], [Wording({"remove": 1.0} | backup, 3)]
    assert kin(made, removed) == []
    assert kin(made, [Wording({"give": 0.5, "encrypted": 1.0} | backup, 3)]) == [(0, 1)]


def test_long_templates_are_told_apart_by_their_own_rules():
    assert kin([Wording({FENCED: 1.0, "sql": 1.0, "day": 1.0}, 3)], GROUPED) == []


THINGS = ["invoices", "refunds", "log-ins", "uploads", "page views"]


def same(*templates: str) -> bool:
    """Tell whether some asks of each template are found to be one kind of ask."""
    prompts = [template.format(thing) for template in templates for thing in THINGS]
    firsts = {template.format(THINGS[0]) for template in templates}
    return any(firsts <= set(cluster) for cluster in group_prompts(*prompts))


def test_a_word_behind_the_value_belongs_to_the_template():
    assert same("Write a SQL query that reports {} per day", "Give me SQL for {} grouped by day")


@pytest.mark.parametrize(
    "templates",
    [
        ("Create the nightly backup job for {}", "Delete the nightly backup job for {}"),
        ("Write a SQL query that reports {} per day", "Write a cron entry that mails {} per day"),
        ("Draw a bar chart of {} per month", "Explain the bar chart of {} per month"),
        ("Enable the rate limit for {}", "Disable the rate limit for {}"),
        ("Erstelle einen Bericht über {} pro Tag", "Lösche den Bericht über {} pro Tag"),
        ("给{}写单元测试", "给{}写接口文档"),
        ("启用{}的夜间备份", "禁用{}的夜间备份"),
        ("帮我review一下{}的代码", "帮我deploy一下{}的代码"),
        ("Bitte fix den Test für {}", "Bitte review den Test für {}"),
    ],
    ids=[
        "deeds",
        "things",
        "explained",
        "opposites",
        "german",
        "chinese",
        "chinese deeds",
        "mixed",
        "denglish",
    ],
)
def test_asks_of_one_shape_for_other_things_stay_apart(templates):
    assert not same(*templates)


RULES = (
    "You are working in a monorepo. Follow the style guide, keep functions short, write no comments that"
    " repeat the code, run the linter before you finish, and do not touch generated files. Answer in one"
    " paragraph."
)


def test_long_prompts_that_share_their_boilerplate_stay_apart():
    assert not same(
        f"Add pagination to the list of {{}}. {RULES}", f"Translate the help page on {{}}. {RULES}"
    )
