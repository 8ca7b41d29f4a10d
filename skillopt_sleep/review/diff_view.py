"""The diff: hunks that can be walked through and chosen, drawn line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from skillopt_sleep.records import EditEvidence
from skillopt_sleep.review.difference import Difference, Part, Row
from skillopt_sleep.review.provenance import find_edits
from skillopt_sleep.review.visible import show, show_line
from skillopt_sleep.review.wording import say_origin
from skillopt_sleep.review.words import Spans
from skillopt_sleep.review.wrapping import clip, find_hang, wrap
from skillopt_staging.hunks import Kind

_TONES = {Kind.SAME: "same", Kind.REMOVED: "removed", Kind.ADDED: "added"}
_NARROW = 60
# As much of a session's id as tells it apart; the evidence page has the whole.
_SESSION = 8


class Drawn(NamedTuple):
    """One line on the screen: which hunk it belongs to, and its pieces as (text, component class)."""

    part: int
    pieces: tuple[tuple[str, str], ...]
    tone: str


class DiffView(ScrollView, can_focus=True):
    """A unified diff with line numbers, signs and changed words; `current` is the hunk that keys act on.

    `left_out` holds the numbers of the hunks the user does not want.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"diff--{name}"
        for name in (
            *("same", "removed", "added", "removed-word", "added-word", "removed-gutter", "added-gutter"),
            *("gutter", "head", "head-current", "bar", "why", "left-out", "note"),
        )
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "Bottom", show=False),
    ]

    current: reactive[int] = reactive(1)
    left_out: reactive[frozenset[int]] = reactive(frozenset())

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.difference: Difference | None = None
        self._edits: Sequence[EditEvidence] = ()
        self._lines: list[Drawn] = []
        self._starts: dict[int, int] = {}
        self._laid_for = 0

    def display_difference(
        self, difference: Difference, edits: Sequence[EditEvidence], left_out: frozenset[int]
    ) -> None:
        """Show a change from its top, with these hunks left out."""
        self.difference, self._edits = difference, edits
        self.set_reactive(DiffView.current, 1)
        self.set_reactive(DiffView.left_out, left_out)
        self._lay_out()
        self.scroll_to(y=0, animate=False, immediate=True)

    def move(self, step: int) -> None:
        """Make the next (1) or previous (-1) hunk the current one and bring it into view."""
        if self.difference and self.difference.parts:
            self.current = max(1, min(len(self.difference.parts), self.current + step))
            top = self._starts[self.current]
            self.scroll_to(y=top, animate=False, immediate=True)

    def toggle(self) -> None:
        """Leave the current hunk out, or take it back in."""
        if self.difference and self.difference.parts:
            self.left_out = self.left_out ^ {self.current}

    def watch_current(self) -> None:
        self.refresh()

    def watch_left_out(self) -> None:
        self._lay_out()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        top, bottom = round(new_value), round(new_value) + self.scrollable_content_region.height
        seen = {line.part for line in self._lines[top:bottom]}
        if seen and self.current not in seen:
            self.current = min(seen)

    def on_resize(self, event: Resize) -> None:
        if self.scrollable_content_region.width != self._laid_for:
            self._lay_out()

    def on_click(self, event: Click) -> None:
        place = event.y + round(self.scroll_offset.y)
        if place < len(self._lines):
            self.current = self._lines[place].part
            if place == self._starts[self.current]:
                self.toggle()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        place = y + round(self.scroll_offset.y)
        if place >= len(self._lines):
            return Strip.blank(width, self._style("same"))
        line = self._lines[place]
        active = line.part == self.current and line.tone != "gap"
        tone = "same" if line.tone == "gap" else line.tone
        if tone == "head" and active:
            tone = "head-current"
        base = self._style(tone)
        segments = [Segment("▌" if active else " ", self._style(tone, "bar") if active else base)]
        for text, name in line.pieces:
            segments.append(Segment(text, self._style(tone, name) if name else base))
        return Strip(segments).adjust_cell_length(width, base)

    def _style(self, *names: str) -> Style:
        return self.get_visual_style(*(f"diff--{name}" for name in names)).rich_style

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._laid_for = width
        self._lines, self._starts = [], {}
        if width and self.difference:
            if not self.difference.parts:
                self._lines.append(Drawn(0, ((" The text does not change.", "note"),), "same"))
            for part in self.difference.parts:
                self._starts[part.number] = len(self._lines)
                self._lines += self._draw(part, width)
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def _draw(self, part: Part, width: int) -> Iterator[Drawn]:
        out = part.number in self.left_out
        total = len(self.difference.parts) if self.difference else 0
        box = "[ ]" if out else "[x]"
        title = f" {box} hunk {part.number} of {total} · {part.place}" + (" · left out" if out else "")
        room = width - len(title) - len(part.hunk.header) - 2
        end = " " * room + part.hunk.header if room >= 2 else ""
        yield Drawn(part.number, ((title, ""), (end, "gutter")), "head")
        for edit in find_edits(part.hunk, self._edits):
            yield from self._draw_reasons(part.number, edit, width)
        numbers = len(
            str(max(part.hunk.old_start + part.hunk.old_count, part.hunk.new_start + part.hunk.new_count))
        )
        for row in part.rows:
            yield from self._draw_row(part.number, row, width, max(numbers, 3), out=out)
        yield Drawn(part.number, (), "gap")

    def _draw_reasons(self, number: int, edit: EditEvidence, width: int) -> Iterator[Drawn]:
        for quote in edit.quotes:
            source = f"  {show_line(say_origin(replace(quote, session=quote.session[:_SESSION])))}"
            lead = "   you said “"
            room = width - len(lead) - 3 - len(source)
            if room < 12:
                room, source = width - len(lead) - 3, ""
            text = clip(show_line(quote.quote), max(room, 8))
            yield Drawn(number, ((f"{lead}{text}”", "why"), (source, "gutter")), "same")

    def _draw_row(self, number: int, row: Row, width: int, digits: int, *, out: bool) -> Iterator[Drawn]:
        line = row.line
        tone = "left-out" if out and line.kind is not Kind.SAME else _TONES[line.kind]
        numbers = [f"{value or '':>{digits}}" for value in (line.old, line.new)]
        if width < _NARROW:
            numbers = [numbers[0] if line.new is None else numbers[1]]
        gutter = f" {' '.join(numbers)} "
        sign = line.kind.value
        room = width - 1 - len(gutter) - 2
        # A line that stays may keep the line end of its file unseen; a changed one may not.
        raw = line.text.removesuffix("\r") if line.kind is Kind.SAME else line.text
        text, spans = _make_visible(raw, row.spans)
        hang = find_hang(text, room)
        plain = line.kind is Kind.SAME or out
        for index, (start, end) in enumerate(wrap(text, room, hang)):
            shown = gutter if not index else " " * len(gutter)
            pieces = [
                (shown, "gutter" if plain else f"{tone}-gutter"),
                (f"{sign} " + " " * hang * bool(index), "" if plain else f"{tone}-gutter"),
            ]
            pieces += [
                (piece, f"{tone}-word" if marked and not out else "")
                for piece, marked in _cut(text, start, end, spans)
            ]
            yield Drawn(number, tuple(pieces), tone)
        if not line.ended:
            lead = " " * (len(gutter) + 2)
            yield Drawn(number, ((f"{lead}(no line end after this line)", "note"),), tone)


def _make_visible(text: str, spans: Spans) -> tuple[str, Spans]:
    shown: list[str] = []
    moved: list[tuple[int, int]] = []
    length = 0
    for piece, marked in _cut(text, 0, len(text), spans):
        visible = show(piece)
        shown.append(visible)
        if marked:
            moved.append((length, length + len(visible)))
        length += len(visible)
    return "".join(shown), tuple(moved)


def _cut(text: str, start: int, end: int, spans: Spans) -> Iterator[tuple[str, bool]]:
    place = start
    for low, high in spans:
        low, high = max(low, place), min(high, end)  # noqa: PLW2901 - the part of the span inside the piece
        if low >= high:
            continue
        if place < low:
            yield text[place:low], False
        yield text[low:high], True
        place = high
    if place < end:
        yield text[place:end], False
