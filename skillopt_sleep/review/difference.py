"""A proposal's change as hunks of rows: what there is to show, and what can be chosen on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from skillopt_sleep.records import Proposal
from skillopt_sleep.review.syntax import find_fenced
from skillopt_sleep.review.words import Spans, compare_words, pair_lines
from skillopt_staging.front_matter import split_front_matter
from skillopt_staging.hunks import Hunk, Kind, Line, hunks

SKILL_FILE = "SKILL.md"
CONTEXT = 3


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a hunk, with the `spans` (start, end) of its text that changed.

    `front` tells whether the line lies in the front matter, `fenced` whether in a block of code.
    """

    line: Line
    spans: Spans = ()
    front: bool = False
    fenced: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A hunk made ready to show; `number` counts from 1, on through all files, as `apply --hunks` takes it.

    `file` is the path in the skill's folder, `first` tells whether it is the first hunk of that file.
    """

    hunk: Hunk
    rows: tuple[Row, ...]
    number: int
    file: str = SKILL_FILE
    first: bool = False

    @property
    def place(self) -> str:
        """Say which part of the document it changes: front matter, body, or both; or which other file."""
        if self.file != SKILL_FILE:
            return self.file
        changed = {row.front for row in self.rows if row.line.kind is not Kind.SAME}
        if changed == {True}:
            return "front matter"
        return "front matter and body" if True in changed else "body"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """All hunks between two texts, with the number of lines added and removed."""

    parts: tuple[Part, ...]
    added: int
    removed: int

    def find_file(self, number: int) -> frozenset[int]:
        """Return the numbers of all hunks in the file of this one."""
        file = next((part.file for part in self.parts if part.number == number), "")
        return frozenset(part.number for part in self.parts if part.file == file)


def compare(base: str, text: str, context: int = CONTEXT) -> Difference:
    """Return what changes when `base` becomes `text`; no parts when they are equal.

    The hunks, and so their numbers, are those of the staging wing, which carries out the choice. `context`
    is how many unchanged lines are shown around each.
    """
    return compare_files([(SKILL_FILE, base, text)], context)


def compare_proposal(proposal: Proposal, text: str | None = None, context: int = CONTEXT) -> Difference:
    """Return the change of a proposal in all its files; `text` takes the place of its SKILL.md."""
    files = [(SKILL_FILE, proposal.base_text, proposal.text if text is None else text)]
    files += [(file.name, file.base_text or "", file.text or "") for file in proposal.files]
    return compare_files(files, context)


def compare_files(files: Sequence[tuple[str, str, str]], context: int = CONTEXT) -> Difference:
    """Return what changes in several files, each as (path, before, after)."""
    parts: list[Part] = []
    for name, base, text in files:
        markdown = name.endswith(".md")
        front = (_count_front_lines(base), _count_front_lines(text)) if name == SKILL_FILE else (0, 0)
        fenced = (find_fenced(base), find_fenced(text)) if markdown else (frozenset[int](), frozenset[int]())
        cut = hunks(base, text)
        shown = cut if context == CONTEXT else _widen(cut, base, text, context)
        parts += [
            Part(
                hunk=hunk,
                rows=tuple(_rows(hunk.lines, front, fenced)),
                number=len(parts) + index + 1,
                file=name,
                first=not index,
            )
            for index, hunk in enumerate(shown)
        ]
    kinds = [row.line.kind for part in parts for row in part.rows]
    return Difference(parts=tuple(parts), added=kinds.count(Kind.ADDED), removed=kinds.count(Kind.REMOVED))


def _widen(cut: Sequence[Hunk], base: str, text: str, context: int) -> list[Hunk]:
    """Return the same hunks with other context around them; they never reach into one another."""
    old = base.split("\n")
    if old and not old[-1]:
        old.pop()
    changed = [[index for index, line in enumerate(hunk.lines) if line.kind is not Kind.SAME] for hunk in cut]
    widened = []
    floor = 0
    for number, hunk in enumerate(cut):
        first, last = changed[number][0], changed[number][-1]
        inner = list(hunk.lines[first : last + 1])
        before = list(hunk.lines[:first])
        after = list(hunk.lines[last + 1 :])
        top = _old_before(hunk, first)
        bottom = top + sum(line.kind is not Kind.ADDED for line in inner)
        shift_top = _shift(before, after, hunk)
        shift_bottom = shift_top + sum(
            (line.kind is Kind.ADDED) - (line.kind is Kind.REMOVED) for line in inner
        )
        ceiling = _old_before(cut[number + 1], changed[number + 1][0]) if number + 1 < len(cut) else len(old)
        start = max(floor, top - context)
        end = min(bottom + context, max(ceiling - (context if number + 1 < len(cut) else 0), bottom))
        lines = [
            *(_same(old, at, shift_top, text) for at in range(start, top)),
            *inner,
            *(_same(old, at, shift_bottom, text) for at in range(bottom, end)),
        ]
        olds = [line for line in lines if line.kind is not Kind.ADDED]
        news = [line for line in lines if line.kind is not Kind.REMOVED]
        widened.append(
            replace(
                hunk,
                old_start=(olds[0].old or 0) if olds else hunk.old_start,
                old_count=len(olds),
                new_start=(news[0].new or 0) if news else hunk.new_start,
                new_count=len(news),
                lines=tuple(lines),
            )
        )
        floor = end
    return widened


def _old_before(hunk: Hunk, first: int) -> int:
    """Return how many lines of the old text lie before the hunk's first changed one."""
    start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
    return start + sum(line.kind is not Kind.ADDED for line in hunk.lines[:first])


def _shift(before: Sequence[Line], after: Sequence[Line], hunk: Hunk) -> int:
    """Return by how much line numbers before the change differ between both texts."""
    if before:
        return (before[0].new or 0) - (before[0].old or 0)
    old = hunk.old_start if hunk.old_count else hunk.old_start + 1
    new = hunk.new_start if hunk.new_count else hunk.new_start + 1
    return new - old


def _same(old: Sequence[str], at: int, shift: int, text: str) -> Line:
    last = at == len(old) - 1
    return Line(Kind.SAME, old[at], at + 1, at + 1 + shift, ended=not last or text.endswith("\n"))


def _rows(
    lines: Sequence[Line], fronts: tuple[int, int], fenced: tuple[frozenset[int], frozenset[int]]
) -> Iterator[Row]:
    spans = _mark_words(lines)
    for index, line in enumerate(lines):
        front = line.old <= fronts[0] if line.old is not None else (line.new or 0) <= fronts[1]
        inside = line.new in fenced[1] if line.new is not None else line.old in fenced[0]
        yield Row(line=line, spans=spans.get(index, ()), front=front, fenced=inside)


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
