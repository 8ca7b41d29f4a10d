"""What every part of the review shares: its proposals, asking the desk, and telling the user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TypeVar

from textual import work
from textual.app import App
from textual.notifications import SeverityLevel

from skillopt_sleep.errors import Explained
from skillopt_sleep.invocation import spell_out
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.choices import Choices
from skillopt_sleep.review.desk import Desk
from skillopt_sleep.review.difference import CONTEXT
from skillopt_sleep.review.editing import edit_text
from skillopt_sleep.review.queue import Queue
from skillopt_sleep.review.visible import show

_T = TypeVar("_T")
Edit = Callable[[str, str], str]


def read_clock() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(timezone.utc)


class Base(App[None]):
    """Holds the desk's proposals and what was chosen of them."""

    def __init__(
        self,
        desk: Desk,
        *,
        now: Callable[[], datetime] = read_clock,
        mode: str = "",
        keys: Mapping[str, str] | None = None,
        layout: str = "auto",
        edit: Edit = edit_text,
        run_now: Callable[[str], None] | None = None,
    ) -> None:
        """`now` is the clock that ages are told by, `mode` the gate's, as configured.

        A proposal that is shown names the mode it passed. `keys` are those that are not the usual ones, by
        the action's name; `layout` is how the diff is set out. `edit` lets the user change a text, given
        with the skill's name; `run_now` works a night for one skill. Both have the terminal to themselves.
        """
        super().__init__()
        self.desk = desk
        self.now = now
        self.mode = mode
        self.keys = dict(keys or {})
        self.diff_layout = layout
        self.edit_text = edit
        self.run_now = run_now
        self.choices = Choices()
        self.decided: list[str] = []
        self.context_lines = CONTEXT
        self.proposals: list[Proposal] = []
        self._desk_lock = asyncio.Lock()
        self._calls = 0

    @property
    def is_working(self) -> bool:
        """Tell whether a thread works for the review right now."""
        return self._calls > 0

    @property
    def selected(self) -> Proposal | None:
        """Return the highlighted proposal."""
        place = self.query_one(Queue).highlighted
        return self.proposals[place] if place is not None and place < len(self.proposals) else None

    @work(exclusive=True, group="load")
    async def load(self, select: str | None = None) -> None:
        """Read the proposals anew and highlight one."""
        await self.read_anew(select)

    async def read_anew(self, select: str | None) -> None:
        """Read the proposals anew, and show them."""
        proposals = await self.ask(self.desk.proposals)
        if proposals is not None:
            self._show(proposals, select)

    async def look_again(self) -> None:
        """Read the proposals anew after one was refused: who works elsewhere may have decided on it."""
        proposals = await self.ask(self.desk.proposals)
        if proposals is not None and proposals != self.proposals:
            self._show(proposals, None)

    def _show(self, proposals: list[Proposal], select: str | None) -> None:
        self.proposals = proposals
        self.screen_stack[0].set_class(not proposals, "-empty")
        self.fill_queue(select)

    def fill_queue(self, select: str | None) -> None:
        """Show the proposals in the list and highlight one."""
        raise NotImplementedError

    async def ask(self, call: Callable[[], _T]) -> _T | None:
        """Return what the desk answers; None after showing its error."""
        try:
            async with self._desk_lock:
                return await self.in_thread(call)
        except Exception as error:
            if not isinstance(error, Explained):
                raise
            self.show_error(error)
            return None

    def show_error(self, error: Explained) -> None:
        """Show an error's message and what to do."""
        text = show(f"{error.message}\n{spell_out(error.hint)}".strip())
        self.tell(text, title="That did not work", severity="error", timeout=12)

    def tell(
        self, text: str, *, title: str = "", severity: SeverityLevel = "information", timeout: float = 5
    ) -> None:
        """Show a note in place of any earlier one, which may no longer hold."""
        self.clear_notifications()
        self.notify(text, title=title, severity=severity, timeout=timeout, markup=False)

    async def in_thread(self, call: Callable[[], _T]) -> _T:
        """Return what the call returns, made in a thread of its own."""
        self._calls += 1
        try:
            return await asyncio.to_thread(call)
        finally:
            self._calls -= 1
