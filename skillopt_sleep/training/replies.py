"""A reply of the optimizer as an object, wherever in its text that stands."""

from __future__ import annotations

import json
from typing import Any


class ReplyMalformed(Exception):
    """Nothing of the reply can be used; the message tells the optimizer why."""


def find_object(text: str, key: str = "edits") -> dict[str, Any]:
    """Return the first JSON object with the key in the text. Raises ReplyMalformed when there is none."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and key in value:
            return value
        start = text.find("{", start + 1)
    raise ReplyMalformed(f'the reply holds no whole JSON object with "{key}" (if it was cut off, write less)')
