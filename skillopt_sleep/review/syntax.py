"""The parts of a line of Markdown or front matter that deserve a colour of their own."""

from __future__ import annotations

import re
from typing import TypeAlias

# (start, end, kind); kinds are heading, code, mark, strong, link and field.
Marks: TypeAlias = tuple[tuple[int, int, str], ...]

_FIELD = re.compile(r"[\w-]+(?=:(?:\s|$))")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s.*)?$")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])(?=\s)|\s*>")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_INLINE = re.compile(
    r"(?P<code>`+)[^`]+?(?P=code)|(?P<strong>\*\*[^*\s](?:[^*]*[^*\s])?\*\*)|(?P<link>\[[^\]\n]*\]\([^)\s]*\))"
)
_LONGEST = 2_000


def mark_line(text: str, *, front: bool = False, fenced: bool = False) -> Marks:
    """Return the parts of one line; `front` is a line of front matter, `fenced` one in a block of code."""
    if len(text) > _LONGEST:
        return ()
    if front:
        field = _FIELD.match(text)
        return ((field.start(), field.end(), "field"),) if field else ()
    if fenced or _FENCE.match(text):
        return ((0, len(text), "code"),) if text else ()
    if _HEADING.match(text):
        return ((0, len(text), "heading"),)
    marks = []
    bullet = _BULLET.match(text)
    if bullet:
        marks.append((bullet.start(), bullet.end(), "mark"))
    inline = _INLINE.finditer(text, bullet.end() if bullet else 0)
    return (*marks, *((found.start(), found.end(), found.lastgroup or "code") for found in inline))


def find_fenced(text: str) -> frozenset[int]:
    """Return the numbers (from 1) of the lines inside of blocks of code."""
    inside: set[int] = set()
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
            else:
                inside.add(number)
        elif _FENCE.match(line):
            fence = stripped[:3]
    return frozenset(inside)
