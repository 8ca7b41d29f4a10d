"""Reads the client's stream of JSON events while it runs, in memory bounded by the longest line kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.copilot_events import (
    CallEnd,
    CallOutcome,
    CallStart,
    Event,
    Failure,
    Reply,
    SkillInvoked,
    data_of,
)
from skillopt_replay.agents.copilot_usage import UsageFile
from skillopt_replay.agents.spending import Tally, find_excess
from skillopt_replay.agents.traces import MAX_ERROR, Lines, Reading, Trace
from skillopt_replay.faults import GAVE_UP, guess_fault, name_fault
from skillopt_replay.rollouts import Fault, Outcome

if TYPE_CHECKING:
    from skillopt_replay.protocols import Limits

_SKILL_TOOL = "skill"
_SILENCE = "no response was returned"
_TOO_LONG = "context_limit"
# A token just renewed may be refused once; one refused again is no good.
_REFUSALS = 2


_DECODER = msgspec.json.Decoder(Event)


class StreamReader:
    """Takes the output in pieces; `finish` returns what it said.

    `skill` is the name of the skill on offer; `spent` tells tokens and money, which the stream does not.
    Lines longer than `max_line` bytes, and lines that are not what they should be, are skipped and counted.
    """

    def __init__(
        self, skill: str | None = None, spent: UsageFile | None = None, *, max_line: int = 4_000_000
    ) -> None:
        self._skill = skill
        self._spent = spent or UsageFile()
        self._lines = Lines(self._read, max_line=max_line)
        self._trace = Trace()
        self._tools: dict[str, str] = {}
        self._denied: list[str] = []
        self._skill_calls: set[str] = set()
        self._loaded = False
        self._model = ""
        self._text = ""
        self._turns = 0
        self._sent = self._read_so_far = 0
        self._owing = False
        self._replied = False
        self._refusals = self._failures = self._unheard = 0
        self._streaming = self._asking = False
        self._lost = 0
        self._broken_off = False
        self._fault: Fault | None = None
        self._error: str | None = None
        self._too_long = False
        self._excess: str | None = None
        self._exit_code: int | None = None
        self._takers = {
            "assistant.message": self._take_reply,
            "assistant.turn_end": self._take_turn_end,
            "assistant.message_start": self._take_beginning,
            "model.call_start": self._take_dispatch,
            "model.call_failure": self._take_failure,
            "model.call_finished": self._take_outcome,
            "tool.execution_start": self._take_call,
            "tool.execution_complete": self._take_call_end,
            "skill.invoked": self._take_skill,
            "session.error": self._take_error,
            "abort": self._take_abort,
            "result": self._take_result,
        }

    def feed(self, data: bytes) -> None:
        self._lines.feed(data)

    def over(self, limits: Limits) -> bool:
        """Whether the run has to be stopped: a limit is reached, or asking again does not help.

        The client knows no limit on turns and tokens; its own on money takes the tools away long before
        it is reached. An empty account it asks again for minutes.
        """
        if self._exit_code is not None or self._broken_off:
            return False
        if self._is_hopeless:
            return True
        if self._excess is None and self._owing:
            self._spent.read()
            self._excess = find_excess(limits, self._spent.meter.usage, self._turns)
        return self._excess is not None

    def tally(self) -> Tally:
        """Return what the run has told of its requests; see Metered."""
        self._spent.read()
        meter = self._spent.meter
        # A failed request is told twice, here at once.
        told = max(meter.replies, self._failures) - self._unheard
        return Tally(usage=meter.usage, dearest=meter.dearest, told=told, unheard=self._unheard)

    def halt(self, why: str) -> None:
        """Take note that the run is stopped; see Metered."""
        if self._exit_code is None and not self._broken_off:
            self._excess = self._excess or why

    @property
    def _is_hopeless(self) -> bool:
        if self._fault is None or not self._fault.permanent or not self._refusals:
            return False
        return self._fault is Fault.MONEY or self._refusals >= _REFUSALS

    def _read(self, line: bytes) -> bool:
        try:
            event = _DECODER.decode(line)
            take = self._takers.get(event.type)
            if take is not None:
                take(event)
        except (msgspec.DecodeError, RecursionError):
            return False
        return True

    def _take_reply(self, event: Event) -> None:
        reply = data_of(event, Reply)
        self._note_answer()
        if event.agent_id is not None:
            return  # helpers of the client speak to it, not to the user
        self._model = reply.model or self._model
        # What this reply itself used is told once its tools have ended.
        self._sent, self._read_so_far = self._trace.given, self._sent
        self._owing = bool(reply.tool_requests)
        if reply.chunk_index:
            self._text += reply.content
        elif reply.content.strip():
            self._text = reply.content
        self._trace.say(reply.content)

    def _take_turn_end(self, _event: Event) -> None:
        self._turns += 1  # those of its helpers as well

    def _take_beginning(self, _event: Event) -> None:
        self._streaming = True

    def _take_dispatch(self, _event: Event) -> None:
        self._streaming = False
        self._asking = True

    def _take_failure(self, event: Event) -> None:
        failure = data_of(event, Failure)
        self._refusals += 1
        self._failures += 1
        self._asking = False
        self._fault = guess_fault(failure.status_code, failure.words)
        if failure.status_code is None and self._streaming:
            self._fault = Fault.CUT
            self._lost += 1
        elif failure.status_code is None or failure.status_code in GAVE_UP:
            self._unheard += 1
        self._error = failure.words[:MAX_ERROR] or None

    def _take_outcome(self, event: Event) -> None:
        self._asking = False
        if data_of(event, CallOutcome).outcome == "success":
            self._note_answer()

    def _note_answer(self) -> None:
        self._replied, self._refusals, self._fault, self._error = True, 0, None, None

    def _take_call(self, event: Event) -> None:
        start = data_of(event, CallStart)
        self._trace.call(start.tool_call_id, start.tool_name, command=start.command, arguments=start.text)
        self._tools[start.tool_call_id] = start.tool_name
        if start.tool_name == _SKILL_TOOL and self._skill and start.given.get("skill") == self._skill:
            self._skill_calls.add(start.tool_call_id)

    def _take_call_end(self, event: Event) -> None:
        end = data_of(event, CallEnd)
        name = self._tools.pop(end.tool_call_id, "")
        if end.denied:
            self._denied.append(name)
        if end.tool_call_id in self._skill_calls and end.failure is None:
            self._loaded = True
        self._trace.given += end.loaded
        self._trace.end(end.tool_call_id, error=end.failure, exit_code=end.exit_code, output=end.output)

    def _take_skill(self, event: Event) -> None:
        if self._skill and data_of(event, SkillInvoked).name == self._skill:
            self._loaded = True

    def _take_error(self, event: Event) -> None:
        failure = data_of(event, Failure)
        status = f" (status {failure.status_code})" if failure.status_code else ""
        self._error = (failure.message or failure.words or "no reason given")[:MAX_ERROR] + status
        self._too_long = failure.error_type == _TOO_LONG
        if _SILENCE in self._error.lower():
            self._fault = Fault.REPLY
        elif named := name_fault(failure.error_type or ""):
            self._fault = named
        elif self._fault is None:
            self._fault = guess_fault(failure.status_code, failure.words)

    def _take_abort(self, event: Event) -> None:
        self._broken_off = self._broken_off or event.agent_id is None

    def _take_result(self, event: Event) -> None:
        # Broken off, the client reports success all the same.
        if event.exit_code is not None and not self._broken_off:
            self._exit_code = event.exit_code

    def finish(self) -> Reading:
        """Return what was read; a last line without its line end counts as well."""
        self._lines.finish()
        self._spent.read()
        outcome, error, fault = self._judge()
        return Reading(
            outcome=outcome,
            answer=self._text,
            error=error,
            fault=fault,
            model=self._model,
            calls=self._trace.calls,
            steps=self._trace.steps,
            usage=self._spent.meter.total,
            skill_loaded=self._loaded,
            denied=tuple(self._denied),
            replied=self._replied,
            waiting_for_service=self._exit_code is None and (self._refusals > 0 or not self._replied),
            idle=self._trace.idle,
            # A failed request has a line among the replies as well, without tokens.
            lost=self._lost + max(self._spent.meter.silent - self._failures, 0),
            asking=self._exit_code is None and self._asking,
            largest=self._spent.meter.largest,
            unread=self._trace.given - self._read_so_far,
            skipped=self._lines.skipped,
        )

    def _judge(self) -> tuple[Outcome | None, str | None, Fault | None]:
        if self._excess is not None:
            return Outcome.LIMIT, self._excess, None
        if self._exit_code is None:
            outcome = Outcome.INFRASTRUCTURE if self._is_hopeless else None
            return outcome, self._error, self._fault
        if self._exit_code == 0:
            return self._judge_success()
        if self._too_long:
            return Outcome.LIMIT, self._error, None
        if self._spent.withheld:
            return self._judge_success()
        error = self._error or f"copilot ended with {self._exit_code} and gave no reason"
        return Outcome.INFRASTRUCTURE, error, self._fault or Fault.CLIENT

    def _judge_success(self) -> tuple[Outcome, str | None, Fault | None]:
        if self._spent.withheld:
            return Outcome.INFRASTRUCTURE, "the service withheld its last reply", Fault.REFUSAL
        return Outcome.FINISHED, None, None
