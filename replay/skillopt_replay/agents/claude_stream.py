"""Reads the client's stream of JSON lines while it runs, in memory bounded by the longest line kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.agents.claude_usage import ModelTokens, Tokens, add_up, to_usage
from skillopt_replay.rollouts import Outcome, RolloutCall, Usage

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_CALLS = 2_000
MAX_TEXT = 2_000
_CUT = "cut off mid-stream"  # the client's own words when it asks the model to go on


class _Block(msgspec.Struct, frozen=True):
    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    input: dict[str, Any] | None = None
    tool_use_id: str = ""
    is_error: bool | None = None
    content: Any = None


class _Message(msgspec.Struct, frozen=True):
    id: str = ""
    model: str = ""
    content: str | list[_Block] = ""
    usage: Tokens | None = None


class _Denial(msgspec.Struct, frozen=True):
    tool_name: str = ""


class _Event(msgspec.Struct, frozen=True):
    type: str = ""
    subtype: str | None = None
    message: _Message | None = None
    model: str | None = None
    parent_tool_use_id: str | None = None
    is_error: bool = False
    result: str | None = None
    errors: list[Any] | None = None
    stop_reason: str | msgspec.UnsetType | None = msgspec.UNSET
    api_error_status: int | str | None = None
    total_cost_usd: float | None = None
    usage: Tokens | None = None
    permission_denials: list[_Denial] | None = None
    model_usage: dict[str, ModelTokens] | None = msgspec.field(default=None, name="modelUsage")
    is_synthetic: bool = msgspec.field(default=False, name="isSynthetic")


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What the stream told. `outcome` is None when it ended without a result."""

    outcome: Outcome | None
    answer: str
    error: str | None
    model: str
    calls: tuple[RolloutCall, ...]
    usage: Usage
    skill_loaded: bool
    denied: tuple[str, ...]
    replied: bool
    waiting_for_service: bool
    skipped: int


class StreamReader:
    """Takes the output in pieces; `finish` returns what it said.

    `skill_names` are the names under which the skill on offer can be called.

    Lines longer than `max_line` bytes, and lines that are not what they should be, are skipped and
    counted.
    """

    def __init__(self, skill_names: Collection[str] = (), *, max_line: int = 4_000_000) -> None:
        self._skill_names = frozenset(skill_names)
        self._max_line = max_line
        self._part = bytearray()
        self._overlong = False
        self._skipped = 0
        self._decoder = msgspec.json.Decoder(_Event)
        self._model = ""
        self._calls: dict[str, RolloutCall] = {}
        self._skill_calls: set[str] = set()
        self._loaded = False
        self._text = ""
        self._usage = Usage()
        self._last_message = ("", Usage())
        self._retrying = False
        self._cut = False
        self._replied = False
        self._result: _Event | None = None

    def feed(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._add(line)
            if self._overlong:
                self._skipped += 1
            elif self._part.strip():
                self._read(bytes(self._part))
            self._part.clear()
            self._overlong = False
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        if len(self._part) + len(piece) > self._max_line:
            self._overlong = True
            self._part.clear()
        if not self._overlong:
            self._part += piece

    def _read(self, line: bytes) -> None:
        try:
            event = self._decoder.decode(line)
        except msgspec.DecodeError:
            self._skipped += 1
            return
        if event.type == "system":
            self._read_system(event)
        elif event.type == "assistant" and event.message:
            self._read_reply(event.message, aside=event.parent_tool_use_id is not None)
        elif event.type == "user" and event.message:
            self._read_results(event.message)
            self._cut = event.is_synthetic and _CUT in _text(event.message)
        elif event.type == "result":
            self._result = event

    def _read_system(self, event: _Event) -> None:
        if event.subtype == "init":
            self._model = event.model or ""
        elif event.subtype == "api_retry":
            self._retrying = True

    def _read_reply(self, message: _Message, *, aside: bool) -> None:
        if message.model == "<synthetic>":
            return
        if message.model and not aside:
            # Who answered, which need not be who was asked for; helpers of the client do not count.
            self._model = message.model
        self._replied, self._retrying = True, False
        self._count(message)
        blocks = message.content if isinstance(message.content, list) else []
        for block in blocks:
            if block.type == "text":
                self._text = block.text
            elif block.type == "tool_use" and len(self._calls) < MAX_CALLS:
                self._calls[block.id] = RolloutCall(block.name, _command(block))
                if block.name == "Skill" and self._names_our_skill(block.input or {}):
                    self._skill_calls.add(block.id)

    def _count(self, message: _Message) -> None:
        """Count a message once, though it comes once for each of its blocks."""
        usage = to_usage(message.usage or Tokens())
        if message.id != self._last_message[0]:
            self._usage = self._usage.plus(self._last_message[1])
        self._last_message = (message.id, usage)

    def _names_our_skill(self, arguments: dict[str, Any]) -> bool:
        asked = arguments.get("skill") or arguments.get("command") or ""
        return str(asked).lstrip("/") in self._skill_names

    def _read_results(self, message: _Message) -> None:
        for block in message.content if isinstance(message.content, list) else []:
            if block.type != "tool_result":
                continue
            if block.tool_use_id in self._skill_calls and not block.is_error:
                self._loaded = True
            call = self._calls.get(block.tool_use_id)
            if call is not None and block.is_error:
                self._calls[block.tool_use_id] = RolloutCall(call.name, call.command, _plain(block.content))

    def finish(self) -> Reading:
        """Return what was read; a last line without its line end counts as well."""
        if self._part.strip() and not self._overlong:
            self._read(bytes(self._part))
            self._part.clear()
        result = self._result
        outcome, error = (None, None) if result is None else _judge(result, cut=self._cut)
        usage = (
            self._usage.plus(self._last_message[1])
            if result is None
            else add_up(result.model_usage, result.usage, result.total_cost_usd)
        )
        return Reading(
            outcome=outcome,
            answer=(result.result or "") if result and outcome is Outcome.FINISHED else self._text,
            error=error,
            model=self._model,
            calls=tuple(self._calls.values()),
            usage=usage,
            skill_loaded=self._loaded,
            denied=tuple(d.tool_name for d in (result.permission_denials or []) if result) if result else (),
            replied=self._replied,
            waiting_for_service=result is None and (self._retrying or not self._replied),
            skipped=self._skipped,
        )


def _judge(result: _Event, *, cut: bool) -> tuple[Outcome, str | None]:
    said = (
        result.result or "; ".join(str(e) for e in result.errors or ()) or result.subtype or "no reason given"
    )
    if result.subtype in ("error_max_turns", "error_max_budget_usd"):
        return Outcome.LIMIT, said
    if result.is_error or result.subtype != "success":
        status = f" (status {result.api_error_status})" if result.api_error_status else ""
        return Outcome.INFRASTRUCTURE, said[:MAX_TEXT] + status
    if cut or result.stop_reason is None:
        # Reported as a success, with the half that arrived or the half that came after.
        return Outcome.INFRASTRUCTURE, "the connection was cut in the middle of the last reply"
    return Outcome.FINISHED, None


def _command(block: _Block) -> str | None:
    command = (block.input or {}).get("command")
    return command if block.name == "Bash" and isinstance(command, str) else None


def _text(message: _Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block.text for block in message.content)


def _plain(content: object) -> str:
    if isinstance(content, list):
        texts = [part.get("text", "") for part in content if isinstance(part, dict)]
        content = "\n".join(str(text) for text in texts)
    return str(content or "error")[:MAX_TEXT]
