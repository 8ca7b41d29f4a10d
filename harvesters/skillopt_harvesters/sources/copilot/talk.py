"""What the user and the agent said and did in a Copilot session, put into turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.calls import keep_id, redact_name
from skillopt_harvesters.records import Signal
from skillopt_harvesters.sources.copilot import tools, words
from skillopt_harvesters.sources.copilot.records import ToolResult
from skillopt_harvesters.sources.loose import decode_as
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from skillopt_harvesters.drafts import SessionDraft
    from skillopt_harvesters.sources.copilot.calls import CallBook
    from skillopt_harvesters.sources.copilot.memory import Memory
    from skillopt_harvesters.sources.copilot.records import Data, Event
    from skillopt_harvesters.sources.copilot.usage import Place

# Reasons to abort that are not the user's.
_LIMITS = frozenset({"autopilot_credit_limit"})
_MAX_ELSEWHERE = 64
# The client takes a message of these sources, and one of none, for a person's.
_PERSON = "user"
_PEOPLE = frozenset({_PERSON, words.OBJECTIVE})
_REJECTED_BY_USER = "denied-interactively-by-user"


class Talk:
    """Takes events in file order. Those of sub-agents belong to the turn they work for.

    `copied` says whether the event being taken is another session's.
    """

    def __init__(self, session: SessionDraft, memory: Memory, calls: CallBook) -> None:
        self.session = session
        self.memory = memory
        self.calls = calls
        self.copied = False

    def take_system(self, event: Event, data: Data) -> None:
        if event.agent_id or self.copied or not data.content:
            return
        alone = self.memory.alone = words.is_unattended(data.content)
        self.memory.unattended |= alone
        self.memory.attended |= not alone
        turn = self.session.turn
        if turn is not None and turn.is_untouched and not turn.copied:
            # It is written after the prompt it was first sent with.
            turn.typed = not alone
        self.session.offer_skills(words.find_offered_skills(data.content))

    def take_prompt(self, event: Event, data: Data) -> None:
        if not is_prompt(event, data):
            if data.content is None and not _is_not_typed(event, data):
                self.session.meet_unknown("user.message/(none)")
                self.memory.lost = True
            return
        found = words.find_words(data.content or "", data.transformed_content or "")
        if data.source == words.OBJECTIVE:
            found = words.find_objective(data.content or "")
        if data.agent_mode == "shell":
            found = words.Words((data.content or "").lstrip("! \n"), "!")
        if not found.prompt and not found.command:
            return
        self._open_turn(event, found)

    def _open_turn(self, event: Event, found: words.Words) -> TurnDraft:
        self.memory.spoken += 1
        self.memory.lost = False
        last = self.session.turn
        aside = found.command == "!" and last and last.is_waiting and last.copied == self.copied
        stopped = last and Signal.INTERRUPTION in last.signals
        add = self.session.open_aside if aside and not stopped else self.session.open_turn
        turn = add(
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
        if lost and not (self.session.turn and self.session.turn.is_untouched):
            return self.session.miss_prompt(to_utc(event.timestamp), copied=self.copied)
        own = self._own_turn(event)
        if own is not None:
            return own
        if self.session.turn is not None:
            return self.session.turn
        turn = TurnDraft(typed=False, started=to_utc(event.timestamp), copied=self.copied)
        return self.session.open_turn(turn)

    def _own_turn(self, event: Event) -> TurnDraft | None:
        """Return the turn that goes on, as far as it is the same session's as the event.

        What a session did in a turn that a fork has, and the fork has not, stands in a turn of its own.
        """
        turn = self.session.turn
        if turn is None or turn.copied == self.copied or not event.id:
            return turn
        return None if self.copied else self.session.go_on_by_itself(to_utc(event.timestamp))

    def take_message(self, event: Event, data: Data) -> None:
        turn = self._ensure_turn(event)
        source = event.id or ""
        is_agent = bool(event.agent_id or data.parent_tool_call_id)
        call = data.api_call_id if data.chunk_count else None
        message = call or data.message_id or source
        if data.output_tokens:
            key = keep_id(data.api_call_id or message)
            self.memory.ledger.take_message(self.find_place(turn), key, data.output_tokens)
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

    def take_shell_line(self, event: Event, data: Data) -> None:
        """Take a command line the user typed: it is a turn of its own."""
        line = tools.read_input(data.arguments).command
        if line is None and not event.agent_id and data.tool_name in {*tools.SHELLS, None}:
            self.session.meet_unknown("tool.user_requested/(none)")
            self.memory.lost = True
        elif line and not event.agent_id:
            self._open_turn(event, words.Words(line, "!"))
            self.memory.line = keep_id(data.tool_call_id or "")

    def take_call(self, event: Event, data: Data) -> None:
        elsewhere = self.memory.elsewhere
        if elsewhere and keep_id(data.tool_call_id or "") in elsewhere:
            return
        turn = self._ensure_turn(event)
        if self.memory.line and keep_id(data.tool_call_id or "") == self.memory.line:
            # The agent may be at work on another turn.
            turn = next((one for one in reversed(self.session.turns) if one.command == "!"), turn)
        if not self.copied or turn.copied:
            self.calls.note(turn, data.tool_call_id, data.tool_name, data.arguments, "")

    def take_result(self, event: Event, data: Data) -> None:
        call = self.calls.find(data.tool_call_id or "")
        if call is not None and call.closed:
            return
        # The record with the call may be lost; what the user said to it is not.
        refusal = tools.find_refusal(data) if call is None else tools.close_call(call, data)
        if refusal is not None and data.tool_call_id not in self.memory.refused:
            self._note_refusal(event, refusal)

    def take_permission(self, event: Event, data: Data) -> None:
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

    def take_skill(self, event: Event, data: Data) -> None:
        if not data.name:
            return
        if data.trigger == "user-invoked":
            self.memory.skills = [*self.memory.skills[-20:], redact_name(data.name)]
        elif turn := self._own_turn(event):
            turn.skills[data.name] = None

    def take_abort(self, event: Event, data: Data) -> None:
        if not event.agent_id and data.reason not in _LIMITS and (turn := self._own_turn(event)):
            turn.signals.add(Signal.INTERRUPTION)

    def take_error(self, event: Event, _data: Data) -> None:
        if not event.agent_id and (turn := self._own_turn(event)):
            turn.signals.add(Signal.ERROR)

    def find_place(self, turn: TurnDraft | None) -> Place | None:
        """Return where the event's tokens count: in the turn, or else the session; None for copies."""
        if self.copied:
            return None
        return self.session if turn is None or turn.copied else turn


def is_prompt(event: Event, data: Data) -> bool:
    """Tell whether a user message is a person's: not another agent's, the client's or a skill's."""
    return bool(data.content and data.content.strip()) and not _is_not_typed(event, data)


def _is_not_typed(event: Event, data: Data) -> bool:
    injected = (data.source or _PERSON) not in _PEOPLE
    return bool(event.agent_id or data.parent_tool_call_id or injected or data.is_autopilot_continuation)
