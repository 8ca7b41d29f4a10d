"""The steps of an agent at work, each told in several events: its tokens, a call, its execution, its end.

What each of them costs is most of the time that a harvest of small events takes, so that they share one
loop. Whatever is rarer goes one by one, as `CopilotReader` takes it; both ways lead to the same turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import CallDraft, digest_of, keep_id
from skillopt_harvesters.sources.copilot import tools
from skillopt_harvesters.sources.copilot.records import ToolInput
from skillopt_harvesters.sources.copilot.usage import tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_harvesters.drafts import SessionDraft
    from skillopt_harvesters.records import Tokens
    from skillopt_harvesters.sources.copilot.calls import CallBook
    from skillopt_harvesters.sources.copilot.memory import Memory
    from skillopt_harvesters.sources.copilot.records import Data, Event, ToolRequest
    from skillopt_harvesters.turns import TurnDraft

_decode_input = msgspec.json.Decoder(ToolInput).decode
_MESSAGE, _START, _END, _USAGE = range(1, 5)
_KINDS: dict[str | None, int] = {
    "assistant.message": _MESSAGE,
    "tool.execution_start": _START,
    "tool.execution_complete": _END,
    "session.usage_record": _USAGE,
}


class Steps:
    """Takes usual events into the turn that goes on."""

    def __init__(self, session: SessionDraft, memory: Memory, calls: CallBook) -> None:
        self.session = session
        self.memory = memory
        self.calls = calls

    def take(  # noqa: PLR0912 - to call anything for each event takes as long as what is done for it
        self, events: Sequence[Event], start: int, *, plain: bool
    ) -> int:
        """Take usual events of the session's own from a place on; return the place of the first other one.

        `plain` says that each has an id which is kept as it is.
        """
        turn, memory, ledger = self.session.turn, self.memory, self.memory.ledger
        if turn is None or turn.copied or memory.lost or memory.elsewhere or not ledger.has_receipts:
            return start
        known = self.calls.known
        spent: list[Tokens] = []
        place = start
        for place in range(start, len(events)):
            event = events[place]
            kind, data = _KINDS.get(event.type), event.data
            if data is None or kind is None:
                break
            if kind == _END:
                call = known.get(data.tool_call_id) if data.tool_call_id else None
                if call is None or not _ends_well(call, data):
                    break
            elif kind == _USAGE:
                usage = data.usage
                name = usage and keep_id(usage.api_call_id or event.id or "")
                if usage is None or not name or name in turn.usage:
                    break
                tokens = tokens_of(usage)
                turn.count_all({name: tokens})
                spent.append(tokens)
            elif kind == _START:
                call = known.get(data.tool_call_id) if data.tool_call_id else None
                if call is None or not call.name:
                    break
            else:
                source = event.id or ""
                if not (event.agent_id or data.parent_tool_call_id):
                    text = data.content
                    if text and not text.isspace():
                        message = data.api_call_id if data.chunk_count else None
                        turn.say(message or data.message_id or source, text, source)
                    if data.model:
                        self.session.model = data.model
                for request in data.tool_requests or ():
                    if not (plain and self._add(turn, request, source, known)):
                        asked = request.tool_call_id, request.name, request.arguments
                        self.calls.note(turn, *asked, source)
        else:
            place = len(events)
        ledger.add(spent)
        return place

    def _add(self, turn: TurnDraft, asked: ToolRequest, source: str, known: dict[str, CallDraft]) -> bool:
        """Add the call of a shell tool to a turn; False when it is to be looked at more closely."""
        call_id, name = asked.tool_call_id, asked.name
        if not call_id or name not in tools.SHELLS or call_id in known or keep_id(call_id) is not call_id:
            return False
        try:
            given = _decode_input(asked.arguments)
        except (msgspec.DecodeError, RecursionError):
            return False
        call = CallDraft(name, call_id, digest_of(asked.arguments), given.command, source=source)
        turn.add_calls([call])
        if not turn.calls_left_out:
            known[call_id] = call
        return True


def _ends_well(call: CallDraft, told: Data) -> bool:
    """Close a call that ended well, as `close_call` does; False when there may be more to tell of it."""
    if call.closed:
        return True
    code = told.shell_execution.exit_code if told.shell_execution is not None else None
    is_usual = code == 0 or (code is None and call.name not in tools.SHELLS)
    if not is_usual or told.success is False or told.file_edits or call.name == tools.PLANNER:
        return False
    call.closed = True
    call.exit_code = code
    return True
