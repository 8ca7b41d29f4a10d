"""Where JSON values end: brackets counted, strings passed over."""

from __future__ import annotations

import re
from itertools import accumulate

# Strings with very many escapes are left to `_end_string`: a repetition costs memory each time round.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*){0,500}"|[{}\[\]"]', re.DOTALL)
_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*){0,500}(?:"|\Z)|([{}\[\]"])', re.DOTALL)
_STEP = {byte: 1 if byte in b"{[" else -1 for byte in b"{}[]"}
_QUOTE, _BACKSLASH = 34, 92
_OPENINGS = frozenset(b"{[")


def walk(buffer: bytes, position: int, depth: int) -> tuple[int, int, bool]:
    """Move over brackets and strings until no bracket is open any more, or the window ends.

    Returns the place, the depth, and whether the place is the quote of a string that does not end here.
    """
    while True:
        for token in _TOKEN.finditer(buffer, position):
            start, end = token.span()
            byte = buffer[start]
            if byte == _QUOTE:
                if end - start == 1:
                    position = end_string(buffer, end)
                    if position < 0:
                        return start, depth, True
                    if depth == 0:
                        return position, 0, False
                    break
            elif byte in _OPENINGS:
                depth += 1
            else:
                depth -= 1
            if depth <= 0:
                return end, 0, False
        else:
            return len(buffer), depth, False


def end_string(buffer: bytes, start: int) -> int:
    """Return the place behind the quote that ends a string, -1 when it is not in the window."""
    position = start
    while True:
        quote = buffer.find(b'"', position)
        if quote < 0:
            return -1
        first = quote
        while first > start and buffer[first - 1] == _BACKSLASH:
            first -= 1
        if (quote - first) % 2 == 0:
            return quote + 1
        position = quote + 1


def walk_over(buffer: bytes, position: int, depth: int) -> tuple[int, bool] | None:
    """Return the depth at the end of the window, and whether that is inside a string.

    A faster way over values that do not end here; None when they do, or it cannot be told.
    """
    if buffer.endswith(b"\\"):
        return None
    brackets = b"".join(_BRACKET.findall(buffer, position))
    if b'"' in brackets:
        return None
    depths = list(accumulate([_STEP[byte] for byte in brackets], initial=depth))
    if min(depths) <= 0:
        return None
    plain = buffer[position:].replace(b"\\\\", b"")
    return depths[-1], (plain.count(b'"') - plain.count(b'\\"')) % 2 == 1
