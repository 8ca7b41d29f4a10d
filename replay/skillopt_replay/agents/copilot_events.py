"""The events of the client's stream, as far as they are read; what else they hold is passed over."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

_MOST_LETTERS = 10_000_000  # more than any model reads
# Older versions tell a command's exit status in its output only.
_EXIT = re.compile(r"<(?:shellId: \S+ completed|exited) with exit code (-?\d{1,10})>\s*\Z")
_SHELLS = frozenset({"bash", "powershell", "shell"})

DataT = TypeVar("DataT", bound=msgspec.Struct)


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """A line of the stream. `agent_id` is a helper's; `exit_code` stands in the last line only."""

    type: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")
    agent_id: str | None = None
    exit_code: int | None = None


class Request(msgspec.Struct, frozen=True, rename="camel"):
    tool_call_id: str = ""


class Reply(msgspec.Struct, frozen=True, rename="camel"):
    """`assistant.message`; a reply in several chunks counts them from 0."""

    content: str = ""
    model: str = ""
    tool_requests: list[Request] | None = None
    chunk_index: int | None = None


class CallStart(msgspec.Struct, frozen=True, rename="camel"):
    """`tool.execution_start`."""

    tool_call_id: str = ""
    tool_name: str = ""
    arguments: Any = None

    @property
    def given(self) -> dict[str, Any]:
        return self.arguments if isinstance(self.arguments, dict) else {}

    @property
    def command(self) -> str | None:
        """The command line, for tools that run one."""
        line = self.given.get("command") if self.tool_name in _SHELLS else None
        return line if isinstance(line, str) else None

    @property
    def text(self) -> str:
        """The arguments as JSON, for other tools."""
        if not self.given or self.command is not None:
            return ""
        return msgspec.json.encode(self.given).decode("utf-8", "replace")


class ToolError(msgspec.Struct, frozen=True):
    message: str = ""
    code: str | None = None


class ToolResult(msgspec.Struct, frozen=True):
    content: str = ""


class Shell(msgspec.Struct, frozen=True, rename="camel"):
    exit_code: int | None = None


class _Sizes(msgspec.Struct, frozen=True, rename="camel"):
    skill_content_length: float = 0


class _Telemetry(msgspec.Struct, frozen=True):
    metrics: _Sizes = _Sizes()


class CallEnd(msgspec.Struct, frozen=True, rename="camel"):
    """`tool.execution_complete`; a command that failed is a success of its tool."""

    tool_call_id: str = ""
    success: bool = True
    error: ToolError | None = None
    result: ToolResult | None = None
    shell_execution: Shell | None = None
    tool_telemetry: Any = None

    @property
    def denied(self) -> bool:
        return self.error is not None and self.error.code == "denied"

    @property
    def output(self) -> str:
        return self.result.content if self.result else ""

    @property
    def loaded(self) -> int:
        """The letters of a skill that was loaded, whose text is told nowhere."""
        try:
            told = msgspec.convert(self.tool_telemetry or {}, _Telemetry)
        except msgspec.ValidationError:
            return 0
        return int(min(max(told.metrics.skill_content_length, 0), _MOST_LETTERS))

    @property
    def exit_code(self) -> int | None:
        if self.shell_execution is not None:
            return self.shell_execution.exit_code
        match = _EXIT.search(self.output)
        return int(match.group(1)) if match else None

    @property
    def failure(self) -> str | None:
        """What the tool or its command said when it failed."""
        if not self.success:
            return (self.error.message if self.error else "") or self.output or "error"
        return (self.output or f"exit code {self.exit_code}") if self.exit_code else None


class Failure(msgspec.Struct, frozen=True, rename="camel"):
    """`model.call_failure` or `session.error`; each tells some of these."""

    status_code: int | None = None
    error_message: str | None = None
    message: str | None = None
    error_type: str | None = None
    error_code: str | None = None

    @property
    def words(self) -> str:
        parts = (self.error_type, self.error_code, self.error_message, self.message)
        return " ".join(part for part in parts if part)


class CallOutcome(msgspec.Struct, frozen=True):
    """`model.call_finished`."""

    outcome: str = ""


class SkillInvoked(msgspec.Struct, frozen=True):
    """`skill.invoked`."""

    name: str = ""


def data_of(event: Event, kind: type[DataT]) -> DataT:
    """Return the event's data. Raises msgspec.DecodeError when they are not what they should be."""
    return msgspec.json.decode(event.data, type=kind)
