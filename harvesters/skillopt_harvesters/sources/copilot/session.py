"""The events of one Copilot session, read into turns."""

from __future__ import annotations

import re
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import keep_id, redact_folder, redact_name
from skillopt_harvesters.claims import Claims, Copies
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.lines import PADDING, Chunk
from skillopt_harvesters.marks import fold, mark_of, marks_of, read_uuids
from skillopt_harvesters.records import Kind, Signal
from skillopt_harvesters.sources.base import is_own_folder
from skillopt_harvesters.sources.copilot import history, records, tools, words
from skillopt_harvesters.sources.copilot.calls import CallBook
from skillopt_harvesters.sources.copilot.memory import Memory
from skillopt_harvesters.sources.copilot.records import Context, Data, Event, ToolResult
from skillopt_harvesters.sources.copilot.steps import Steps
from skillopt_harvesters.sources.copilot.usage import Place, add_models
from skillopt_harvesters.sources.lined import Reader
from skillopt_harvesters.sources.loose import decode_any, decode_as, decode_line, decoder_of
from skillopt_harvesters.times import first_and_last, to_utc
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from collections.abc import Callable

# Reasons to abort that are not the user's.
_LIMITS = frozenset({"autopilot_credit_limit"})
_MAX_ELSEWHERE = 64
_type_of, _time_of, _data_of = attrgetter("type"), attrgetter("timestamp"), attrgetter("data")
_ASK = "user.message"
_OPENING = 4096
# One of its quotes may be what is damaged; inside a text they would be escaped.
_PROMPT = re.compile(rb'"user\.message|[^\\.]user\.message"')
_NOT_TYPED = re.compile(
    rb'"(?:source|parentToolCallId|agentId)":\s?"(?!user")|"isAutopilotContinuation":\s?true'
)
# The client takes a message of this source, and one of none, for a person's.
_PERSON = "user"
_REJECTED_BY_USER = "denied-interactively-by-user"


class CopilotReader(Reader[Memory]):
    """Takes events in file order. Events of sub-agents belong to the turn they work for."""

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        super().__init__(session, memory, claims, resumed=resumed)
        self.copies = Copies(
            f"{session.client}/{session.id}", claims, copied_from=memory.copied_from, resumed=resumed
        )
        self.calls = CallBook(session)
        self.steps = Steps(session, memory, self.calls)
        self.copied = False  # whether the event being taken is another session's
        self.handlers: dict[str, Callable[[Event, Data], None]] = {
            "session.start": self._take_start,
            "session.resume": self._take_start,
            "session.context_changed": self._take_start,
            "session.model_change": self._take_model,
            "session.import_legacy": self._take_legacy,
            "session.shutdown": self._take_shutdown,
            "session.usage_record": self._take_usage,
            "assistant.usage": self._take_usage,
            "session.error": self._take_error,
            "user.message": self._take_prompt,
            "system.message": self._take_system,
            "assistant.message": self._take_message,
            "tool.user_requested": self._take_shell_line,
            "tool.execution_start": self._take_call,
            "tool.execution_complete": self._take_result,
            "skill.invoked": self._take_skill,
            "skill.invoked_ref": self._take_skill,
            "permission.completed": self._take_permission,
            "abort": self._take_abort,
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
        self.copied = False
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
        self.copied = mark is not None and self._is_copied(event, mark)
        if not self.copied:
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
        if self.copied:
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
        if data.new_model and not self.copied and not event.agent_id:
            self.session.model = data.new_model

    def _take_legacy(self, _event: Event, data: Data) -> None:
        legacy = decode_any(data.legacy_session)
        if isinstance(legacy, dict) and not self.copied:
            entries = legacy.get("timeline")
            for entry in entries if isinstance(entries, list) else []:
                history.take_entry(self.session, entry)

    def _take_system(self, event: Event, data: Data) -> None:
        if event.agent_id or self.copied or not data.content:
            return
        alone = self.memory.alone = words.is_unattended(data.content)
        self.memory.unattended |= alone
        self.memory.attended |= not alone
        turn = self.turn
        if turn is not None and turn.is_untouched and not turn.copied:
            # It is written after the prompt it was first sent with.
            turn.typed = not alone
        self.session.offer_skills(words.find_offered_skills(data.content))

    def _take_prompt(self, event: Event, data: Data) -> None:
        if not is_prompt(event, data):
            if data.content is None and not _is_not_typed(event, data):
                self.session.meet_unknown("user.message/(none)")
                self.memory.lost = True
            return
        found = words.find_words(data.content or "")
        if data.agent_mode == "shell":
            found = words.Words((data.content or "").lstrip("! \n"), "!")
        if not found.prompt and not found.command:
            return
        self._open_turn(event, found)

    def _open_turn(self, event: Event, found: words.Words) -> TurnDraft:
        self.memory.spoken += 1
        self.memory.lost = False
        turn = self.session.open_turn(
            TurnDraft(
                prompt=found.prompt,
                command=found.command,
                typed=not self.memory.alone,
                started=to_utc(event.timestamp),
                copied=self.copied,
            )
        )
        turn.skills.update(dict.fromkeys(self.memory.skills))
        self.memory.skills = []
        return turn

    def _ensure_turn(self, event: Event) -> TurnDraft:
        """Return the turn that is going on; the agent may begin one by itself."""
        lost, self.memory.lost = self.memory.lost, False
        if lost and not (self.turn and self.turn.is_untouched):
            return self.session.miss_prompt(to_utc(event.timestamp), copied=self.copied)
        own = self._own_turn(event)
        if own is not None:
            return own
        if self.turn is not None:
            return self.turn
        turn = TurnDraft(typed=False, started=to_utc(event.timestamp), copied=self.copied)
        return self.session.open_turn(turn)

    def _own_turn(self, event: Event) -> TurnDraft | None:
        """Return the turn that goes on, as far as it is the same session's as the event.

        What a session did in a turn that a fork has, and the fork has not, stands in a turn of its own.
        """
        turn = self.turn
        if turn is None or turn.copied == self.copied or not event.id:
            return turn
        return None if self.copied else self.session.go_on_by_itself(to_utc(event.timestamp))

    def _take_message(self, event: Event, data: Data) -> None:
        turn = self._ensure_turn(event)
        source = event.id or ""
        is_agent = bool(event.agent_id or data.parent_tool_call_id)
        call = data.api_call_id if data.chunk_count else None
        message = call or data.message_id or source
        if data.output_tokens:
            key = keep_id(data.api_call_id or message)
            self.memory.ledger.take_message(self._find_place(turn), key, data.output_tokens)
        if self.copied and not turn.copied:
            calls = [keep_id(request.tool_call_id or "") for request in data.tool_requests or ()]
            self.memory.elsewhere = [*self.memory.elsewhere, *calls][-_MAX_ELSEWHERE:]
            return
        if data.content and data.content.strip() and not is_agent:
            turn.say(message, data.content, source)
        if data.model and not self.copied and not is_agent:
            self.session.model = data.model
        for request in data.tool_requests or ():
            self.calls.note(turn, request.tool_call_id, request.name, request.arguments, source)

    def _take_shell_line(self, event: Event, data: Data) -> None:
        """Take a command line the user typed: it is a turn of its own."""
        line = tools.read_input(data.arguments).command
        if line is None and not event.agent_id and data.tool_name in {*tools.SHELLS, None}:
            self.session.meet_unknown("tool.user_requested/(none)")
            self.memory.lost = True
        elif line and not event.agent_id:
            self._open_turn(event, words.Words(line, "!"))

    def _take_call(self, event: Event, data: Data) -> None:
        elsewhere = self.memory.elsewhere
        if elsewhere and keep_id(data.tool_call_id or "") in elsewhere:
            return
        turn = self._ensure_turn(event)
        if not self.copied or turn.copied:
            self.calls.note(turn, data.tool_call_id, data.tool_name, data.arguments, "")

    def _take_result(self, event: Event, data: Data) -> None:
        call = self.calls.find(data.tool_call_id or "")
        if call is not None and call.closed:
            return
        # The record with the call may be lost; what the user said to it is not.
        refusal = tools.find_refusal(data) if call is None else tools.close_call(call, data)
        if refusal is not None and data.tool_call_id not in self.memory.refused:
            self._note_refusal(event, refusal)

    def _take_permission(self, event: Event, data: Data) -> None:
        result = decode_as(data.result, ToolResult)
        if result and result.kind == _REJECTED_BY_USER and data.tool_call_id and not event.agent_id:
            self.memory.refused = [*self.memory.refused[-100:], data.tool_call_id]
            self._note_refusal(event, result.feedback or "")

    def _note_refusal(self, event: Event, reason: str) -> None:
        turn = self._own_turn(event)
        if turn:
            turn.signals.add(Signal.REFUSAL)
            if reason.strip():
                turn.refusals.append(reason.strip())

    def _take_skill(self, event: Event, data: Data) -> None:
        if not data.name:
            return
        if data.trigger == "user-invoked":
            self.memory.skills = [*self.memory.skills[-20:], redact_name(data.name)]
        elif turn := self._own_turn(event):
            turn.skills[data.name] = None

    def _take_abort(self, event: Event, data: Data) -> None:
        if not event.agent_id and data.reason not in _LIMITS and (turn := self._own_turn(event)):
            turn.signals.add(Signal.INTERRUPTION)

    def _take_error(self, event: Event, _data: Data) -> None:
        if not event.agent_id and (turn := self._own_turn(event)):
            turn.signals.add(Signal.ERROR)

    def _take_usage(self, event: Event, data: Data) -> None:
        usage = data.usage or msgspec.convert(data, records.Usage, from_attributes=True)
        key = keep_id(usage.api_call_id or event.id or "")
        self.memory.ledger.take_receipt(self.session, self._find_place(self.turn), key, usage)

    def _take_shutdown(self, event: Event, data: Data) -> None:
        if not self.memory.ledger.has_receipts:
            total = add_models(decode_any(data.model_metrics))
            self.memory.ledger.take_totals(self._find_place(None), f"totals {event.id}", total)

    def _find_place(self, turn: TurnDraft | None) -> Place | None:
        """Return where the event's tokens count: in the turn, or else the session; None for copies."""
        if self.copied:
            return None
        return self.session if turn is None or turn.copied else turn


_WORK = frozenset({"assistant.message", "tool.execution_start"})


def is_prompt(event: Event, data: Data) -> bool:
    """Tell whether a user message is a person's: not another agent's, the client's or a skill's."""
    return bool(data.content and data.content.strip()) and not _is_not_typed(event, data)


def _is_not_typed(event: Event, data: Data) -> bool:
    injected = (data.source or _PERSON) != _PERSON
    return bool(event.agent_id or data.parent_tool_call_id or injected or data.is_autopilot_continuation)


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
