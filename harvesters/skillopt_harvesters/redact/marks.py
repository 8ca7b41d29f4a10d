"""The marks that stand for what was hidden, and characters nobody sees."""

from __future__ import annotations

import re

MARK = r"\[redacted:[a-z0-9-]{1,40}\]"
IS_MARK = re.compile(MARK)
# A mark cut in two at the end of a text.
CUT_MARK = re.compile(r"\[(?:r(?:e(?:d(?:a(?:c(?:t(?:e(?:d(?::[a-z0-9-]{0,40})?)?)?)?)?)?)?)?)?\Z")
# The same at the beginning.
MARK_END = re.compile(r"\A[a-z0-9:-]{0,50}\]")
# Zero-width characters, joiners, soft hyphens and the like have no meaning between two ASCII characters.
_INVISIBLE = re.compile(
    "(?<=[!-~])[\u00ad\u034f\u061c\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]+(?=[!-~])"
)


def mark(kind: str) -> str:
    return f"[redacted:{kind}]"


def without_invisible(text: str) -> str:
    """Drop invisible characters inside ASCII words, where they can only hide something."""
    return _INVISIBLE.sub("", text)
