"""A reply of the optimizer as an object, wherever in its text that stands."""

from __future__ import annotations

import json
from typing import Any

from skillopt_replay.models.replies import MAX_STARTS, mend


class ReplyMalformed(Exception):
    """Nothing of the reply can be used; the message tells the optimizer why."""


def find_object(text: str, key: str = "edits") -> dict[str, Any]:
    """Return the first JSON object with the key in the text. Raises ReplyMalformed when there is none.

    What no file can hold, half of a surrogate pair, becomes a question mark in it.
    """
    decoder = json.JSONDecoder()
    start = text.find("{")
    for _ in range(MAX_STARTS):  # each may cost as much as the text is long
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
            if isinstance(value, dict) and key in value:
                return value if "\\u" not in text[start:end] else mend(value)
        except (ValueError, RecursionError):
            pass
        start = text.find("{", start + 1)
    raise ReplyMalformed(f'the reply holds no whole JSON object with "{key}" (if it was cut off, write less)')
