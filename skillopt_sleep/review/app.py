"""The review on the terminal: the queue of proposals on the left, the highlighted one on the right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import ClassVar, TypeVar

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, OptionList, Static, TabbedContent, TabPane, Tabs

from skillopt_sleep.errors import Explained
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.choices import Choices, find_next, find_undoable
from skillopt_sleep.review.desk import Desk
from skillopt_sleep.review.dialogs import AskReason, Confirm, Help
from skillopt_sleep.review.diff_view import DiffView
from skillopt_sleep.review.difference import Difference, compare
from skillopt_sleep.review.evidence_view import EvidenceView
from skillopt_sleep.review.queue import Queue
from skillopt_sleep.review.summary import EMPTY, Summary
from skillopt_sleep.review.task_view import TaskList, TaskView
from skillopt_sleep.review.theme import NIGHT
from skillopt_sleep.review.visible import show, show_line
from skillopt_sleep.review.wording import OPEN, WAITING, count, say_place
from skillopt_staging.proposals import State

_T = TypeVar("_T")
_TABS = ("diff", "evidence", "tasks")
_WIDE = 90
_TALL = 28


def read_clock() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(timezone.utc)


class ReviewApp(App[None]):
    """Shows the desk's proposals and carries decisions to it; `now` is the clock that ages are told by."""

    TITLE = "SkillOpt-Sleep review"
    CSS_PATH = "review.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 - declared by Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (_TALL, "-tall")]  # noqa: RUF012 - declared by Textual
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "apply", "apply"),
        Binding("r", "reject", "reject"),
        Binding("u", "undo", "undo"),
        Binding("space", "toggle_hunk", "pick", key_display="space"),
        Binding("n", "move_hunk(1)", "next"),
        Binding("N", "move_hunk(-1)", "previous hunk", show=False),
        Binding("1", "show_tab('diff')", "diff", show=False),
        Binding("2", "show_tab('evidence')", "evidence", show=False),
        Binding("3", "show_tab('tasks')", "tasks", show=False),
        Binding("right_square_bracket", "step_tab(1)", "next tab", show=False),
        Binding("left_square_bracket", "step_tab(-1)", "previous tab", show=False),
        Binding("escape", "focus_queue", "list", show=False),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, desk: Desk, *, now: Callable[[], datetime] = read_clock, mode: str = "") -> None:
        """`mode` is the gate's, as configured; a proposal that is shown names the mode it passed."""
        super().__init__()
        self._desk = desk
        self._now = now
        self._mode = mode
        self._desk_lock = asyncio.Lock()
        self._choices = Choices()
        self._decided: list[str] = []
        self._one_line = False
        self._calls = 0
        self.proposals: list[Proposal] = []

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
            yield Static(EMPTY, id="empty-text", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.register_theme(NIGHT)
        self.theme = NIGHT.name
        # The number keys and brackets switch tabs; a stop on them would only cost a keystroke.
        self.query_one(Tabs).can_focus = False
        self._name_mode()
        self.query_one(Queue).focus()
        self.watch(self.query_one(DiffView), "left_out", self._keep_choice, init=False)
        self.load()

    def on_resize(self, event: Resize) -> None:
        one_line = event.size.width < _WIDE
        if one_line != self._one_line:
            self._one_line = self.query_one(Footer).compact = one_line
            self._fill_queue(None)
        self._name_mode()

    @property
    def is_working(self) -> bool:
        """Tell whether a thread works for the review right now."""
        return self._calls > 0

    @property
    def selected(self) -> Proposal | None:
        """Return the highlighted proposal."""
        place = self.query_one(Queue).highlighted
        return self.proposals[place] if place is not None and place < len(self.proposals) else None

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every decision in the command palette too."""
        yield from super().get_system_commands(screen)
        yield SystemCommand("Apply", "Apply the chosen hunks of this proposal", self.action_apply)
        yield SystemCommand("Reject", "Reject this proposal, with a reason", self.action_reject)
        yield SystemCommand("Undo", "Take the last decision back", self.action_undo)
        yield SystemCommand("Hunk", "Leave the current hunk out, or take it in", self.action_toggle_hunk)
        yield SystemCommand("Reload", "Read the proposals again", self.load)

    @work(exclusive=True, group="load")
    async def load(self, select: str | None = None) -> None:
        """Read the proposals anew and highlight one."""
        await self._load(select)

    async def _load(self, select: str | None) -> None:
        proposals = await self._ask(self._desk.proposals)
        if proposals is None:
            return
        self.proposals = proposals
        self.screen_stack[0].set_class(not proposals, "-empty")
        self._fill_queue(select)

    async def _ask(self, call: Callable[[], _T]) -> _T | None:
        """Return what the desk answers; None after showing its error."""
        try:
            async with self._desk_lock:
                return await self._in_thread(call)
        except Exception as error:
            if not isinstance(error, Explained):
                raise
            text = show(f"{error.message}\n{error.hint}".strip())
            self._tell(text, title="That did not work", severity="error", timeout=12)
            return None

    def _tell(
        self, text: str, *, title: str = "", severity: SeverityLevel = "information", timeout: float = 5
    ) -> None:
        """Show a note in place of any earlier one, which may no longer hold."""
        self.clear_notifications()
        self.notify(text, title=title, severity=severity, timeout=timeout, markup=False)

    async def _in_thread(self, call: Callable[[], _T]) -> _T:
        self._calls += 1
        try:
            return await asyncio.to_thread(call)
        finally:
            self._calls -= 1

    def _fill_queue(self, select: str | None) -> None:
        queue = self.query_one(Queue)
        queue.fill(self.proposals, self._now(), select=select, one_line=self._one_line)
        waiting = sum(proposal.state in WAITING for proposal in self.proposals)
        decided = len(self.proposals) - waiting
        queue.border_subtitle = f"{waiting} waiting" + (f" · {decided} decided" if decided else "")

    def _name_mode(self) -> None:
        """Name the gate's mode on the first line, which is the list's border where there is no room above."""
        proposal = self.selected
        mode = show_line(proposal.note.verdict.mode if proposal else self._mode)
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
            self._display_difference(proposal)
        elif tab == "evidence":
            self.query_one(EvidenceView).display_evidence(proposal)
        else:
            self.query_one(TaskView).display_tasks(proposal)

    @work(exclusive=True, group="difference")
    async def _display_difference(self, proposal: Proposal) -> None:
        difference = await self._in_thread(lambda: compare(proposal.base_text, proposal.text))
        self.query_one(DiffView).display_difference(
            difference, proposal.note.edits, self._choices.left_out(proposal)
        )
        self._count_hunks(difference, self._choices.left_out(proposal))

    def _keep_choice(self, left_out: frozenset[int]) -> None:
        proposal, difference = self.selected, self.query_one(DiffView).difference
        if proposal and difference:
            self._choices.leave_out(proposal, left_out)
            self._count_hunks(difference, left_out)

    def _count_hunks(self, difference: Difference, left_out: frozenset[int]) -> None:
        total = len(difference.parts)
        chosen = f" · {total - len(left_out)} of {count(total, 'hunk')} chosen" if left_out else ""
        lines = f"+{difference.added} −{difference.removed}"
        self.query_one("#detail").border_subtitle = f"{lines}{chosen}"

    def action_move_hunk(self, step: int) -> None:
        """Go to the next or previous hunk."""
        self._show_hunks()
        self.query_one(DiffView).move(step)

    def action_toggle_hunk(self) -> None:
        """Leave the current hunk out, or take it back in."""
        proposal = self.selected
        if proposal and proposal.state in OPEN:
            self._show_hunks()
            self.query_one(DiffView).toggle()

    def action_show_tab(self, tab: str) -> None:
        """Open a tab and go into it, so that the next key scrolls what was asked for."""
        self.query_one(TabbedContent).active = tab
        if self.proposals:
            self._pane().focus()

    def _show_hunks(self) -> None:
        """Open the diff; the focus stays in the list when it is there."""
        inside = self.query_one("#detail") in (self.focused.ancestors if self.focused else ())
        self.query_one(TabbedContent).active = "diff"
        if inside:
            self.query_one(DiffView).focus()

    def action_step_tab(self, step: int) -> None:
        """Open the tab after or before this one."""
        place = _TABS.index(self.query_one(TabbedContent).active)
        self.action_show_tab(_TABS[(place + step) % len(_TABS)])

    def action_focus_queue(self) -> None:
        """Go back to the list."""
        self.query_one(Queue).focus()

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(Help())

    @on(OptionList.OptionSelected, "#queue")
    def enter_detail(self) -> None:
        """Go from the list into the open tab."""
        self._pane().focus()

    @on(OptionList.OptionSelected, "#task-list")
    def enter_task(self) -> None:
        """Go from the tasks into the answers."""
        self.query_one("#task-detail").focus()

    def _pane(self) -> Widget:
        kinds = {"diff": DiffView, "evidence": EvidenceView, "tasks": TaskList}
        return self.query_one(kinds[self.query_one(TabbedContent).active])

    def _open_proposal(self) -> Proposal | None:
        proposal = self.selected
        if proposal is None:
            return None
        if proposal.state in OPEN:
            return proposal
        self._tell(f"This one is {proposal.state.value} already; u takes that back.")
        return None

    @work(exclusive=True, group="decide")
    async def action_apply(self) -> None:
        """Apply the chosen hunks, once the user has seen where they go."""
        proposal = self._open_proposal()
        if proposal is None:
            return
        difference = await self._in_thread(lambda: compare(proposal.base_text, proposal.text))
        hunks = self._choices.pick(proposal, difference)
        if hunks == ():
            self._tell("Every hunk is left out. Space takes one in, r rejects all.", severity="warning")
            return
        total = len(difference.parts)
        what = (
            f"all of it ({count(total, 'hunk')})"
            if hunks is None
            else f"{len(hunks)} of {count(total, 'hunk')}"
        )
        lines = [f"Writes {what} to", f"  {show_line(say_place(proposal.staged.live))}"]
        warnings = self._choices.warn(proposal, hunks)
        if not await self.push_screen_wait(
            Confirm(f"Apply {show_line(proposal.skill)}?", lines, warnings, "Apply")
        ):
            return
        await self._decide(proposal, lambda: self._desk.apply(proposal.id, hunks), "Applied")

    @work(exclusive=True, group="decide")
    async def action_reject(self) -> None:
        """Reject the proposal for a reason the user gives."""
        proposal = self._open_proposal()
        if proposal is None:
            return
        reason = await self.push_screen_wait(AskReason(show_line(proposal.skill)))
        if reason is not None:
            await self._decide(proposal, lambda: self._desk.reject(proposal.id, reason), "Rejected")

    async def _decide(self, proposal: Proposal, call: Callable[[], str], title: str) -> None:
        after = find_next(self.proposals, proposal)
        said = await self._ask(call)
        if said is not None:
            self._decided.append(proposal.id)
            self._tell(show(said), title=f"{title} · u undoes")
            await self._load(after)

    @work(exclusive=True, group="decide")
    async def action_undo(self) -> None:
        """Take back the highlighted proposal's decision, else the last one made here."""
        target = find_undoable(self.proposals, self.selected, self._decided)
        if target is None:
            self._tell("There is no decision to undo.")
            return
        if target.id not in self._decided:
            does = (
                "Takes the change out of" if target.state is State.APPLIED else "Puts it back in the queue:"
            )
            lines = [does, f"  {show_line(say_place(target.staged.live))}"]
            if not await self.push_screen_wait(
                Confirm(f"Undo {show_line(target.skill)} ({target.state.value})?", lines, [], "Undo")
            ):
                return
        said = await self._ask(lambda: self._desk.undo(target.id))
        if said is not None:
            self._decided = [name for name in self._decided if name != target.id]
            self._tell(show(said), title="Undone")
            await self._load(target.id)
