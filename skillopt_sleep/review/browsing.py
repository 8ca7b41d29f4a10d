"""Moving about in the review: tabs, hunks and what is picked, and how the diff is set out."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.widget import Widget
from textual.widgets import OptionList, TabbedContent

from skillopt_sleep.review.acting import Acting
from skillopt_sleep.review.dialogs import Help
from skillopt_sleep.review.diff_view import LAYOUTS, DiffView
from skillopt_sleep.review.evidence_view import EvidenceView
from skillopt_sleep.review.keys import list_keys
from skillopt_sleep.review.queue import Queue
from skillopt_sleep.review.task_view import TaskList
from skillopt_sleep.review.wording import OPEN

_TABS = ("diff", "evidence", "tasks")
_MOST_CONTEXT = 50


class Browsing(Acting):
    """What keys do that decide nothing."""

    def action_move_hunk(self, step: int) -> None:
        """Go to the next or previous hunk."""
        self._show_hunks()
        self.query_one(DiffView).move(step)

    def action_toggle_hunk(self) -> None:
        """Leave the current hunk out, or take it back in."""
        self._toggle(lambda view: None)

    def action_toggle_file(self) -> None:
        """Leave all hunks of the current hunk's file out, or take them back in."""
        self._toggle(lambda view: view.difference.find_file(view.current) if view.difference else None)

    def action_toggle_all(self) -> None:
        """Leave every hunk out, or take all back in."""
        self._toggle(
            lambda view: frozenset(part.number for part in view.difference.parts) if view.difference else None
        )

    def _toggle(self, find: Callable[[DiffView], frozenset[int] | None]) -> None:
        proposal = self.selected
        if proposal and proposal.state in OPEN:
            self._show_hunks()
            view = self.query_one(DiffView)
            view.toggle(find(view))

    def action_explain_hunk(self) -> None:
        """Show what the current hunk rests on."""
        self.action_show_tab("evidence")

    def action_switch_layout(self) -> None:
        """Set the diff out side by side, unified, or by its width."""
        view = self.query_one(DiffView)
        view.split = LAYOUTS[(LAYOUTS.index(view.split) + 1) % len(LAYOUTS)]
        self._show_hunks()
        self.tell(f"Diff: {view.split}")

    def action_widen(self, step: int) -> None:
        """Show more or fewer lines around the hunks; which hunks there are stays the same."""
        self.context_lines = max(0, min(_MOST_CONTEXT, self.context_lines + step))
        self._show_hunks()
        self.show_change(stay=True)

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

    def action_focus_detail(self) -> None:
        """Go from the list into the open tab."""
        if self.proposals:
            self._pane().focus()

    def action_load(self) -> None:
        """Read the proposals again."""
        self.load()

    def action_help_quit(self) -> None:
        """Say how to leave: Ctrl-C is what a hand does by itself."""
        self.tell(f"{self.keys.get('quit', 'q')} leaves the review.")

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(Help(list_keys(self.keys)))

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
