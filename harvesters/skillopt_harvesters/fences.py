"""Prompts a client made from a template file and the user's words, which stand in a fence of their own."""

from __future__ import annotations

import re
from typing import NamedTuple

_HEADING = re.compile(r"^#{1,4}[ \t]*user[ \t]+input[ \t]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"\s{0,40}^(`{3,8}|~{3,8})[^\n`~]{0,40}\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


class Fenced(NamedTuple):
    """A template with an empty fence, and the user's words that stood in it, from character `at` on."""

    template: str
    words: str
    at: int


def find_fenced(prompt: str) -> Fenced | None:
    """Return the parts of a prompt with a "User Input" heading and a fence under it; None for another."""
    heading = _HEADING.search(prompt)
    fence = _FENCE.match(prompt, heading.end()) if heading else None
    if fence is None:
        return None
    words = fence[2].strip()
    at = fence.start(2) + fence[2].find(words)
    return Fenced(prompt[: fence.start(2)] + prompt[fence.end(2) :], words, at)
