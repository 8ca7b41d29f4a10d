"""Pages of text with headings, labelled values and hung paragraphs, for a given width."""

from __future__ import annotations

from textual.content import Content

from skillopt_sleep.review.visible import show
from skillopt_sleep.review.wrapping import wrap_paragraphs

LABEL = 12


class Page:
    """Collects a page line by line; every text given to it is shown literally."""

    def __init__(self, width: int) -> None:
        self.width = max(width, 24)
        self._lines: list[Content] = []

    @property
    def content(self) -> Content:
        """Return what was collected."""
        return Content("\n").join(self._lines)

    def heading(self, text: str) -> None:
        """Add a heading, with a blank line before it unless it is the first."""
        if self._lines:
            self.gap()
        self._lines.append(Content.styled(text, "bold $primary"))

    def gap(self) -> None:
        """Add a blank line."""
        self._lines.append(Content(""))

    def value(self, label: str, text: str, style: str = "") -> None:
        """Add a labelled text, wrapped beside its label."""
        for index, line in enumerate(wrap_paragraphs(show(text), self.width - LABEL)):
            name = label if not index else ""
            self._lines.append(Content.assemble((f"{name:<{LABEL}}", "$foreground-muted"), (line, style)))

    def drawing(self, label: str, *pieces: tuple[str, str]) -> None:
        """Add a labelled line of (text, style) pieces as they are."""
        self._lines.append(Content.assemble((f"{label:<{LABEL}}", "$foreground-muted"), *pieces))

    def paragraph(self, text: str, style: str = "", indent: int = 0, lead: str = "") -> None:
        """Add text after `lead`, wrapped and indented below itself."""
        margin = indent + len(lead)
        for index, line in enumerate(wrap_paragraphs(show(text), self.width - margin)):
            start = " " * indent + lead if not index else " " * margin
            self._lines.append(Content.assemble((start, "$foreground-muted"), (line, style)))
