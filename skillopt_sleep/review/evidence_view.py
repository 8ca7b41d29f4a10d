"""The evidence pane: a page that is written anew when its width changes."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widgets import Static

from skillopt_sleep.records import Proposal
from skillopt_sleep.review.difference import Part
from skillopt_sleep.review.evidence_page import write_evidence


class EvidenceView(VerticalScroll, can_focus=True):
    """Shows the evidence of one proposal."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "Bottom", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._proposal: Proposal | None = None
        self._part: Part | None = None
        self._total = 0
        self._written_for = 0

    def compose(self) -> ComposeResult:
        yield Static(id="evidence-page", markup=False)

    def display_evidence(self, proposal: Proposal, part: Part | None = None, total: int = 0) -> None:
        """Show a proposal's evidence from its top, that of one of its `total` hunks first."""
        self._proposal, self._part, self._total = proposal, part, total
        self._write()
        self.scroll_home(animate=False)

    def on_resize(self, event: Resize) -> None:
        if self.scrollable_content_region.width != self._written_for:
            self._write()

    def _write(self) -> None:
        self._written_for = self.scrollable_content_region.width
        if self._proposal and self._written_for:
            page = write_evidence(self._proposal, self._written_for, self._part, self._total)
            self.query_one("#evidence-page", Static).update(page)
