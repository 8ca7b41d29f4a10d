"""Which words of a changed line changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

Spans: TypeAlias = tuple[tuple[int, int], ...]

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
# Beyond these sizes marking words costs more than it tells.
_LONGEST_LINE = 4_000
_MOST_PAIRS = 400
# Lines with less in common than this share were rewritten rather than edited.
_ALIKE = 1 / 3


def compare_words(old: str, new: str) -> tuple[Spans, Spans]:
    """Return the spans (start, end) of `old` and of `new` that differ.

    Both are empty when the lines have little in common.
    """
    if len(old) > _LONGEST_LINE or len(new) > _LONGEST_LINE:
        return (), ()
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    blocks = matcher.get_matching_blocks()
    shared = sum(
        len(word) for block in blocks for word in before[block.a : block.a + block.size] if word.strip()
    )
    whole = _solid(before) + _solid(after)
    if not whole or 2 * shared / whole < _ALIKE:
        return (), ()
    changes = [op for op in matcher.get_opcodes() if op[0] != "equal"]
    return (
        _spans(before, [(low, high) for _, low, high, _, _ in changes]),
        _spans(after, [(low, high) for _, _, _, low, high in changes]),
    )


def pair_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return which line of `old` became which of `new`, as index pairs in ascending order.

    Equally long blocks are paired by position; else each old line takes the most alike new line after the
    last one taken.
    """
    if len(old) == len(new):
        return [(index, index) for index in range(len(old))]
    if len(old) * len(new) > _MOST_PAIRS:
        return []
    pairs: list[tuple[int, int]] = []
    start = 0
    for index, line in enumerate(old):
        ratio, best = max(
            ((_ratio(line, new[place]), -place) for place in range(start, len(new))), default=(0.0, 0)
        )
        if ratio >= _ALIKE:
            pairs.append((index, -best))
            start = 1 - best
    return pairs


def _ratio(old: str, new: str) -> float:
    before, after = _TOKEN.findall(old[:_LONGEST_LINE]), _TOKEN.findall(new[:_LONGEST_LINE])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0


def _solid(words: Sequence[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _spans(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> Spans:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    merged: list[tuple[int, int]] = []
    for low, high in ranges:
        if low == high:
            continue
        start, end = starts[low], starts[high]
        # Two changes with only a space between them read as one.
        if merged and all(word.isspace() for word in words[_at(starts, merged[-1][1]) : low]):
            start = merged.pop()[0]
        merged.append((start, end))
    return tuple(_tighten("".join(words), start, end) for start, end in merged)


def _tighten(line: str, start: int, end: int) -> tuple[int, int]:
    # Spaces around changed words are no news; a change of nothing but spaces is.
    piece = line[start:end]
    if not piece.strip():
        return start, end
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _at(starts: Sequence[int], offset: int) -> int:
    return starts.index(offset)
