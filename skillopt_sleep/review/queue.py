"""The list of proposals on the left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from skillopt_gate.verdicts import Decision
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.visible import show_line
from skillopt_sleep.review.wording import BADGES, WAITING, say_age, say_cost, say_effect, say_interval
from skillopt_sleep.review.wrapping import wrap
from skillopt_staging.proposals import State

TONES = {Decision.ACCEPT: "$success", Decision.REJECT: "$error", Decision.NOT_ENOUGH: "$warning"}
_STATES = {
    State.PENDING: "",
    State.SNOOZED: "snoozed",
    State.APPLIED: "applied",
    State.REJECTED: "rejected",
    State.REVERTED: "reverted",
    State.RETIRED: "retired",
}
# What is left for an entry beside the border, the padding and a scrollbar, in cells (see review.tcss).
_ROOM = 31


class Queue(OptionList):
    """Proposals, those that wait first; `compact` gives each a single line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
    ]

    def on_resize(self, event: Resize) -> None:
        # Where rows are few it shrinks to one while the details are read: the highlighted one.
        self.call_after_refresh(self.scroll_to_highlight)

    def fill(
        self, proposals: Sequence[Proposal], now: datetime, *, select: str | None, one_line: bool
    ) -> None:
        """Show these proposals and highlight `select`, else the one highlighted before, else the first."""
        before = self.highlighted_option
        wanted = select or (before.id if before else None)
        self.clear_options()
        entries: list[Option | None] = []
        for proposal in proposals:
            if entries and not one_line:
                entries.append(None)  # a line between two
            entries.append(Option(describe(proposal, now, one_line=one_line), id=proposal.id))
        # All at once: the list measures itself anew after every addition.
        self.add_options(entries)
        places = {proposal.id: index for index, proposal in enumerate(proposals)}
        if proposals:
            self.highlighted = places.get(wanted or "", 0)


def describe(proposal: Proposal, now: datetime, *, one_line: bool) -> Content:
    """Return a proposal's entry: skill, verdict, gain with interval, client, cost and age."""
    verdict = proposal.note.verdict
    waiting = proposal.state in WAITING
    sign, word = BADGES[verdict.decision].split(" ", 1)
    tone = TONES[verdict.decision] if waiting else "$foreground-muted"
    name = show_line(proposal.skill)
    state = _STATES[proposal.state]
    effect = say_effect(verdict.effect)
    age = say_age(proposal.created, now)
    client = show_line(proposal.client)
    name_style = "bold" if waiting else "$foreground-muted"
    if one_line:
        tail = f"  {client} · {state or age}"
        return Content.assemble(
            (f"{sign} ", tone), (name, name_style), (f"  {effect}", tone), (tail, "$foreground-muted")
        )
    apart = "\n  " if cell_len(f"  {name}  {state}") > _ROOM else "  "
    facts = f"{client} · {say_cost(proposal.note.usage)} · {age}"
    return Content.assemble(
        (f"{sign} ", tone),
        (_hang(name), name_style),
        (f"{apart}{state}" if state else "", "italic $accent"),
        "\n  ",
        (f"{word} ", tone),
        (f"{effect} {say_interval(verdict.interval)}", "" if waiting else "$foreground-muted"),
        "\n  ",
        (_hang(facts), "$foreground-muted"),
    )


def _hang(text: str) -> str:
    """Return the text cut into lines that stay below each other, past the sign."""
    return "\n  ".join(text[start:end].rstrip() for start, end in wrap(text, _ROOM - 2))
