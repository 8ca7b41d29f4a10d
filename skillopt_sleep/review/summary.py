"""The lines above the tabs: which skill, which file, and what the gate said."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from skillopt_sleep.invocation import call
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.evidence_page import TONES
from skillopt_sleep.review.visible import show_line
from skillopt_sleep.review.wording import BADGES, WAITING, count, say_place, say_state, tell_reason
from skillopt_sleep.review.wrapping import clip, shorten_path

_COMMANDS = {"run": "run a night", "doctor": "what is found or missing", "demo": "a night on sample data"}


def say_empty() -> Content:
    """Return what is shown where nothing waits: what to do, as the shell that started this takes it."""
    return Content.assemble(
        ("Nothing is waiting for you.\n\n", "bold $primary"),
        "A night reads your transcripts, replays what\nyou keep asking for, and stages what it learned.\n\n",
        *(
            part
            for words, says in _COMMANDS.items()
            for part in (f"{says}:\n", (f"  {call(words)}\n", "$accent"))
        ),
        ("\nq quits", "$foreground-muted"),
    )


class Summary(Static):
    """Shows the summary of one proposal, written anew when its width changes."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id, markup=False)
        self._proposal: Proposal | None = None
        self._written_for = 0

    def display_summary(self, proposal: Proposal) -> None:
        """Show a proposal's summary."""
        self._proposal = proposal
        self._write()

    def on_resize(self, event: Resize) -> None:
        if self.content_region.width != self._written_for:
            self._write()

    def _write(self) -> None:
        self._written_for = self.content_region.width
        if self._proposal and self._written_for:
            self.update(write_summary(self._proposal, self._written_for))


def write_summary(proposal: Proposal, width: int) -> Content:
    """Return the proposal in a few lines: skill, target file, verdict with its sentence, any decision.

    Skill and file take a line of `width` cells each, whatever their length.
    """
    verdict = proposal.note.verdict
    tone = TONES[verdict.decision]
    facts = [proposal.client, proposal.scope, count(verdict.nights, "night")]
    said = "  " + " · ".join(show_line(fact) for fact in facts)
    name = clip(show_line(proposal.skill), max(width - cell_len(said), width // 2))
    place = shorten_path(show_line(say_place(proposal.staged.live)), width - 2)
    pieces: list[tuple[str, str]] = [
        (name, "bold"),
        (clip(said, width - cell_len(name)), "$foreground-muted"),
        (f"\n→ {place}", "$foreground-muted"),
        ("\n", ""),
        (f" {BADGES[verdict.decision].upper()} ", f"bold $background on {tone}"),
        (f" {show_line(tell_reason(verdict))}", ""),
    ]
    if proposal.state not in WAITING:
        pieces.append((f"\n{show_line(say_state(proposal))}", "italic $accent"))
    if proposal.watch:
        pieces.append((f"\n! {show_line(proposal.watch)}; u takes it back", "$warning"))
    if proposal.ungated and proposal.state in WAITING:
        pieces.append((f"\n! not gated as it stands: {show_line(proposal.ungated)}", "$warning"))
    return Content.assemble(*pieces)
