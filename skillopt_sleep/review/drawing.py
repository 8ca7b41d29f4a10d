"""Hunks as lines of a given width, unified or side by side: what the diff view puts on the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace
from rich.cells import cell_len

from skillopt_sleep.records import EditEvidence
from skillopt_sleep.review.difference import Part, Row
from skillopt_sleep.review.provenance import find_edits
from skillopt_sleep.review.syntax import Marks, mark_line
from skillopt_sleep.review.visible import show, show_line
from skillopt_sleep.review.wording import say_origin
from skillopt_sleep.review.words import Spans
from skillopt_sleep.review.wrapping import clip, find_hang, wrap
from skillopt_staging.hunks import Kind

TONES = {Kind.SAME: "same", Kind.REMOVED: "removed", Kind.ADDED: "added"}
SPLIT_FROM = 110
_NARROW = 60
# As much of a session's id as tells it apart; the evidence page has the whole.
_SESSION = 8


class Piece(NamedTuple):
    """A stretch of a line: `names` are the component classes laid over the line's tone."""

    text: str
    names: tuple[str, ...] = ()


class Half(NamedTuple):
    """One side of a line drawn side by side: its pieces over a tone of its own."""

    pieces: tuple[Piece, ...]
    tone: str


class Drawn(NamedTuple):
    """One line on the screen: which hunk it belongs to, its pieces, and the right half where it has one."""

    part: int
    pieces: tuple[Piece, ...]
    tone: str
    right: Half | None = None


def draw_head(part: Part, total: int, width: int, *, out: bool) -> Drawn:
    """Return the line above a hunk: its box, its number, and what it changes."""
    title = f" {'[ ]' if out else '[x]'} hunk {part.number} of {total} · {show_line(part.place)}"
    title += " · left out" if out else ""
    room = width - cell_len(title) - len(part.hunk.header) - 2
    end = " " * room + part.hunk.header if room >= 2 else ""
    return Drawn(part.number, (Piece(title), Piece(end, ("gutter",))), "head")


def draw_reasons(part: Part, edits: Sequence[EditEvidence], width: int) -> Iterator[Drawn]:
    """Yield the user's own words that stand behind a hunk, a line each."""
    for edit in find_edits(part.hunk, edits):
        for quote in edit.quotes:
            source = f"  {show_line(say_origin(replace(quote, session=quote.session[:_SESSION])))}"
            lead = "   you said “"
            room = width - len(lead) - 3 - len(source)
            if room < 12:
                room, source = width - len(lead) - 3, ""
            text = clip(show_line(quote.quote), max(room, 8))
            pieces = (Piece(f"{lead}{text}”", ("why",)), Piece(source, ("gutter",)))
            yield Drawn(part.number, pieces, "same")


class Block(NamedTuple):
    """Some lines of a hunk that are drawn together, when somebody looks at them; `height` is known before."""

    part: int
    height: int
    draw: Callable[[], list[Drawn]]


def lay_out_rows(part: Part, width: int, *, split: bool, out: bool) -> Iterator[Block]:
    """Yield the rows of a hunk as blocks, `split` side by side."""
    end = max(part.hunk.old_start + part.hunk.old_count, part.hunk.new_start + part.hunk.new_count)
    digits = max(len(str(end)), 3)
    if not split:
        for row in part.rows:
            gutter = _count_off(row, digits, width)
            height = _measure(row, width, gutter)
            yield Block(part.number, height, partial(_draw_unified, part.number, row, width, gutter, out=out))
        return
    half = (width - 2) // 2
    for pair in pair_rows(part.rows):
        gutters = tuple(_number(row, digits, old=not side) if row else "" for side, row in enumerate(pair))
        height = max(
            _measure(row, half, gutter) if row else 1 for row, gutter in zip(pair, gutters, strict=True)
        )
        yield Block(part.number, height, partial(_draw_split, part.number, pair, half, gutters, out=out))


def _draw_unified(number: int, row: Row, width: int, gutter: str, *, out: bool) -> list[Drawn]:
    return [Drawn(number, pieces, tone) for pieces, tone in _draw_row(row, width, gutter, out=out)]


def _draw_split(
    number: int,
    pair: tuple[Row | None, Row | None],
    half: int,
    gutters: tuple[str, ...],
    *,
    out: bool,
) -> list[Drawn]:
    """Draw both halves; the bar of the current hunk stands left of them, a line between them."""
    sides = [
        list(_draw_row(row, half, gutter, out=out)) if row else []
        for row, gutter in zip(pair, gutters, strict=True)
    ]
    drawn = []
    for place in range(max(map(len, sides))):
        old, new = (side[place] if place < len(side) else ((), "same") for side in sides)
        drawn.append(Drawn(number, old[0], old[1], Half(*new)))
    return drawn


def _measure(row: Row, width: int, gutter: str) -> int:
    """Return how many lines a row takes, without drawing it."""
    text = row.line.text
    room = width - 1 - len(gutter) - 2
    extra = 0 if row.line.ended else 1
    if len(text) <= room and text.isascii() and text.isprintable():
        return 1 + extra
    shown = show(text.removesuffix("\r") if row.line.kind is Kind.SAME else text)
    return len(wrap(shown, room, find_hang(shown, room))) + extra


def pair_rows(rows: Sequence[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """Yield rows side by side: what was removed left of what was added in its place."""
    removed: list[Row] = []
    added: list[Row] = []
    for row in rows:
        if row.line.kind is Kind.REMOVED and added:
            yield from _line_up(removed, added)
            removed, added = [], []
        if row.line.kind is Kind.REMOVED:
            removed.append(row)
        elif row.line.kind is Kind.ADDED:
            added.append(row)
        else:
            yield from _line_up(removed, added)
            removed, added = [], []
            yield row, row
    yield from _line_up(removed, added)


def _line_up(removed: Sequence[Row], added: Sequence[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    for index in range(max(len(removed), len(added))):
        yield (
            removed[index] if index < len(removed) else None,
            added[index] if index < len(added) else None,
        )


def _count_off(row: Row, digits: int, width: int) -> str:
    line = row.line
    numbers = [f"{value or '':>{digits}}" for value in (line.old, line.new)]
    if width < _NARROW:
        numbers = [numbers[0] if line.new is None else numbers[1]]
    return f" {' '.join(numbers)} "


def _number(row: Row, digits: int, *, old: bool) -> str:
    return f" {(row.line.old if old else row.line.new) or '':>{digits}} "


def _draw_row(row: Row, width: int, gutter: str, *, out: bool) -> Iterator[tuple[tuple[Piece, ...], str]]:
    line = row.line
    tone = "left-out" if out and line.kind is not Kind.SAME else TONES[line.kind]
    sign = line.kind.value
    room = width - 1 - len(gutter) - 2
    # A line that stays may keep the line end of its file unseen; a changed one may not.
    raw = line.text.removesuffix("\r") if line.kind is Kind.SAME else line.text
    marks = () if out else mark_line(raw, front=row.front, fenced=row.fenced)
    text, spans, marks = _make_visible(raw, row.spans, marks)
    hang = find_hang(text, room)
    plain = line.kind is Kind.SAME or out
    edge = () if plain else (f"{tone}-gutter",)
    for index, (start, end) in enumerate(wrap(text, room, hang)):
        shown = gutter if not index else " " * len(gutter)
        pieces = [
            Piece(shown, ("gutter",) if plain else edge),
            Piece(f"{sign} " + " " * hang * bool(index), edge),
        ]
        pieces += _cut(text, start, end, () if out else spans, marks, tone)
        yield tuple(pieces), tone
    if not line.ended:
        lead = " " * (len(gutter) + 2)
        yield (Piece(f"{lead}(no line end after this line)", ("note",)),), tone


def _make_visible(text: str, spans: Spans, marks: Marks) -> tuple[str, Spans, Marks]:
    shown = show(text)
    if shown == text:
        return text, spans, marks
    # Signs are longer than what they stand for, so that every place behind them moves.
    places = [0]
    for character in text:
        places.append(places[-1] + len(show(character)))
    moved = tuple((places[start], places[end]) for start, end in spans)
    return shown, moved, tuple((places[start], places[end], kind) for start, end, kind in marks)


def _cut(text: str, start: int, end: int, spans: Spans, marks: Marks, tone: str) -> Iterator[Piece]:
    """Yield the text from start to end in pieces of one look each."""
    if not spans and not marks:
        if start < end:
            yield Piece(text[start:end])
        return
    places = [edge for low, high in spans for edge in (low, high)]
    places += [edge for low, high, _ in marks for edge in (low, high)]
    ordered = sorted({start, end, *(edge for edge in places if start < edge < end)})
    for low, high in pairwise(ordered):
        names = [f"syntax-{kind}" for first, last, kind in marks if first <= low < last]
        if any(first <= low < last for first, last in spans):
            names.append(f"{tone}-word")
        yield Piece(text[low:high], tuple(names))
