"""The lines that Claude Code writes of a run, and what is in their parts."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from skillopt_replay.agents.claude_usage import ModelTokens, Tokens

_IMAGE_TOKENS = 5_000
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,10})\b")


class Block(msgspec.Struct, frozen=True):
    """A part of a message: text, a thought, a call, or what came of one."""

    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    input: dict[str, Any] | None = None
    tool_use_id: str = ""
    is_error: bool | None = None
    content: Any = None


class Message(msgspec.Struct, frozen=True):
    """What the model or a tool said."""

    id: str = ""
    model: str = ""
    content: str | list[Block] = ""
    usage: Tokens | None = None


class Denial(msgspec.Struct, frozen=True):
    """A tool that was refused."""

    tool_name: str = ""


class Event(msgspec.Struct, frozen=True):
    """A line of the output; which of its parts there are depends on its type."""

    type: str = ""
    subtype: str | None = None
    message: Message | None = None
    model: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_id: Any = None
    status: Any = None
    is_error: bool = False
    result: str | None = None
    errors: list[Any] | None = None
    stop_reason: str | msgspec.UnsetType | None = msgspec.UNSET
    api_error_status: int | str | None = None
    error_status: int | None = None
    estimated_tokens_delta: int = 0
    error: str | None = None
    total_cost_usd: float | None = None
    usage: Tokens | None = None
    permission_denials: list[Denial] | None = None
    model_usage: dict[str, ModelTokens] | None = msgspec.field(default=None, name="modelUsage")
    is_synthetic: bool = msgspec.field(default=False, name="isSynthetic")


decode = msgspec.json.Decoder(Event).decode


def find_command(block: Block) -> str | None:
    """Return the command line of a call of the shell."""
    command = (block.input or {}).get("command")
    return command if block.name == "Bash" and isinstance(command, str) else None


def find_text(message: Message) -> str:
    """Return what a message says in words."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block.text for block in message.content)


def show_arguments(block: Block) -> str:
    """Return the arguments of a call, "" where its command says them all."""
    return "" if find_command(block) is not None else show_input(block)


def show_input(block: Block) -> str:
    """Return the arguments of a call as JSON."""
    return msgspec.json.encode(block.input).decode("utf-8", "replace") if block.input else ""


def find_exit_code(error: str | None) -> int | None:
    """Return the exit status the client writes before what a failed command said."""
    match = _EXIT.match(error or "")
    return int(match.group(1)) if match else None


def to_text(content: object) -> str:
    """Return what a tool told, which may be in parts."""
    if isinstance(content, list):
        texts = [part.get("text", "") for part in content if isinstance(part, dict)]
        content = "\n".join(str(text) for text in texts)
    return str(content or "")


def weigh_media(content: object) -> int:
    """Return how many tokens the images and documents among what a tool told may be, at a guess.

    An image is made smaller until it is no more than that; a document counts with its letters in base64.
    """
    total = 0
    for part in content if isinstance(content, list) else []:
        source = part.get("source") if isinstance(part, dict) else None
        data = source.get("data") if isinstance(source, dict) else None
        if isinstance(data, str):
            total += min(len(data), _IMAGE_TOKENS) if part.get("type") == "image" else len(data)
    return total
