"""Deciding in the review: each action asks what it must, has the desk do it, and says what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from textual import work
from textual.app import SuspendNotSupported

from skillopt_sleep.errors import AppError
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.base import Base
from skillopt_sleep.review.choices import find_next, find_undoable
from skillopt_sleep.review.dialogs import AskReason, Choose, Confirm
from skillopt_sleep.review.difference import Difference, compare_proposal
from skillopt_sleep.review.visible import show, show_line
from skillopt_sleep.review.wording import OPEN, count, say_place
from skillopt_staging.proposals import State

_TAKEN_BACK = {
    State.APPLIED: "Takes the change out of",
    State.REJECTED: "Puts it back in the queue:",
    State.RETIRED: "Puts it back in the queue:",
    State.SNOOZED: "Shows it again at once:",
}


class Acting(Base):
    """The decisions: apply, reject, snooze, edit, test again, and undo."""

    @work(exclusive=True, group="decide")
    async def action_apply(self) -> None:
        """Apply the chosen hunks, once the user has seen where they go."""
        proposal = self._open_proposal()
        if proposal is None:
            return
        chosen = await self._choose(proposal)
        if chosen is None:
            return
        difference, hunks = chosen
        wanted, text = resolve(proposal, self.choices.text(proposal), hunks)
        told = await self.ask(lambda: self.desk.check(proposal.id, wanted, text))
        if told is None:
            await self.look_again()
            return
        total = len(difference.parts)
        what = (
            f"all of it ({count(total, 'hunk')})"
            if hunks is None
            else f"{len(hunks)} of {count(total, 'hunk')}"
        )
        lines = [f"Writes {what} to", f"  {show_line(say_place(proposal.staged.live))}"]
        warnings = [*self.choices.warn(proposal, hunks), *(show_line(warning) for warning in told)]
        if await self.push_screen_wait(
            Confirm(f"Apply {show_line(proposal.skill)}?", lines, warnings, "Apply")
        ):
            await self._decide(proposal, lambda: self.desk.apply(proposal.id, wanted, text), "Applied")

    @work(exclusive=True, group="decide")
    async def action_reject(self) -> None:
        """Reject the proposal for a reason the user gives."""
        proposal = self._open_proposal()
        if proposal is None:
            return
        reason = await self.push_screen_wait(AskReason(show_line(proposal.skill)))
        if reason is not None:
            await self._decide(proposal, lambda: self.desk.reject(proposal.id, reason), "Rejected")

    @work(exclusive=True, group="decide")
    async def action_snooze(self) -> None:
        """Put the proposal out of the way for some days."""
        proposal = self._open_proposal()
        if proposal is not None:
            await self._decide(proposal, lambda: self.desk.snooze(proposal.id), "Snoozed")

    @work(exclusive=True, group="decide")
    async def action_edit(self) -> None:
        """Let the user change the text in their editor; what comes back is what apply writes."""
        proposal = self._open_proposal()
        if proposal is None:
            return
        before = self.choices.text(proposal) or proposal.text
        try:
            with self._lend_terminal():
                after = self.edit_text(before, proposal.skill)
        except AppError as error:
            self.show_error(error)
            return
        if after == before:
            self.tell("You changed nothing.")
            return
        self.choices.edit(proposal, after)
        self.show_change()
        again = after == proposal.text
        self.tell(
            "That is the proposed text again." if again else "Not gated as it stands: t has it tested again."
        )

    @work(exclusive=True, group="decide")
    async def action_gate_again(self) -> None:
        """Have what was chosen of the proposal gated anew: next night, or now."""
        proposal = self._open_proposal()
        if proposal is None:
            return
        chosen = await self._choose(proposal)
        if chosen is None:
            return
        _, hunks = chosen
        reasons = self.choices.say_ungated(proposal, hunks)
        lines = [f"Not gated as it stands: {reason}." for reason in reasons] or [
            "This is the text that was gated; another look counts on."
        ]
        options = {"tonight": "Tonight (t)", "now": "Now (w)"} if self.run_now else {"tonight": "Tonight (t)"}
        when = await self.push_screen_wait(Choose(f"Test {show_line(proposal.skill)} again?", lines, options))
        if when is None:
            return
        wanted, text = resolve(proposal, self.choices.text(proposal), hunks)
        skill, run = proposal.skill, self.run_now
        done = await self._decide(
            proposal, lambda: self.desk.gate_again(proposal.id, wanted, text), "Waits for the gate"
        )
        if done and when == "now" and run is not None:
            try:
                with self._lend_terminal():
                    run(skill)
            except AppError as error:
                self.show_error(error)
            await self.read_anew(None)

    @work(exclusive=True, group="decide")
    async def action_undo(self) -> None:
        """Take back the highlighted proposal's decision, else the last one made here."""
        target = find_undoable(self.proposals, self.selected, self.decided)
        if target is None:
            self.tell("There is no decision to undo.")
            return
        if target.id not in self.decided:
            does = _TAKEN_BACK.get(target.state, "Puts it back in the queue:")
            lines = [does, f"  {show_line(say_place(target.staged.live))}"]
            if not await self.push_screen_wait(
                Confirm(f"Undo {show_line(target.skill)} ({target.state.value})?", lines, [], "Undo")
            ):
                return
        said = await self.ask(lambda: self.desk.undo(target.id))
        if said is not None:
            self.decided = [name for name in self.decided if name != target.id]
            self.tell(show(said), title="Undone")
            await self.read_anew(target.id)

    def show_change(self, *, stay: bool = False) -> None:
        """Show the highlighted proposal's change anew, from its top or from the current hunk on."""
        raise NotImplementedError

    async def _decide(self, proposal: Proposal, call: Callable[[], str], title: str) -> bool:
        after = find_next(self.proposals, proposal)
        said = await self.ask(call)
        if said is None:
            await self.look_again()
            return False
        self.decided.append(proposal.id)
        self.tell(show(said), title=f"{title} · u undoes")
        await self.read_anew(after)
        return True

    async def _choose(self, proposal: Proposal) -> tuple[Difference, tuple[int, ...] | None] | None:
        """Return the change and its chosen hunks; None after telling that nothing is chosen."""
        text = self.choices.text(proposal)
        difference = await self.in_thread(lambda: compare_proposal(proposal, text))
        hunks = self.choices.pick(proposal, difference)
        if hunks == ():
            self.tell("Every hunk is left out. Space takes one in, r rejects all.", severity="warning")
            return None
        return difference, hunks

    def _open_proposal(self) -> Proposal | None:
        proposal = self.selected
        if proposal is None:
            return None
        if proposal.state in OPEN:
            return proposal
        self.tell(f"This one is {proposal.state.value} already; u takes that back.")
        return None

    @contextmanager
    def _lend_terminal(self) -> Iterator[None]:
        """Give the terminal to a program until the block ends; where it cannot be given, go on as it is."""
        with ExitStack() as stack:
            with suppress(SuspendNotSupported):
                stack.enter_context(self.suspend())
            yield


def resolve(
    proposal: Proposal, text: str | None, hunks: tuple[int, ...] | None
) -> tuple[tuple[int, ...] | None, str | None]:
    """Return what the desk is to be told: hunks of the proposal, and the SKILL.md in place of its own.

    `hunks` are numbered as they are shown: those of an edited `text` first, which the proposal does not know.
    """
    from skillopt_staging.hunks import hunks as cut_hunks
    from skillopt_staging.hunks import take

    if text is None or hunks is None:
        return hunks, text
    shown = len(cut_hunks(proposal.base_text, text))
    own = len(cut_hunks(proposal.base_text, proposal.text))
    part = take(proposal.base_text, text, [number for number in hunks if number <= shown])
    others = tuple(number - shown + own for number in hunks if number > shown)
    return ((*range(1, own + 1), *others) if proposal.files else None), part
