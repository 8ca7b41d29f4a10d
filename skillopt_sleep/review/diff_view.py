"""The diff: hunks that can be walked through and chosen, laid out once and drawn where they are looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from skillopt_sleep.records import EditEvidence
from skillopt_sleep.review.difference import Difference, Part
from skillopt_sleep.review.drawing import (
    SPLIT_FROM,
    Block,
    Drawn,
    Piece,
    draw_head,
    draw_reasons,
    lay_out_rows,
)

LAYOUTS = ("auto", "unified", "split")
# More than any screen shows, and little to keep.
_MOST_DRAWN = 2_000


class DiffView(ScrollView, can_focus=True):
    """A diff with line numbers, signs and changed words; `current` is the hunk that keys act on.

    `left_out` holds the numbers of the hunks the user does not want, `split` how rows are set out.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"diff--{name}"
        for name in (
            *("same", "removed", "added", "removed-word", "added-word", "removed-gutter", "added-gutter"),
            *("gutter", "head", "head-current", "bar", "why", "left-out", "note", "file"),
            *(f"syntax-{kind}" for kind in ("heading", "code", "mark", "strong", "link", "field")),
        )
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "Bottom", show=False),
        Binding("ctrl+d", "page_down", "Page down", show=False),
        Binding("ctrl+u", "page_up", "Page up", show=False),
    ]

    current: reactive[int] = reactive(1)
    left_out: reactive[frozenset[int]] = reactive(frozenset())
    split: reactive[str] = reactive("auto")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.difference: Difference | None = None
        self._edits: Sequence[EditEvidence] = ()
        self._blocks: list[Block] = []
        # Where each block begins, and where the last one ends.
        self._tops: list[int] = [0]
        self._drawn: dict[int, list[Drawn]] = {}
        self._starts: dict[int, int] = {}
        self._styles: dict[tuple[str, ...], Style] = {}
        self._laid_for = 0

    def display_difference(
        self,
        difference: Difference,
        edits: Sequence[EditEvidence],
        left_out: frozenset[int],
        *,
        stay: bool = False,
    ) -> None:
        """Show a change with these hunks left out, from its top or, with `stay`, from the current hunk on."""
        self.difference, self._edits = difference, edits
        if not stay or self.current > len(difference.parts):
            self.set_reactive(DiffView.current, 1)
        self.set_reactive(DiffView.left_out, left_out)
        self._lay_out()
        top = self._starts.get(self.current, 0) if stay else 0
        self.scroll_to(y=top, animate=False, immediate=True)

    @property
    def is_split(self) -> bool:
        """Tell whether rows are set side by side now."""
        wide = self.scrollable_content_region.width >= SPLIT_FROM
        return self.split == "split" or (self.split == "auto" and wide)

    def move(self, step: int) -> None:
        """Make the next (1) or previous (-1) hunk the current one and bring it into view."""
        if self.difference and self.difference.parts:
            self.current = max(1, min(len(self.difference.parts), self.current + step))
            top = self._starts[self.current]
            self.scroll_to(y=top, animate=False, immediate=True)

    def toggle(self, numbers: frozenset[int] | None = None) -> None:
        """Leave these hunks (None: the current one) out, or take them back in if all of them are out."""
        if self.difference and self.difference.parts:
            wanted = frozenset({self.current}) if numbers is None else numbers
            self.left_out = self.left_out - wanted if wanted <= self.left_out else self.left_out | wanted

    def watch_current(self) -> None:
        self.refresh()

    def watch_left_out(self) -> None:
        self._lay_out()

    def watch_split(self) -> None:
        self._lay_out()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        top, bottom = round(new_value), round(new_value) + self.scrollable_content_region.height
        if self._blocks:
            first, last = self._find(top), self._find(min(bottom, self._tops[-1]) - 1)
            seen = {block.part for block in self._blocks[first : last + 1]}
            if seen and self.current not in seen:
                self.current = min(seen)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}

    def on_resize(self, event: Resize) -> None:
        if self.scrollable_content_region.width != self._laid_for:
            self._lay_out()

    def on_click(self, event: Click) -> None:
        place = event.y + round(self.scroll_offset.y)
        if place < self._tops[-1] and self._starts:
            self.current = self._blocks[self._find(place)].part
            if place == self._starts[self.current]:
                self.toggle()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        place = y + round(self.scroll_offset.y)
        if place >= self._tops[-1]:
            return Strip.blank(width, self._style("same"))
        line = self._look_up(place)
        active = line.part == self.current and line.tone != "gap"
        tone = "same" if line.tone == "gap" else line.tone
        if tone == "head" and active:
            tone = "head-current"
        base = self._style(tone)
        bar = Segment("▌" if active else " ", self._style(tone, "bar") if active else base)
        if line.right is None:
            segments = [bar, *self._dress(line.pieces, tone)]
            return Strip(segments).adjust_cell_length(width, base)
        half = (width - 2) // 2
        left = Strip([bar, *self._dress(line.pieces, tone)]).adjust_cell_length(half + 1, base)
        between = Strip([Segment("│", self._style("same", "gutter"))])
        right = Strip(self._dress(line.right.pieces, line.right.tone))
        rest = width - half - 2
        return Strip.join([left, between, right.adjust_cell_length(rest, self._style(line.right.tone))])

    def _dress(self, pieces: Sequence[Piece], tone: str) -> list[Segment]:
        return [Segment(piece.text, self._style(tone, *piece.names)) for piece in pieces if piece.text]

    def _style(self, *names: str) -> Style:
        if names not in self._styles:
            visual = self.get_visual_style(*(f"diff--{name}" for name in names))
            self._styles[names] = visual.rich_style
        return self._styles[names]

    def _find(self, place: int) -> int:
        """Return the block that a line lies in."""
        return max(0, min(bisect_right(self._tops, place) - 1, len(self._blocks) - 1))

    def _look_up(self, place: int) -> Drawn:
        block = self._find(place)
        if block not in self._drawn:
            if len(self._drawn) >= _MOST_DRAWN:
                self._drawn = {}
            self._drawn[block] = self._blocks[block].draw()
        return self._drawn[block][place - self._tops[block]]

    def _lay_out(self) -> None:
        """Find out how many lines everything takes; what they hold is drawn when it is looked at."""
        width = self.scrollable_content_region.width
        self._laid_for = width
        self._blocks, self._drawn, self._starts, self._tops = [], {}, {}, [0]
        if width and self.difference:
            if not self.difference.parts:
                note = Piece(" The text does not change.", ("note",))
                self._add(_make_block([Drawn(0, (note,), "same")]))
            for part in self.difference.parts:
                self._starts[part.number] = self._tops[-1]
                self._lay_out_part(part, width)
        self.virtual_size = Size(width, self._tops[-1])
        self.refresh()

    def _lay_out_part(self, part: Part, width: int) -> None:
        out = part.number in self.left_out
        total = len(self.difference.parts) if self.difference else 0
        head = [draw_head(part, total, width, out=out), *draw_reasons(part, self._edits, width)]
        self._add(_make_block(head))
        for block in lay_out_rows(part, width, split=self.is_split, out=out):
            self._add(block)
        self._add(_make_block([Drawn(part.number, (), "gap")]))

    def _add(self, block: Block) -> None:
        self._blocks.append(block)
        self._tops.append(self._tops[-1] + block.height)


def _make_block(lines: list[Drawn]) -> Block:
    return Block(lines[0].part, len(lines), lambda: lines)
