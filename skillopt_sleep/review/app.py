"""The review on the terminal: the queue of proposals on the left, the highlighted one on the right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static, TabbedContent, TabPane, Tabs

from skillopt_sleep.records import Proposal
from skillopt_sleep.review.base import read_clock
from skillopt_sleep.review.browsing import Browsing
from skillopt_sleep.review.dialogs import LOW
from skillopt_sleep.review.diff_view import DiffView
from skillopt_sleep.review.difference import Difference, compare_proposal
from skillopt_sleep.review.evidence_view import EvidenceView
from skillopt_sleep.review.keys import ACTIONS, make_bindings
from skillopt_sleep.review.queue import Queue
from skillopt_sleep.review.summary import Summary, say_empty
from skillopt_sleep.review.task_view import TaskView
from skillopt_sleep.review.theme import NIGHT
from skillopt_sleep.review.visible import show_line
from skillopt_sleep.review.wording import WAITING, count

__all__ = ["ReviewApp", "read_clock"]

_WIDE = 90
_TALL = 28


class ReviewApp(Browsing):
    """Shows the desk's proposals and carries decisions to it."""

    TITLE = "SkillOpt-Sleep review"
    CSS_PATH = "review.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 - declared by Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (_TALL, "-tall")]  # noqa: RUF012 - declared by Textual
    BINDINGS: ClassVar[list[BindingType]] = list(make_bindings())
    _one_line = False

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        with Horizontal(id="main"):
            yield Queue(id="queue", markup=False)
            with Vertical(id="detail"):
                yield Summary(id="summary")
                with TabbedContent(id="tabs"):
                    with TabPane("1 Diff", id="diff"):
                        yield DiffView(id="diff-view")
                    with TabPane("2 Evidence", id="evidence"):
                        yield EvidenceView(id="evidence-scroll")
                    with TabPane("3 Tasks", id="tasks"):
                        yield TaskView(id="task-view")
        with Vertical(id="empty"):
            yield Static(say_empty(), id="empty-text", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.register_theme(NIGHT)
        self.theme = NIGHT.name
        self.set_keymap(self.keys)
        # The number keys and brackets switch tabs; a stop on them would only cost a keystroke.
        self.query_one(Tabs).can_focus = False
        self._name_mode()
        self.query_one(Queue).focus()
        self.query_one(DiffView).split = self.diff_layout
        self.watch(self.query_one(DiffView), "left_out", self._keep_choice, init=False)
        self.load()

    def on_resize(self, event: Resize) -> None:
        one_line = event.size.width < _WIDE
        if one_line != self._one_line:
            self._one_line = self.query_one(Footer).compact = one_line
            self.fill_queue(None)
        for screen in self.screen_stack:
            screen.set_class(event.size.height < LOW, "-tiny")
        self._name_mode()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer everything a key does in the command palette too."""
        yield from super().get_system_commands(screen)
        for action in ACTIONS:
            if action.name not in {"palette", "quit"}:
                title = f"{action.group}: {action.name}"
                yield SystemCommand(title, action.says, lambda call=action.call: self._call(call))

    @work(group="palette")
    async def _call(self, call: str) -> None:
        await self.run_action(call)

    def fill_queue(self, select: str | None) -> None:
        queue = self.query_one(Queue)
        queue.fill(self.proposals, self.now(), select=select, one_line=self._one_line)
        waiting = sum(proposal.state in WAITING for proposal in self.proposals)
        decided = len(self.proposals) - waiting
        queue.border_subtitle = f"{waiting} waiting" + (f" · {decided} decided" if decided else "")

    def _name_mode(self) -> None:
        """Name the gate's mode on the first line, which is the list's border where there is no room above."""
        proposal = self.selected
        mode = show_line(proposal.note.verdict.mode if proposal else self.mode)
        told = f"gate mode: {mode}" if mode else ""
        self.query_one("#title", Static).update(
            Content.assemble(
                ("☾ ", "$accent"),
                ("SkillOpt-Sleep", "bold"),
                (f"  review  {told}", "$foreground-muted"),
            )
        )
        short = told and self.size.height < _TALL
        self.query_one(Queue).border_title = told if short else "Proposals"

    @on(OptionList.OptionHighlighted, "#queue")
    def display_proposal(self) -> None:
        """Show the highlighted proposal in the open tab."""
        proposal = self.selected
        self._name_mode()
        if proposal is None:
            return
        self.query_one(Summary).display_summary(proposal)
        # Until its change is there, the hunks on the screen are another proposal's.
        self.query_one(DiffView).difference = None
        self.display_tab()

    @on(TabbedContent.TabActivated)
    def display_tab(self) -> None:
        """Fill the open tab; the others wait until they are opened."""
        proposal = self.selected
        if proposal is None:
            return
        tab = self.query_one(TabbedContent).active
        self.query_one("#detail").border_subtitle = ""
        if tab == "diff":
            self._display_difference(proposal, stay=False)
        elif tab == "evidence":
            self._display_evidence(proposal)
        else:
            self.query_one(TaskView).display_tasks(proposal)

    def show_change(self, *, stay: bool = False) -> None:
        if self.selected:
            self._display_difference(self.selected, stay=stay)

    @work(exclusive=True, group="difference")
    async def _display_difference(self, proposal: Proposal, *, stay: bool) -> None:
        text, context = self.choices.text(proposal), self.context_lines
        difference = await self.in_thread(lambda: compare_proposal(proposal, text, context))
        left_out = self.choices.left_out(proposal)
        self.query_one(DiffView).display_difference(difference, proposal.note.edits, left_out, stay=stay)
        self._count_hunks(difference, left_out)

    @work(exclusive=True, group="difference")
    async def _display_evidence(self, proposal: Proposal) -> None:
        text = self.choices.text(proposal)
        difference = await self.in_thread(lambda: compare_proposal(proposal, text))
        view = self.query_one(DiffView)
        known = view.difference is not None
        number = view.current if known else 1
        part = next((part for part in difference.parts if part.number == number), None)
        self.query_one(EvidenceView).display_evidence(proposal, part, len(difference.parts))

    def _keep_choice(self, left_out: frozenset[int]) -> None:
        proposal, difference = self.selected, self.query_one(DiffView).difference
        if proposal and difference:
            self.choices.leave_out(proposal, left_out)
            self._count_hunks(difference, left_out)

    def _count_hunks(self, difference: Difference, left_out: frozenset[int]) -> None:
        total = len(difference.parts)
        proposal = self.selected
        chosen = f" · {total - len(left_out)} of {count(total, 'hunk')} chosen" if left_out else ""
        edited = " · edited by you" if proposal and self.choices.text(proposal) is not None else ""
        gated = proposal and (left_out or edited or proposal.ungated)
        mark = " · not gated as it stands" if gated else ""
        lines = f"+{difference.added} −{difference.removed}"
        self.query_one("#detail").border_subtitle = f"{lines}{chosen}{edited}{mark}"
