"""The steps of an agent at work, each told in several records: a call, its tokens, its end, its output.

What each of them costs is most of the time that a harvest of small records takes, so that they share one
loop. Whatever is rarer goes one by one, as `CodexReader` takes it; both ways lead to the same turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import CallDraft, digest_of, keep_id
from skillopt_harvesters.sources.codex import patches
from skillopt_harvesters.sources.codex.calls import CallBook, ended_as_usual
from skillopt_harvesters.sources.codex.outputs import has_ended_well
from skillopt_harvesters.sources.codex.records import NULL
from skillopt_harvesters.sources.codex.tokens import to_tokens
from skillopt_harvesters.sources.codex.work import NOISE
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_harvesters.sources.codex.book import TurnBook
    from skillopt_harvesters.sources.codex.memory import Memory
    from skillopt_harvesters.sources.codex.talk import Talk
    from skillopt_harvesters.sources.codex.work import Work, WorkRecord


class Input(msgspec.Struct, frozen=True, gc=False):
    """The arguments of a shell tool whose command is a line."""

    cmd: str | None = None
    command: str | None = None


_decode_text = msgspec.json.Decoder(str).decode
_decode_input = msgspec.json.Decoder(Input).decode

_CALL, _OUTPUT, _USAGE, _ITEM, _SUM, _NOISE = range(1, 7)
_KINDS: dict[tuple[str | None, str | None], int] = {
    **dict.fromkeys(NOISE, _NOISE),
    ("response_item", "function_call"): _CALL,
    ("response_item", "function_call_output"): _OUTPUT,
    ("token_usage_record", None): _USAGE,
    ("event_msg", "item_completed"): _ITEM,
    ("event_msg", "token_count"): _SUM,
}


class Steps:
    """Takes usual records into the turn that goes on."""

    def __init__(self, memory: Memory, turns: TurnBook, calls: CallBook, talk: Talk) -> None:
        self.memory = memory
        self.turns = turns
        self.calls = calls
        self.talk = talk

    def take(  # noqa: PLR0912, PLR0915 - to call anything for each record takes as long as what is done for it
        self, found: Sequence[WorkRecord], start: int
    ) -> int:
        """Take usual records from a place on; return the place of the first one that is not usual."""
        memory, turn = self.memory, self.turns.latest
        if turn is None or turn.head is None or memory.lost or not self.turns.owns_all(turn):
            return start
        talk, ledger, meter, known = self.talk, memory.ledger, memory.meter, self.calls.known
        session, kinds = self.turns.session.id, _KINDS
        # Names of what was done, by which forks are told from it.
        done: list[str] = []
        place = start
        for place in range(start, len(found)):
            record = found[place]
            work = record.payload
            kind = kinds.get((record.type, work.type)) if work is not None else None
            if work is None or kind is None:
                break
            if kind == _NOISE:
                continue
            if kind == _OUTPUT:
                holder = known.get(work.call_id) if work.call_id else None
                if holder is None or not _ends_well(holder[1], work):
                    break
                call = holder[1]
                call.closed = True
                if call.exit_code is None:
                    call.exit_code = 0
            elif kind == _USAGE:
                name, usage = work.response_id, work.usage
                if not name or usage is None:
                    break
                turn.count(name, to_tokens(usage))
                meter.itemised = True
                done.append(f"usage {name}")
            elif kind == _SUM:
                if not meter.itemised or work.info is None:
                    break
                meter.take_sum(work.info, copied=False)
            elif kind == _ITEM:
                item, thread = work.item, work.thread_id
                if item is None or (thread and thread != session) or not ended_as_usual(item):
                    break
                name = item.call_id or item.id
                holder = known.get(name) if name else None
                if holder is None or holder[1].command is None:
                    break
                if holder[1].exit_code is None:
                    holder[1].exit_code = item.exit_code
            else:
                call_id = work.call_id
                if not call_id or call_id in known or memory.early or not self._add(turn, work, call_id):
                    break
                done.append(call_id)
            if ledger.fresh or talk.fresh:
                talk.fresh, ledger.fresh = ledger.fresh, 0
        else:
            place = len(found)
        self.turns.own(turn, done)
        return place

    def _add(self, turn: TurnDraft, told: Work, call_id: str) -> bool:
        """Add the call of a shell tool to a turn; False when it is to be looked at more closely."""
        name = told.name
        if name not in patches.SHELL_TOOLS or told.arguments is NULL or keep_id(call_id) is not call_id:
            return False
        try:
            written = _decode_text(told.arguments)
            given = _decode_input(written)
        except (msgspec.DecodeError, RecursionError):
            return False
        if "Patch" in written:
            return False
        command = given.command if given.cmd is None else given.cmd
        call = CallDraft(name, call_id, digest_of(told.arguments), command)
        turn.add_calls([call])
        if not turn.calls_left_out:
            self.calls.known[call_id] = turn, call
        return True


def _ends_well(call: CallDraft, told: Work) -> bool:
    """Tell whether an output says that its call ended well, and nothing else."""
    if call.closed or call.name == "write_stdin" or (call.command and patches.SKILL_FILE in call.command):
        return False
    return has_ended_well(told.output)
