"""Reads what `codex exec --json` tells while it runs, in memory bounded by the longest line kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.agents.codex_log import LogReader, TurnUsage
from skillopt_replay.agents.codex_words import fills_context, find_words, is_cut, read_retry, unwrap
from skillopt_replay.agents.spending import Tally, find_excess
from skillopt_replay.agents.traces import MAX_ERROR, Lines, Reading, Trace
from skillopt_replay.faults import guess_fault
from skillopt_replay.rollouts import Fault, Outcome, Usage

if TYPE_CHECKING:
    from skillopt_replay.agents.codex_log import Price
    from skillopt_replay.protocols import Limits
    from skillopt_replay.skills import Skill

_NAMES = {"file_change": "apply_patch", "web_search": "web_search", "todo_list": "update_plan"}


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _Item(msgspec.Struct, frozen=True):
    id: str = ""
    type: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    status: str | None = None
    tool: str = ""
    error: _Error | None = None
    changes: Any = None
    arguments: Any = None
    prompt: Any = None
    query: Any = None
    items: Any = None
    result: Any = None


class _Event(msgspec.Struct, frozen=True):
    type: str = ""
    item: _Item | None = None
    message: str = ""
    error: _Error | None = None
    usage: TurnUsage | None = None


_DECODER = msgspec.json.Decoder(_Event)


class StreamReader:
    """Takes the output in pieces, and the log by `log.feed`; `finish` returns what they said.

    `skill` is the one on offer, if any, and `named` says that the prompt calls it by its name, which puts it
    before the model at once. `price` is as for LogReader. Lines longer than `max_line` bytes, and lines that
    are not what they should be, are skipped and counted.
    """

    def __init__(
        self,
        skill: Skill | None = None,
        *,
        named: bool = False,
        price: Price | None = None,
        max_line: int = 4_000_000,
    ) -> None:
        self._trace = Trace()
        self.log = LogReader(self._trace, price)
        self._lines = Lines(self._read, max_line=max_line)
        self._skill = skill
        self._loaded = named
        self._text = ""
        self._denied: list[str] = []
        self._replied = False
        self._lost = 0
        self._told: Usage | None = None
        self._error: str | None = None
        self._fault: Fault | None = None
        self._end: tuple[Outcome, str | None, Fault | None] | None = None
        self._stopped = False

    def feed(self, data: bytes) -> None:
        self._lines.feed(data)

    def over(self, limits: Limits) -> bool:
        """Whether the run is over its limits, or waits for what waiting does not help."""
        if self._end is not None:
            return self._stopped
        if self._fault is not None and self._fault.permanent:
            self._end = Outcome.INFRASTRUCTURE, self._error, self._fault
        elif self.log.owing:
            excess = find_excess(limits, self._usage, self.log.meter.replies)
            self._end = (Outcome.LIMIT, excess, None) if excess else None
        self._stopped = self._end is not None
        return self._stopped

    def tally(self) -> Tally:
        """Return what the run has told of its requests; see Metered."""
        meter = self.log.meter
        ended = meter.replies + self.log.failures + self._lost
        return Tally(usage=self._usage, dearest=meter.dearest, told=ended, unheard=self.log.unheard)

    def halt(self, why: str) -> None:
        """Take note that the run is stopped; see Metered."""
        if self._end is None:
            self._end, self._stopped = (Outcome.LIMIT, why, None), True

    @property
    def _usage(self) -> Usage:
        usage = max(self.log.meter.usage, self._told or Usage(), key=lambda usage: usage.tokens)
        return msgspec.structs.replace(usage, cost_usd=self.log.meter.usage.cost_usd)

    @property
    def _is_refused(self) -> bool:
        return self._fault is not None and self._fault.permanent

    def _read(self, line: bytes) -> bool:
        try:
            event = _DECODER.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return False
        if event.type.startswith("item.") and event.item:
            self._read_item(event.item, ended=event.type == "item.completed")
        elif event.type == "turn.completed":
            self._complete(event.usage or TurnUsage())
        elif event.type == "turn.failed":
            self._fail((event.error or _Error()).message)
        elif event.type == "error":
            self._note(event.message)
        return True

    def _complete(self, told: TurnUsage) -> None:
        self._told = told.counted
        if self._end is None:
            self._end = Outcome.FINISHED, None, None

    def _fail(self, message: str) -> None:
        if self._end is not None:
            return
        if fills_context(message):
            self._end = Outcome.LIMIT, find_words(message)[:MAX_ERROR], None
            return
        self._note(message)
        self._lost += is_cut(message)
        self._end = Outcome.INFRASTRUCTURE, self._error, guess_fault(None, message)

    def _note(self, message: str) -> None:
        """Keep what went wrong; a message about a retry counts until the model replies."""
        retry = read_retry(message)
        if retry == "":
            return
        self._lost += retry is not None and is_cut(retry)
        self._error = find_words(retry or message)[:MAX_ERROR]
        self._fault = guess_fault(None, message)

    def _read_item(self, item: _Item, *, ended: bool) -> None:
        if item.type == "error":
            return  # the client's remarks, such as a model it does not know; what fails a run comes by itself
        self._replied, self._error, self._fault = True, None, None
        if item.type == "agent_message":
            if ended:
                self._text = item.text
                self._trace.say(item.text)
        elif item.type == "command_execution":
            self._read_command(item, ended=ended)
        elif item.type in _NAMES or item.tool:
            self._trace.call(item.id, item.tool or _NAMES[item.type], arguments=_arguments(item))
            if ended:
                self._trace.end(item.id, error=_failure(item), output=_output(item.result))
        if ended and item.status == "declined":
            self._denied.append(_NAMES.get(item.type, item.tool or "exec_command"))

    def _read_command(self, item: _Item, *, ended: bool) -> None:
        command = unwrap(item.command)
        self._trace.call(item.id, "exec_command", command=command)
        if not ended:
            return
        output, code = item.aggregated_output, item.exit_code
        failed = code if code is not None else item.status != "completed"
        error = f"Exit code {code}\n{output}".strip() if code else output or item.status or "failed"
        self._trace.end(item.id, error=error if failed else None, exit_code=code, output=output)
        if self._skill and not failed and _shows(self._skill, command, output):
            self._loaded = True

    def finish(self) -> Reading:
        """Return what was read; a last line without its line end counts as well."""
        self._lines.finish()
        self.log.finish()
        outcome, error, fault = self._end or (None, self._error or self.log.said.strip(), self._fault)
        if outcome is Outcome.FINISHED and self.log.refused:
            outcome, error, fault = Outcome.INFRASTRUCTURE, "its last reply declines", Fault.REFUSAL
        # Stopped, or dead: unless a tool was under way, it was asking its model.
        asking = (self._end is None or self._stopped) and self._trace.idle and not self._is_refused
        return Reading(
            outcome=outcome,
            answer=self._text,
            error=error,
            fault=fault,
            model=self.log.model,
            calls=self._trace.calls,
            steps=self._trace.steps,
            usage=msgspec.structs.replace(self._usage, cost_usd=self.log.meter.total.cost_usd),
            skill_loaded=self._loaded,
            denied=(*self._denied, *self.log.denied),
            replied=self._replied,
            waiting_for_service=self._end is None and (self._fault is not None or not self._replied),
            idle=self._trace.idle,
            lost=self._lost + self.log.meter.silent,
            asking=asking,
            largest=self.log.meter.largest,
            unread=self.log.unread,
            skipped=self._lines.skipped,
        )


def _shows(skill: Skill, command: str, output: str) -> bool:
    """Whether a command that names the skill's file showed the model its text, and not its front only."""
    first = next((line.strip() for line in skill.body.splitlines() if line.strip()), "")
    return skill.name in command and "SKILL.md" in command and first in output


def _failure(item: _Item) -> str | None:
    if item.error is not None:
        return item.error.message or "error"
    return item.status if item.status in ("failed", "declined") else None


def _arguments(item: _Item) -> str:
    given = next(
        (v for v in (item.arguments, item.changes, item.prompt, item.query, item.items) if v is not None),
        None,
    )
    return "" if given is None else msgspec.json.encode(given).decode("utf-8", "replace")


def _output(result: object) -> str:
    if isinstance(result, dict):
        parts = result.get("content")
        texts = (
            [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        )
        return "\n".join(str(text) for text in texts if text)
    return str(result) if isinstance(result, str) else ""
