"""Short asks one after the other are asks, and none corrects the one before it."""

from __future__ import annotations

import pytest

from skillopt_harvesters import mine
from skillopt_harvesters.replies import Reply, classify_reply
from tests.support.sessions import session, turn

SCRIPT = ["list files", "greet Bob", "greet Alice", "git status", "ping", "sort numbers", "server trouble"]


@pytest.mark.parametrize("said", SCRIPT)
@pytest.mark.parametrize("asked", SCRIPT)
def test_what_follows_a_very_short_ask_is_no_correction_by_itself(asked, said):
    reply = classify_reply(said, asked=asked, answer="Done.")
    assert said == asked or reply is not Reply.CORRECTION


@pytest.mark.parametrize(
    "said",
    ["No, only the hidden ones", "use `ls -a`", "that's wrong", "it should be sorted", "make it shorter"],
)
def test_what_says_that_it_is_about_the_ask_corrects_it_however_short_that_was(said):
    assert classify_reply(said, asked="list files", answer="Done.") is Reply.CORRECTION


def test_a_short_instruction_after_a_longer_ask_says_how():
    assert classify_reply("Use British spelling", asked="Document the geo lookup module") is Reply.CORRECTION


def test_a_skill_that_is_called_by_its_name_opens_a_task():
    reply = classify_reply("$greet Bob", asked="Write the file a.txt with one line", answer="Done.")
    assert reply is Reply.ASK


def test_a_series_of_short_asks_recurs_without_being_corrected():
    made = [session(turn("greet Bob"), turn("greet Alice"), turn("greet Carol"), name=name) for name in "ab"]
    assert not any(task.failed_before for task in mine(made))
