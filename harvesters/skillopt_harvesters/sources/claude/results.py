"""Results of tool calls in the records of Claude Code: how calls ended, and what the user said to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.calls import MAX_ERROR, CallDraft, keep_id
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Signal
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.sources.claude import evidence, records, words
from skillopt_harvesters.sources.claude.context import Memory
from skillopt_harvesters.sources.claude.evidence import End
from skillopt_harvesters.sources.claude.losses import Loss
from skillopt_harvesters.sources.claude.records import Block, Record
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from collections.abc import Callable

SHELL_TOOLS = frozenset({"Bash", "PowerShell"})
# How the names of tools begin that are another program's.
_FOREIGN_TOOL = "mcp__"
_MAX_REFUSALS = 100
_MAX_EARLY = 16


class Results:
    """Takes results into a session. `knows` tells of a record whether it came before."""

    def __init__(self, session: SessionDraft, memory: Memory, knows: Callable[[str], bool]) -> None:
        self.session = session
        self.memory = memory
        self._knows = knows

    def own_turn(self, record: Record, *, copied: bool) -> TurnDraft | None:
        """Return the turn that goes on, as far as it is the same session's as the record.

        What a session did in a turn that a fork has, and the fork has not, stands in a turn of its own.
        """
        turn = self.session.turn
        if turn is None or turn.copied == copied or not record.uuid:
            return turn
        return None if copied else self.session.go_on_by_itself(to_utc(record.timestamp))

    def take(self, record: Record, block: Block, *, copied: bool) -> None:
        if self.memory.loss and not (record.parent_uuid and self._knows(record.parent_uuid)):
            # What is lost is the record with the call.
            self.memory.loss, self.memory.orphans = Loss.NONE, []
        found = self._find_call(block.tool_use_id or "")
        if found is None:
            if block.is_error and not self._is_known(block.tool_use_id or ""):
                # The record with the call is lost; what the user said to it is not.
                self._note_refusal(record, block, None, None, copied=copied)
            self._keep_early(record, block)
            return
        call, asked = found
        call.closed = True
        # Prompts that were queued may stand between; where the fork has the call, it ends before its result.
        is_anothers = asked.copied and not copied and bool(record.uuid)
        if not is_anothers:
            self.end(call, evidence.read_end(record, block))
        if block.is_error:
            self._note_refusal(record, block, call, asked, copied=copied)

    def end(self, call: CallDraft, end: End) -> None:
        call.closed = True
        call.exit_code = end.exit_code if call.name in SHELL_TOOLS else None
        if end.error is not None:
            call.fail(end.error)

    def _keep_early(self, record: Record, block: Block) -> None:
        """Keep a result whose call is not there: records may have been written in another order."""
        early, name = self.memory.early, keep_id(block.tool_use_id or "")
        if name and not self._is_known(block.tool_use_id or ""):
            end = evidence.read_end(record, block)
            error = None if end.error is None else redact_within(end.error, MAX_ERROR)
            early[name] = End(end.exit_code, error)
            if len(early) > _MAX_EARLY:
                del early[next(iter(early))]

    def _note_refusal(
        self, record: Record, block: Block, call: CallDraft | None, asked: TurnDraft | None, *, copied: bool
    ) -> None:
        if record.interrupted_by_shutdown:
            # The client ended, and refused for the user what still ran.
            return
        feedback = records.decode_any(record.user_feedback)
        refusal = words.find_refusal(
            records.join_text(block.content), feedback if isinstance(feedback, str) else None
        )
        if refusal is None and evidence.is_declined(record):
            # Whose words the result is then, the user's or those of what asked, is not told.
            refusal = words.Refusal("")
        if not refusal:
            return
        is_told = evidence.is_refused(record)
        if call and call.name.startswith(_FOREIGN_TOOL) and not is_told:
            # A server may call its error whatever it likes.
            return
        is_its_own = asked is not None and asked.copied == copied
        turn = asked if is_its_own else self.own_turn(record, copied=copied)
        if turn is None:
            return
        turn.signals.add(Signal.REFUSAL)
        if refusal.words and ((call and call.name) or is_told) and len(turn.refusals) < _MAX_REFUSALS:
            turn.refusals.append(refusal.words)

    def _find_call(self, call_id: str) -> tuple[CallDraft, TurnDraft] | None:
        """Return the latest open call with an id, and the turn it stands in."""
        turns = self.session.turns
        if not call_id or not turns:
            return None
        calls = turns[-1].calls
        if calls and calls[-1].id == call_id and not calls[-1].closed:
            return calls[-1], turns[-1]
        for turn in reversed(turns):
            call = turn.find_call(call_id)
            if call is not None and not call.closed:
                return call, turn
        return None

    def _is_known(self, call_id: str) -> bool:
        return any(turn.find_call(call_id) for turn in self.session.turns)
