"""Sessions of the oldest CLI: one document each, with a timeline of what was shown.

The same document is an event of a session that a later version imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_harvesters.claims import Claims, Copies, mark_of
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.records import Signal
from skillopt_harvesters.sources.base import Reading
from skillopt_harvesters.sources.copilot import tools, words
from skillopt_harvesters.sources.loose import coerce, decode_any, decode_text
from skillopt_harvesters.sources.skim import MAX_HELD, Readable, Skimmer, Torn, Wanted
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from skillopt_harvesters.drafts import SessionDraft

_ARGUMENTS: Wanted = {"command": True, "path": True, "file_text": True, "skill": True, "input": True}
_ENTRY: Wanted = {
    "id": True,
    "timestamp": True,
    "type": True,
    "text": True,
    "callId": True,
    "name": True,
    "arguments": _ARGUMENTS,
    "result": {"type": True, "log": True},
}
_SHOWN = frozenset({"info", "group_tool_call_requested", "group_tool_call_completed"})


class Outcome(msgspec.Struct, frozen=True):
    """How a tool call ended: success, failure, rejected (by the user) or denied (by a rule)."""

    type: str | None = None
    log: str | None = None


class Entry(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A piece of the timeline."""

    id: str | None = None
    timestamp: str | int | float | None = None
    type: str | None = None
    text: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"null")
    result: Outcome | None = None


def read_document(stream: Readable, session: SessionDraft, claims: Claims) -> Reading:
    """Read a whole document; a timeline that breaks off is read as far as it goes."""
    copies = Copies(f"{session.client}/{session.id}", claims)
    skimmer = Skimmer(stream)
    try:
        for key in skimmer.members():
            if key == "startTime":
                session.see(to_utc(decode_text(skimmer.take(MAX_HELD) or b"")))
            elif key == "selectedModel":
                session.model = decode_text(skimmer.take(MAX_HELD) or b"") or None
            elif key == "timeline":
                for _ in skimmer.items():
                    value = skimmer.take(MAX_HELD) or skimmer.prune(_ENTRY)
                    take_entry(session, decode_any(value), copies)
    except Torn:
        session.bad += 1
    while skimmer.more():
        skimmer.position = len(skimmer.buffer)
    copies.settle()
    return Reading(session=session.close(), offset=skimmer.offset)


def take_entry(session: SessionDraft, value: Any, copies: Copies | None = None) -> None:
    """Take a piece of the timeline, decoded; anything else is counted."""
    if not isinstance(value, dict):
        session.bad += 1
        return
    entry = coerce(value, Entry)
    copied = False
    if entry.id and copies:
        mark = mark_of(entry.id)
        if not copies.see(mark):
            return
        copied = copies.opens_copy(mark) if entry.type == "user" else copies.is_copy(mark)
    if not copied:
        session.see(to_utc(entry.timestamp))
    if entry.type == "user":
        found = words.find_words(entry.text or "")
        if found.prompt or found.command:
            turn = TurnDraft(prompt=found.prompt, command=found.command, started=to_utc(entry.timestamp))
            turn.copied = copied
            session.open_turn(turn)
        elif entry.text is None:
            session.meet_unknown("user/(none)")
            session.miss_prompt(to_utc(entry.timestamp), copied=copied)
    elif entry.type in {"copilot", "error", "tool_call_requested", "tool_call_completed"}:
        _take_work(session, entry)
    elif entry.type not in _SHOWN:
        session.meet_unknown(entry.type or "(none)")
        if is_damaged(entry.type, "user") and entry.text and entry.text.strip():
            session.miss_prompt(to_utc(entry.timestamp), copied=copied)


def _take_work(session: SessionDraft, entry: Entry) -> None:
    turn = session.turn or session.open_turn(TurnDraft(typed=False, started=to_utc(entry.timestamp)))
    source = entry.id or ""
    if entry.type == "copilot":
        if entry.text and entry.text.strip():
            turn.say(source, entry.text, source)
        return
    if entry.type == "error":
        turn.signals.add(Signal.ERROR)
        return
    call = next((found for open_ in session.turns if (found := open_.find_call(entry.call_id or ""))), None)
    if call is None:
        call = tools.make_call(entry.name or "", entry.call_id or "", entry.arguments, source)
        turn.add_call(call)
    if entry.type == "tool_call_completed" and entry.result:
        log = entry.result.log or ""
        if entry.result.type == "success":
            call.exit_code = words.find_exit_code(log) if call.name in tools.SHELLS else None
            if call.exit_code:
                call.fail(log)
        else:
            call.fail(log)
        if entry.result.type == "rejected":
            turn.signals.add(Signal.REFUSAL)
