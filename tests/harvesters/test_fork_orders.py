"""Forks that are harvested before what they were forked from, and forks of those in turn."""

from __future__ import annotations

import itertools
import os
from collections import Counter

import pytest

from tests.support.indexes import Index


@pytest.fixture
def index(tmp_path, private_home):
    return Index(tmp_path / "state.db", private_home)


def fork(make, original, length, *, day):
    """Return a session that begins with an original's first records."""
    copy = make()
    came_from = {"sessionId": original.id, "messageUuid": "x"}
    copied = original.records[:length]
    copy.records = [{**record, "sessionId": copy.id, "forkedFrom": came_from} for record in copied]
    copy.day = day
    copy.parent = copied[-1]["uuid"]
    return copy


def say(transcript, *prompts):
    for prompt in prompts:
        transcript.user(prompt)
        transcript.call(command="ls")
        transcript.agent("done")


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_every_prompt_and_token_counts_once_in_whatever_order_forks_are_harvested(transcript, index, order):
    original = transcript()
    say(original, "a1", "a2", "a3")
    # In the middle of a turn, so that the two go on differently behind the same prompt.
    inside = fork(transcript, original, 5, day=2)
    say(inside, "b1")
    behind = fork(transcript, original, 8, day=3)
    say(behind, "c1")
    again = fork(transcript, behind, 12, day=4)
    say(again, "d1")
    files = [original, inside, behind, again]
    for number in order:
        os.utime(files[number].write(), (number, number))
        index.harvest()
    sessions = index.sessions.values()
    assert Counter(prompt for session in sessions for prompt in session.prompts) == Counter(
        ["a1", "a2", "a3", "b1", "c1", "d1"]
    )
    assert sum(session.tokens.output for session in sessions) == 6 * (5 + 5)
