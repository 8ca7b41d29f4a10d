"""The tool calls of a session, each once: a message asks for it, its execution tells it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.calls import keep_id
from skillopt_harvesters.sources.copilot import tools

if TYPE_CHECKING:
    import msgspec

    from skillopt_harvesters.calls import CallDraft
    from skillopt_harvesters.drafts import SessionDraft
    from skillopt_harvesters.turns import TurnDraft


class CallBook:
    """Keeps the calls of the turns that are open."""

    def __init__(self, session: SessionDraft) -> None:
        self.session = session
        self._latest: TurnDraft | None = None
        # Of the turns that are open, unless another one was opened since.
        self._known: dict[str, CallDraft] = {}

    @property
    def known(self) -> dict[str, CallDraft]:
        """The calls of the turns that are open, by id as it is kept."""
        turns = self.session.turns
        if turns[-1] is not self._latest:
            self._latest = turns[-1]
            self._known = {call.id: call for turn in turns for call in turn.calls}
        return self._known

    def find(self, call_id: str) -> CallDraft | None:
        """Return the latest call with the client's id in the turns that are open."""
        if not self.session.turns or not call_id:
            return None
        # Nearly all ids are kept as they are.
        known = self.known
        return known.get(call_id) or known.get(keep_id(call_id))

    def note(
        self, turn: TurnDraft, call_id: str | None, name: str | None, arguments: msgspec.Raw, source: str
    ) -> None:
        """Note a call once, in the turn when it is new. `source` is the message that asks for it, if any.

        Some servers number their calls anew with every answer: what is asked for when the call with its id
        was asked for and has ended is another one.
        """
        known = self.find(call_id or "")
        if known is None or (known.closed and known.source and source):
            call = tools.make_call(name or "", call_id or "", arguments, source)
            skill = tools.find_skill(call.name, arguments)
            if skill:
                turn.skills[skill] = None
            turn.add_call(call)
            if not turn.calls_left_out:
                self._known[call.id] = call
            return
        known.name = known.name or name or ""
        known.source = known.source or source
