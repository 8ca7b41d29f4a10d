"""The object in a reply is found wherever it stands, and a reply without one costs no time."""

from __future__ import annotations

import time

import msgspec
import pytest

from skillopt_sleep.training.replies import ReplyMalformed, find_object


def test_what_no_file_can_hold_is_replaced():
    found = find_object(r'So: {"reasoning": "\udfff", "edits": [{"rule": "Be kind. \ud800"}]}')
    assert found == {"reasoning": "?", "edits": [{"rule": "Be kind. ?"}]}
    msgspec.json.encode(found)


@pytest.mark.parametrize("text", ['{"edits":' * 25_000, "{" * 250_000, '{"edits": ' + "[" * 100_000])
def test_braces_without_an_end_are_read_in_no_time(text):
    started = time.process_time()
    with pytest.raises(ReplyMalformed, match="no whole JSON object"):
        find_object(text)
    assert time.process_time() - started < 5
