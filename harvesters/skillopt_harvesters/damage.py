"""Kinds of records whose name was damaged: a flipped bit in `"type":"user"` hides a prompt.

A newer version of a client brings kinds of its own, and these are words. So a name is a damaged one when it
is as long as a known one and all but one of its characters are the same, or half of them if some of the
others are such as stand in no name.
"""

from __future__ import annotations


def is_damaged(name: str | None, known: str) -> bool:
    """Tell whether a name is a known one that was damaged."""
    if name is None or len(name) != len(known):
        return False
    wrong = [one for one, other in zip(name, known, strict=True) if one != other]
    return len(wrong) == 1 or (0 < 2 * len(wrong) <= len(known) and not all(map(_stands_in_names, wrong)))


def _stands_in_names(character: str) -> bool:
    return "!" <= character <= "~"
