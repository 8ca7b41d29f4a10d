"""Reads the client's stream of JSON lines while it runs, in memory bounded by the longest line kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, structs

from skillopt_replay.agents.claude_events import (
    Event,
    Message,
    decode,
    find_command,
    find_exit_code,
    find_text,
    show_arguments,
    show_input,
    to_text,
    weigh_media,
)
from skillopt_replay.agents.claude_usage import TOKEN_LETTERS, ReplyCount, Tokens, add_up, to_usage, weigh
from skillopt_replay.agents.spending import Tally, find_excess, find_larger, share
from skillopt_replay.agents.traces import MAX_ERROR, Lines, Reading, Trace
from skillopt_replay.faults import GAVE_UP, guess_fault
from skillopt_replay.rollouts import Fault, Outcome, Usage

if TYPE_CHECKING:
    from collections.abc import Collection

    from skillopt_replay.agents.claude_usage import Price
    from skillopt_replay.protocols import Limits

_TOO_LONG = re.compile(r"prompt is too long|output token maximum|context (?:window|limit)", re.IGNORECASE)
_CUT = "cut off mid-stream"  # the client's own words when it asks the model to go on


class StreamReader:
    """Takes the output in pieces; `finish` returns what it said.

    `skill_names` are the names under which the skill on offer can be called; `price` returns the dollars of a
    reply of a model, None where it does not know the price.

    Lines longer than `max_line` bytes, and lines that are not what they should be, are skipped and
    counted.
    """

    def __init__(
        self, skill_names: Collection[str] = (), *, price: Price | None = None, max_line: int = 4_000_000
    ) -> None:
        self._skill_names = frozenset(skill_names)
        self._lines = Lines(self._read, max_line=max_line, pass_over=self._pass_over)
        self._model = ""
        self._trace = Trace()
        self._skill_calls: set[str] = set()
        self._loaded = False
        self._text = ""
        self._replies = ReplyCount(price)
        self._thought = 0
        self._read_so_far = 0
        self._refused = 0
        self._unheard = 0
        self._fault: Fault | None = None
        self._retrying = False
        self._cut = False
        self._replied = False
        self._lost = 0
        self._owing = False
        self._excess: str | None = None
        self._result: Event | None = None

    def feed(self, data: bytes) -> None:
        self._lines.feed(data)

    def over(self, limits: Limits) -> bool:
        """Whether the tokens are used up and the model would be called again.

        The client itself counts money, and turns, but not those of the helpers it starts.
        """
        if self._excess is None and self._owing and self._result is None:
            self._excess = find_excess(limits, self._find_used(), len(self._replies) - 1)
        return self._excess is not None

    def _find_used(self) -> Usage:
        """Return the tokens of the replies, what they seem to have thought and written included."""
        return structs.replace(self._replies.priced, cost_usd=None)

    def tally(self) -> Tally:
        """Return what the run has told of its requests; see Metered."""
        replies = self._replies
        told = replies.ended + self._refused
        return Tally(usage=replies.priced, dearest=replies.dearest, told=told, unheard=self._unheard)

    def halt(self, why: str) -> None:
        """Take note that the run is stopped; see Metered."""
        if self._result is None:
            self._excess = self._excess or why

    def _pass_over(self, length: int) -> None:
        # So long is only what a tool gave, such as a document.
        self._replies.end(None)
        self._trace.given += length

    def _read(self, line: bytes) -> bool:
        try:
            event = decode(line)
        except (DecodeError, RecursionError):
            return False
        if event.type == "system":
            self._read_system(event)
        elif event.type == "assistant" and event.message:
            self._read_reply(event.message, event.parent_tool_use_id)
        elif event.type == "user" and event.message:
            self._replies.end(event.parent_tool_use_id)
            self._read_results(event.message)
            self._trace.give(find_text(event.message))  # such as a skill that was loaded
            self._cut = event.is_synthetic and _CUT in find_text(event.message)
        elif event.type == "result":
            self._result = event
            self._replies.end_all()
        return True

    def _read_system(self, event: Event) -> None:
        if event.subtype == "init":
            self._model = event.model or ""
        elif event.subtype == "task_notification" and event.status == "completed":
            if isinstance(event.tool_use_id, str):
                self._replies.end(event.tool_use_id)  # of a helper in the background nothing else tells it
        elif event.subtype == "thinking_tokens":
            self._thought += max(event.estimated_tokens_delta, 0)
        elif event.subtype == "api_retry":
            self._retrying = True
            self._fault = guess_fault(event.error_status, event.error or "")
            self._lost += self._fault is Fault.CUT
            is_told = event.error_status not in {None, *GAVE_UP}
            if not is_told and self._fault is not Fault.CUT:
                self._unheard += 1
            else:
                self._refused += 1

    def _read_reply(self, message: Message, helper: str | None) -> None:
        if message.model == "<synthetic>":
            self._refused += 1  # for good, or cut: the client's own words in place of a reply
            return
        aside = helper is not None
        if not aside:
            self._result = None  # it goes on, as a helper in the background has come to its end
        if message.model and not aside:
            # Who answered, which need not be who was asked for; helpers of the client do not count.
            self._model = message.model
        self._replied, self._retrying = True, False
        blocks = message.content if isinstance(message.content, list) else []
        shown = sum(weigh(block.thinking) for block in blocks)
        # Of most of what it thinks the service tells the length alone.
        said = max(shown, self._thought * TOKEN_LETTERS)
        self._thought = 0
        said += sum(weigh(block.text) + weigh(show_input(block)) for block in blocks)
        usage = to_usage(message.usage or Tokens())
        if self._replies.take(message.id, message.model, usage, said=said, helper=helper):
            self._owing = False
            if not aside:
                self._read_so_far = self._trace.given
        for block in blocks:
            if block.type == "text":
                self._text = block.text
                if not aside:
                    self._trace.say(block.text)
            elif block.type == "tool_use":
                self._owing = True
                self._trace.call(
                    block.id, block.name, command=find_command(block), arguments=show_arguments(block)
                )
                if block.name == "Skill" and self._names_our_skill(block.input or {}):
                    self._skill_calls.add(block.id)

    def _names_our_skill(self, arguments: dict[str, Any]) -> bool:
        asked = arguments.get("skill") or arguments.get("command") or ""
        return str(asked).lstrip("/") in self._skill_names

    def _read_results(self, message: Message) -> None:
        for block in message.content if isinstance(message.content, list) else []:
            if block.type != "tool_result":
                continue
            self._replies.end(block.tool_use_id)
            if block.tool_use_id in self._skill_calls and not block.is_error:
                self._loaded = True
            output = to_text(block.content)
            self._trace.given += weigh_media(block.content)
            error = (output or "error") if block.is_error else None
            self._trace.end(block.tool_use_id, error=error, exit_code=find_exit_code(error), output=output)

    def finish(self) -> Reading:
        """Return what was read; a last line without its line end counts as well."""
        self._lines.finish()
        result = self._result
        outcome, error, fault = (None, None, self._fault) if result is None else _judge(result, cut=self._cut)
        if self._excess is not None:
            outcome, error, fault = Outcome.LIMIT, self._excess, None
        usage, largest = self._replies.usage, self._replies.largest
        if result is not None:
            usage = self._replies.settle(add_up(result.model_usage, result.usage, result.total_cost_usd))
            if self._replied:
                # What was thought is told by the result alone.
                largest = find_larger(largest, share(usage, len(self._replies) + self._lost))
        lost = self._lost
        if not usage.tokens:
            # A service that tells no tokens: what its replies took is not known.
            lost, largest = lost + len(self._replies), Usage()
        elif result is None:
            usage = self._find_used()
        return Reading(
            outcome=outcome,
            answer=(result.result or "") if result and outcome is Outcome.FINISHED else self._text,
            error=error,
            fault=fault,
            model=self._model,
            calls=self._trace.calls,
            steps=self._trace.steps,
            usage=usage,
            skill_loaded=self._loaded,
            denied=tuple(d.tool_name for d in (result.permission_denials or []) if result) if result else (),
            replied=self._replied,
            waiting_for_service=result is None and (self._retrying or not self._replied),
            idle=self._trace.idle,
            lost=lost,
            asking=result is None and self._trace.idle,
            largest=largest,
            unread=self._trace.given - self._read_so_far + self._thought,
            skipped=self._lines.skipped,
        )


def _judge(result: Event, *, cut: bool) -> tuple[Outcome, str | None, Fault | None]:
    said = (
        result.result or "; ".join(str(e) for e in result.errors or ()) or result.subtype or "no reason given"
    )
    if result.subtype in ("error_max_turns", "error_max_budget_usd"):
        return Outcome.LIMIT, said, None
    if _TOO_LONG.search(said) and result.is_error:
        return Outcome.LIMIT, said[:MAX_ERROR], None
    if result.stop_reason == "refusal":
        return Outcome.INFRASTRUCTURE, said[:MAX_ERROR], Fault.REFUSAL
    if result.is_error or result.subtype != "success":
        status = f" (status {result.api_error_status})" if result.api_error_status else ""
        fault = guess_fault(result.api_error_status, said)
        return Outcome.INFRASTRUCTURE, said[:MAX_ERROR] + status, fault
    if cut or result.stop_reason is None:
        # Reported as a success, with the half that arrived or the half that came after.
        error = "the connection was cut in the middle of the last reply"
        return Outcome.INFRASTRUCTURE, error, Fault.CUT
    return Outcome.FINISHED, None, None
