"""Texts in which signs are written as URLs or HTML write them, and what they say without that."""

from __future__ import annotations

import re
from bisect import bisect_left
from html.entities import html5
from typing import NamedTuple

# Of ASCII alone, so that each stands for one character: %3D, &#61;, &#x3d;, &equals;
ESCAPE = re.compile(
    r"%(?:0[9ADad]|[2-7][0-9A-Fa-f])"
    r"|&(?:#(?:0{0,8}(?:9|10|13|3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6])|[xX]0{0,8}(?:9|[aAdD]|[2-7][0-9A-Fa-f]))"
    r"|[A-Za-z]{2,8});"
)


class Unescaped(NamedTuple):
    """A text without its escapes; `places` of those in it, and by how much all up to each were longer."""

    text: str
    places: list[int]
    longer: list[int]

    def find_source(self, place: int) -> int:
        """Return where the character before a place ends in the text that was read, or the text begins."""
        before = bisect_left(self.places, place)
        return place + self.longer[before - 1] if before else place


def unescape(text: str) -> Unescaped | None:
    """Return a text without its escapes; None when it has none."""
    parts: list[str] = []
    places: list[int] = []
    longer: list[int] = []
    done = more = 0
    for escape in ESCAPE.finditer(text):
        sign = _read(escape[0])
        if not sign:
            continue
        parts += (text[done : escape.start()], sign)
        places.append(escape.start() - more)
        more += len(escape[0]) - 1
        longer.append(more)
        done = escape.end()
    if not places:
        return None
    parts.append(text[done:])
    return Unescaped("".join(parts), places, longer)


def _read(escape: str) -> str:
    """Return what an escape stands for, nothing when that is no character of ASCII."""
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    if escape[1] != "#":
        sign = html5.get(escape[1:], "")
        return sign if len(sign) == 1 and sign.isascii() else " " * (escape == "&nbsp;")
    digits = escape[2:-1]
    return chr(int(digits[1:], 16) if digits[0] in "xX" else int(digits))
