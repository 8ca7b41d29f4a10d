"""The same ask once more, told apart from a like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.repeats import asks_again

ASK = "Write the release notes for the billing module"


@pytest.mark.parametrize(
    "new",
    [
        ASK,
        "please write the release notes for the billing module",
        "Write the relase notes for the billing module!",
        "Write the release notes for the billing module, in past tense",
        "WRITE THE RELEASE NOTES FOR THE BILLING MODULE",
    ],
)
def test_a_repetition_may_differ_in_manners_typing_and_what_is_added(new):
    assert asks_again(new, ASK)


@pytest.mark.parametrize(
    "new",
    [
        "Write the release notes for the search module",
        "Review the release notes for the billing module",
        "thanks",
        "",
        "Write the release notes",
        f"{ASK}. Then set up a pipeline that publishes them to the wiki and mails every customer a summary",
    ],
)
def test_a_word_in_anothers_place_makes_another_ask(new):
    assert not asks_again(new, ASK)


@pytest.mark.parametrize("routine", ["run the tests", "继续", "deploy", "はい"])
def test_short_routines_are_repeated_for_their_own_sake(routine):
    assert not asks_again(routine, routine)


def test_scripts_without_blanks_are_compared_by_character():
    assert asks_again("给解析器写单元测试,要完整", "给解析器写单元测试")
    assert not asks_again("给搜索模块写文档", "给解析器写单元测试")


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_crashes_it(new, old):
    asks_again(new, old)
    assert asks_again(old, old) in {True, False}
