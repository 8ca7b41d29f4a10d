"""The lines above the tabs: which skill, which file, and what the gate said."""

from __future__ import annotations

from textual.content import Content

from skillopt_sleep.records import Proposal
from skillopt_sleep.review.evidence_page import TONES
from skillopt_sleep.review.visible import show_line
from skillopt_sleep.review.wording import BADGES, WAITING, count, say_place, say_state, tell_reason

EMPTY = Content.assemble(
    ("Nothing is waiting for you.\n\n", "bold $primary"),
    "A night reads your transcripts, replays what\nyou keep asking for, and stages what it learned.\n\n",
    ("skillopt-sleep run     ", "$accent"),
    "run a night\n",
    ("skillopt-sleep doctor  ", "$accent"),
    "what is found or missing\n",
    ("skillopt-sleep demo    ", "$accent"),
    "a night on sample data\n\n",
    ("q quits", "$foreground-muted"),
)


def write_summary(proposal: Proposal) -> Content:
    """Return the proposal in a few lines: skill, target file, verdict with its sentence, any decision."""
    verdict = proposal.note.verdict
    tone = TONES[verdict.decision]
    facts = [proposal.client, proposal.scope, count(verdict.nights, "night")]
    pieces: list[tuple[str, str]] = [
        (show_line(proposal.skill), "bold"),
        ("  " + " · ".join(show_line(fact) for fact in facts), "$foreground-muted"),
        (f"\n→ {show_line(say_place(proposal.staged.live))}", "$foreground-muted"),
        ("\n", ""),
        (f" {BADGES[verdict.decision].upper()} ", f"bold $background on {tone}"),
        (f" {show_line(tell_reason(verdict))}", ""),
    ]
    if proposal.state not in WAITING:
        pieces.append((f"\n{show_line(say_state(proposal))}", "italic $accent"))
    return Content.assemble(*pieces)
