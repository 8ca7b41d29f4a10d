"""The evidence for a proposal, as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content

from skillopt_gate.verdicts import Decision
from skillopt_sleep.records import EditEvidence, Proposal
from skillopt_sleep.review.charts import draw_growth, draw_interval, draw_tallies
from skillopt_sleep.review.difference import Part
from skillopt_sleep.review.pages import LABEL, Page
from skillopt_sleep.review.provenance import find_edits
from skillopt_sleep.review.visible import show_line
from skillopt_sleep.review.wording import (
    BRANCHLESS,
    CHANGES,
    count,
    say_cost,
    say_counts,
    say_effect,
    say_interval,
    say_mode,
    say_needed,
    say_origin,
    say_place,
    say_sample,
    say_state,
    say_tokens,
    say_wealth,
    tell_reason,
)

TONES = {Decision.ACCEPT: "$success", Decision.REJECT: "$error", Decision.NOT_ENOUGH: "$warning"}
_SIGNS = {"add": "+", "insert_after": "+", "replace": "+", "delete": "-"}
_MOST_NIGHTS = 12


def write_evidence(proposal: Proposal, width: int, part: Part | None = None, total: int = 0) -> Content:
    """Return the page: the verdict, its numbers, the edits with the user's words, and what was used.

    What stands behind one of `total` hunks, if there are several, comes first.
    """
    page = Page(width)
    if part is not None and total > 1:
        _write_hunk(page, proposal, part, total)
    _write_verdict(page, proposal)
    _write_numbers(page, proposal)
    _write_edits(page, proposal.note.edits)
    _write_means(page, proposal)
    return page.content


def _write_hunk(page: Page, proposal: Proposal, part: Part, total: int) -> None:
    page.heading(f"Hunk {part.number} of {total}: {show_line(part.place)}")
    found = find_edits(part.hunk, proposal.note.edits)
    _list_edits(page, found)
    if not found:
        page.paragraph("No edit of the optimizer's matches this hunk.", "$foreground-muted")
    counts = Counter(task.change for task in proposal.note.tasks)
    told = ", ".join(f"{counts[change]} {change}" for change in CHANGES if counts[change])
    if told:
        page.paragraph(
            f"Tasks, run with all hunks together: {told}. Key 3 shows each, before and after.",
            "$foreground-muted",
        )


def _write_verdict(page: Page, proposal: Proposal) -> None:
    verdict = proposal.note.verdict
    page.heading("Verdict")
    page.paragraph(f"{verdict.decision.value}: {tell_reason(verdict)}", f"bold {TONES[verdict.decision]}")
    page.paragraph(say_mode(verdict.mode), "$foreground-muted")


def _write_numbers(page: Page, proposal: Proposal) -> None:
    note, verdict = proposal.note, proposal.note.verdict
    room = page.width - LABEL
    page.heading("Numbers")
    page.value(
        "gain", f"{say_effect(verdict.effect)} per task, 95 % interval {say_interval(verdict.interval)}"
    )
    scale = min(room - 6, 51)
    if scale >= 15:
        drawn = draw_interval(verdict.effect, verdict.interval, scale - 1 + scale % 2)
        page.drawing(
            "", ("−1 ", "$foreground-muted"), (drawn, TONES[verdict.decision]), (" +1", "$foreground-muted")
        )
    page.value("tonight", f"{say_sample(verdict)}: {say_counts(verdict)}")
    better, worse, same = draw_tallies(verdict.wins, verdict.losses, verdict.ties, min(room, 60))
    if better or worse or same:
        page.drawing("", (better, "$success"), (worse, "$error"), (same, "$foreground-muted"))
    needed = say_needed(note.policy, verdict)
    if verdict.mode == "one-night":
        page.value("p-value", f"{verdict.p_value:.3g}, accepted below {verdict.level:g}")
    elif verdict.mode == "evidence":
        page.value("evidence", f"{say_wealth(verdict.wealth)}, accepted from {needed}")
        _write_growth(page, proposal)
    if verdict.n_all > verdict.n:
        page.value(
            "all nights", f"{say_effect(verdict.effect_all)} per task on {count(verdict.n_all, 'task')}"
        )
    if verdict.missing:
        page.value("not run", count(len(verdict.missing), "task"), "$warning")
    if verdict.broken:
        page.value("broken", ", ".join(verdict.broken), "$error")
    for veto in verdict.vetoes:
        page.value("in the way", veto, "$error")
    if verdict.guarantee:
        page.value("what holds", verdict.guarantee)
    if note.noise:
        page.value("noise", note.noise.removeprefix("noise here: "))
    if note.looks:
        sealed = f", {count(note.sealed, 'task')} sealed then" if note.sealed else ""
        page.value("looks", f"{count(note.looks, 'look')} at the held-out tasks{sealed}")
    page.value("cost", f"{say_cost(note.usage)}, {say_tokens(note.usage.tokens)} tokens")


def _write_growth(page: Page, proposal: Proposal) -> None:
    wealth, level = proposal.note.wealth, proposal.note.verdict.level
    if not wealth or level <= 0:
        return
    shown = wealth[-_MOST_NIGHTS:]
    first = len(wealth) - len(shown) + 1
    width = max(min(page.width - LABEL - 20, 36), 8)
    for night, (value, bar) in enumerate(
        zip(shown, draw_growth(shown, 1 / level, width), strict=True), first
    ):
        tone = "$success" if value >= 1 / level else "$primary"
        page.drawing(
            "", (f"night {night:<3}", "$foreground-muted"), (bar, tone), (f" {say_wealth(value)}", "")
        )


def _write_edits(page: Page, edits: tuple[EditEvidence, ...]) -> None:
    if not edits:
        return
    page.heading("What changes, and why")
    _list_edits(page, edits)


def _list_edits(page: Page, edits: Sequence[EditEvidence]) -> None:
    for index, edit in enumerate(edits):
        if index:
            page.gap()
        if edit.target and edit.op != "add":
            page.paragraph(edit.target, "$foreground-muted", lead="  " if edit.op == "insert_after" else "- ")
        if edit.content:
            page.paragraph(edit.content, lead=f"{_SIGNS.get(edit.op, '+')} ")
        for quote in edit.quotes:
            page.paragraph(f"“{quote.quote}”", "italic $accent", 2, "you: ")
            page.paragraph(say_origin(quote), "$foreground-muted", 7)
        if not edit.quotes and edit.sessions:
            page.paragraph(f"from sessions {', '.join(edit.sessions)}", "$foreground-muted", 2)


def _write_means(page: Page, proposal: Proposal) -> None:
    note = proposal.note
    if note.reasoning:
        page.heading("The optimizer's reasoning")
        page.paragraph(note.reasoning)
    page.heading("Where it comes from")
    if proposal.title:
        page.value("about", proposal.title)
    page.value("state", say_state(proposal))
    page.value("night", f"{note.night}, {proposal.created}")
    page.value("target", note.target)
    page.value("optimizer", note.optimizer)
    if note.sandbox:
        page.value("sandbox", note.sandbox)
    if proposal.state not in BRANCHLESS:
        page.value("branch", f"{proposal.staged.branch} ({proposal.staged.commit[:10]})")
    page.value("repository", say_place(proposal.staged.repository))
    page.value("file", say_place(proposal.staged.live))
