"""Long tool results, passed over without being decoded: most of a transcript's bytes, and read by nobody.

A line with a large result holds it twice: as the content of a `tool_result` block, and below `toolUseResult`.
Both are strings, and their ends are found by looking for quotes, many times faster than by decoding. What is
left of the line, with those strings empty, is decoded and checked like any other line. Nothing is taken on
trust but the characters inside the strings: a key in quotes cannot stand inside a string, where its quotes
would be escaped, and the first quote that is not escaped ends one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Shorter lines are decoded as quickly as they are looked through.
_LONG_LINE = 4096
_MAX_SHORT = 32
# So near the beginning of a line, or the end of the string before, the next key stands where there is one.
_NEAR = 768
# Text with more quotes is left to the decoder.
_MAX_QUOTES = 4
_QUOTE, _BACKSLASH, _SPACE = b'"\\ '


def find_slim_lines(buffer: bytearray, start: int, end: int) -> Iterator[tuple[int, int, bytearray]]:
    """Yield (start, end, slim line) for the lines between `start` and `end` that hold a long result.

    Behind a long run of short lines no more are looked for.
    """
    position = start
    tries = _MAX_SHORT
    while position < end and tries:
        line_end = buffer.find(b"\n", position, end)
        if line_end < 0:
            line_end = end
        tries -= 1
        if line_end - position > _LONG_LINE:
            tries = _MAX_SHORT
            slim = _empty_results(buffer, position, line_end)
            if slim is not None:
                yield position, line_end, slim
        position = line_end + 1


def _empty_results(buffer: bytearray, start: int, end: int) -> bytearray | None:
    """Return a line with its result emptied in both places, or None when that is not done quickly."""
    block = buffer.find(b'"tool_result"', start, start + _NEAR)
    first = _find_string(buffer, b'"content":', block, end) if block >= 0 else None
    if first is None:
        return None
    second = _find_string(buffer, b'"content":', first[1], end) or _find_string(
        buffer, b'"stdout":', first[1], end
    )
    if second is None:
        return buffer[start : first[0]] + buffer[first[1] : end]
    return buffer[start : first[0]] + buffer[first[1] : second[0]] + buffer[second[1] : end]


def _find_string(buffer: bytearray, key: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Return where the characters of the string under a key begin and end."""
    at = buffer.find(key, start, min(start + _NEAR, end))
    if at < 0:
        return None
    begin = at + len(key)
    if buffer[begin] == _SPACE:
        begin += 1
    if buffer[begin] != _QUOTE:
        return None
    quote = begin
    for _ in range(_MAX_QUOTES):
        quote = buffer.find(b'"', quote + 1, end)
        if quote < 0:
            return None
        before = quote
        while buffer[before - 1] == _BACKSLASH:
            before -= 1
        if (quote - before) % 2 == 0:
            return begin + 1, quote
    return None
