"""A proposal's change as hunks of rows: what there is to show, and what can be chosen on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from skillopt_sleep.review.words import Spans, compare_words, pair_lines
from skillopt_staging.front_matter import split_front_matter
from skillopt_staging.hunks import Hunk, Kind, Line, hunks


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a hunk, with the `spans` (start, end) of its text that changed.

    `front` tells whether the line lies in the front matter.
    """

    line: Line
    spans: Spans = ()
    front: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A hunk made ready to show; `number` counts from 1 and is what `apply --hunks` takes."""

    hunk: Hunk
    rows: tuple[Row, ...]

    @property
    def number(self) -> int:
        """Return the hunk's number, from 1."""
        return self.hunk.index

    @property
    def place(self) -> str:
        """Say which part of the document it changes: front matter, body, or both."""
        changed = {row.front for row in self.rows if row.line.kind is not Kind.SAME}
        if changed == {True}:
            return "front matter"
        return "front matter and body" if True in changed else "body"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """All hunks between two texts, with the number of lines added and removed."""

    parts: tuple[Part, ...]
    added: int
    removed: int


def compare(base: str, text: str) -> Difference:
    """Return what changes when `base` becomes `text`; no parts when they are equal.

    The hunks, and so their numbers, are those of the staging wing, which carries out the choice.
    """
    fronts = _count_front_lines(base), _count_front_lines(text)
    parts = tuple(Part(hunk=hunk, rows=tuple(_rows(hunk.lines, fronts))) for hunk in hunks(base, text))
    kinds = [row.line.kind for part in parts for row in part.rows]
    return Difference(parts=parts, added=kinds.count(Kind.ADDED), removed=kinds.count(Kind.REMOVED))


def _rows(lines: Sequence[Line], fronts: tuple[int, int]) -> Iterator[Row]:
    spans = _mark_words(lines)
    for index, line in enumerate(lines):
        front = line.old <= fronts[0] if line.old is not None else (line.new or 0) <= fronts[1]
        yield Row(line=line, spans=spans.get(index, ()), front=front)


def _mark_words(lines: Sequence[Line]) -> dict[int, Spans]:
    marks: dict[int, Spans] = {}
    index = 0
    while index < len(lines):
        removed = _run(lines, index, Kind.REMOVED)
        added = _run(lines, removed.stop, Kind.ADDED)
        old, new = [lines[at].text for at in removed], [lines[at].text for at in added]
        for left, right in pair_lines(old, new):
            marks[removed[left]], marks[added[right]] = compare_words(old[left], new[right])
        index = max(added.stop, index + 1)
    return marks


def _run(lines: Sequence[Line], start: int, kind: Kind) -> range:
    end = start
    while end < len(lines) and lines[end].kind is kind:
        end += 1
    return range(start, end)


def _count_front_lines(text: str) -> int:
    front, body = split_front_matter(text)
    if front is None:
        return 0
    head = text.removesuffix(body) if body else text
    return head.count("\n") + (not head.endswith("\n"))
