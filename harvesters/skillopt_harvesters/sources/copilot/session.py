"""The events of one Copilot session, read into turns."""

from __future__ import annotations

import re
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import keep_id, redact_folder
from skillopt_harvesters.claims import Claims, Copies
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.lines import PADDING, Chunk
from skillopt_harvesters.marks import fold, mark_of, marks_of, read_uuids
from skillopt_harvesters.records import Kind
from skillopt_harvesters.sources.base import is_own_folder
from skillopt_harvesters.sources.copilot import history, records
from skillopt_harvesters.sources.copilot.calls import CallBook
from skillopt_harvesters.sources.copilot.memory import Memory
from skillopt_harvesters.sources.copilot.records import Context, Data, Event
from skillopt_harvesters.sources.copilot.steps import Steps
from skillopt_harvesters.sources.copilot.talk import Talk, is_prompt
from skillopt_harvesters.sources.copilot.usage import add_models
from skillopt_harvesters.sources.lined import Reader
from skillopt_harvesters.sources.loose import decode_any, decode_line, decoder_of
from skillopt_harvesters.times import first_and_last, to_utc
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from collections.abc import Callable

_type_of, _time_of, _data_of = attrgetter("type"), attrgetter("timestamp"), attrgetter("data")
_ASK = "user.message"
_WORK = frozenset({"assistant.message", "tool.execution_start"})
_OPENING = 4096
# One of its quotes may be what is damaged; inside a text they would be escaped.
_PROMPT = re.compile(rb'"user\.message|[^\\.]user\.message"')
_NOT_TYPED = re.compile(
    rb'"(?:source|parentToolCallId|agentId)":\s?"(?!user")|"isAutopilotContinuation":\s?true'
)


class CopilotReader(Reader[Memory]):
    """Takes events in file order. Events of sub-agents belong to the turn they work for."""

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        super().__init__(session, memory, claims, resumed=resumed)
        self.copies = Copies(
            f"{session.client}/{session.id}", claims, copied_from=memory.copied_from, resumed=resumed
        )
        self.calls = CallBook(session)
        self.steps = Steps(session, memory, self.calls)
        self.talk = talk = Talk(session, memory, self.calls)
        self.handlers: dict[str, Callable[[Event, Data], None]] = {
            "session.start": self._take_start,
            "session.resume": self._take_start,
            "session.context_changed": self._take_start,
            "session.model_change": self._take_model,
            "session.import_legacy": self._take_legacy,
            "session.shutdown": self._take_shutdown,
            "session.usage_record": self._take_usage,
            "assistant.usage": self._take_usage,
            "session.error": talk.take_error,
            "user.message": talk.take_prompt,
            "system.message": talk.take_system,
            "assistant.message": talk.take_message,
            "tool.user_requested": talk.take_shell_line,
            "tool.execution_start": talk.take_call,
            "tool.execution_complete": talk.take_result,
            "skill.invoked": talk.take_skill,
            "skill.invoked_ref": talk.take_skill,
            "permission.completed": talk.take_permission,
            "abort": talk.take_abort,
        }

    def take(self, line: bytes) -> None:
        self.take_all([line])

    def take_chunk(self, chunk: Chunk) -> bool:
        try:
            found = decoder_of(Event).decode_lines(chunk.view)
        except (msgspec.DecodeError, RecursionError):
            return False
        self._take_found(found)
        return True

    def take_all(self, lines: list[bytes]) -> None:
        decode = decoder_of(Event).decode
        found: list[Event] = []
        for line in lines:
            if line.startswith(records.NOISE) and line.find(records.OPENING, len(records.OPENING)) < 0:
                continue
            try:
                found.append(decode(line))
            except (msgspec.DecodeError, RecursionError):
                events, bad = decode_line(line.strip(PADDING), Event)
                self.session.bad += bad
                if bad and _PROMPT.search(line, 0, _OPENING):
                    self._take_found(found)
                    self.lose(line)
                    found = []
                found += events
        self._take_found(found)

    def lose(self, line: bytes) -> None:
        if _PROMPT.search(line, 0, _OPENING) and not _NOT_TYPED.search(line, 0, _OPENING):
            self.memory.lost = True

    def finish(self) -> None:
        self.session.kind = self._find_kind()
        self.memory.folder = redact_folder(self.memory.folder)
        self.copies.settle()
        self.memory.copied_from = list(self.copies.sessions)

    @property
    def turn(self) -> TurnDraft | None:
        return self.session.turn

    def _take_found(self, found: list[Event]) -> None:
        """Take events; those behind a prompt that cannot be read come when that is known."""
        start = 0
        kinds: set[str | None] = set(map(_type_of, found))
        if None in kinds or None in map(_data_of, found) or any(is_damaged(kind, _ASK) for kind in kinds):
            for place, event in enumerate(found):
                if _may_be_prompt(event):
                    self._take_events(self._pick(found[start : place + 1]))
                    self.memory.lost = True
                    start = place + 1
        self._take_events(self._pick(found[start:] if start else found))

    def _pick(self, found: list[Event]) -> list[Event]:
        """Return the events that have something to say; what should and has not is counted."""
        read = records.READ
        kinds: set[str | None] = set(map(_type_of, found))
        strange = {kind for kind in kinds if not (kind and records.is_known(kind))}
        if strange:
            for event in found:
                if event.type in strange and event.ephemeral is not True:
                    self.session.meet_unknown(event.type or "(none)")
        told = [event for event in found if event.type in read]
        picked = [event for event in told if event.data is not None]
        self.session.bad += len(told) - len(picked)
        return picked

    def _take_events(self, events: list[Event]) -> None:
        """Take events in order. What can be done for many at once is: most have nothing to tell but that."""
        start = 0
        while self.turn is None and start < len(events):
            self._take_one(events[start])
            start += 1
        events = events[start:]
        ids = [event.id for event in events if event.id]
        if len(ids) < len(events) or not self._take_new(events, ids):
            for event in events:
                self._take_one(event)

    def _take_new(self, events: list[Event], ids: list[str]) -> bool:
        """Take events if each comes for the first time; else take none."""
        numbers = read_uuids(ids)
        marks = marks_of(ids) if numbers is None else fold(numbers)
        if not self.copies.see_all(marks):
            return False
        if self.copies.are_own(marks, compress(marks, map(self._opens_turn, events))):
            self._take_own(events, plain=numbers is not None)
        else:
            for event, mark in zip(events, marks, strict=True):
                self._take_seen(event, mark)
        return True

    def _take_own(self, events: list[Event], *, plain: bool) -> None:
        """Take events of the session's own; those between two that are not usual go together."""
        self.talk.copied = False
        for time in first_and_last(list(map(_time_of, events))):
            self.session.see(time)
        place = self.steps.take(events, 0, plain=plain)
        while place < len(events):
            self._handle(events[place])
            place = self.steps.take(events, place + 1, plain=plain)

    def _take_one(self, event: Event) -> None:
        mark = mark_of(event.id) if event.id else None
        if mark is None or self.copies.see(mark):
            self._take_seen(event, mark)

    def _take_seen(self, event: Event, mark: int | None) -> None:
        self.talk.copied = mark is not None and self._is_copied(event, mark)
        if not self.talk.copied:
            self.session.see(to_utc(event.timestamp))
        self._handle(event)

    def _handle(self, event: Event) -> None:
        if event.type and event.data:
            self.handlers[event.type](event, event.data)

    def _is_copied(self, event: Event, mark: int) -> bool:
        opens = self._opens_turn(event) or (self.turn is None and event.type in _WORK)
        return self.copies.opens_copy(mark) if opens else self.copies.is_copy(mark)

    def _opens_turn(self, event: Event) -> bool:
        if event.type == "user.message":
            return event.data is not None and is_prompt(event, event.data)
        return event.type == "tool.user_requested"

    def _find_kind(self) -> Kind:
        if self.memory.is_replay:
            return Kind.REPLAY
        if self.session.parent:
            return Kind.SUBAGENT
        # Without a system prompt: a person, as far as anybody can tell.
        return Kind.HEADLESS if self.memory.unattended and not self.memory.attended else Kind.HUMAN

    def _take_start(self, event: Event, data: Data) -> None:
        if event.type != "session.context_changed":
            self.memory.ledger.start()
        if self.talk.copied:
            return
        session = self.session
        session.client_version = data.copilot_version or session.client_version
        session.model = session.model or data.selected_model
        session.parent = session.parent or data.detached_from_spawning_parent_session_id
        context = data.context or Context(data.cwd, data.branch, data.head_commit)
        if context.cwd and context.cwd != self.memory.folder:
            self.memory.folder = context.cwd
            session.project = session.project or context.cwd
            self.memory.is_replay |= is_own_folder(context.cwd)
        session.branch = session.branch or context.branch
        session.commit = session.commit or context.head_commit

    def _take_model(self, event: Event, data: Data) -> None:
        if data.new_model and not self.talk.copied and not event.agent_id:
            self.session.model = data.new_model

    def _take_legacy(self, _event: Event, data: Data) -> None:
        legacy = decode_any(data.legacy_session)
        if isinstance(legacy, dict) and not self.talk.copied:
            entries = legacy.get("timeline")
            for entry in entries if isinstance(entries, list) else []:
                history.take_entry(self.session, entry)

    def _take_usage(self, event: Event, data: Data) -> None:
        usage = data.usage or msgspec.convert(data, records.Usage, from_attributes=True)
        key = keep_id(usage.api_call_id or event.id or "")
        self.memory.ledger.take_receipt(self.session, self.talk.find_place(self.turn), key, usage)

    def _take_shutdown(self, event: Event, data: Data) -> None:
        if not self.memory.ledger.has_receipts:
            total = add_models(decode_any(data.model_metrics))
            self.memory.ledger.take_totals(self.talk.find_place(None), f"totals {event.id}", total)


def _may_be_prompt(event: Event) -> bool:
    """Tell whether a prompt is in an event that cannot be read for what it is."""
    kind, data = event.type, event.data
    if data is None:
        return kind == _ASK and not event.agent_id
    if kind is None:
        # Other events with a text have these beside it.
        told = (data.role, data.name, data.model, data.tool_requests)
        return told.count(None) == len(told) and is_prompt(event, data)
    return is_damaged(kind, _ASK) and is_prompt(event, data)
