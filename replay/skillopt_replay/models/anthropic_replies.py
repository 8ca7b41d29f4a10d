"""What the Messages API sends back, decoded; nothing here touches the network."""

from __future__ import annotations

from typing import Any

import msgspec

from skillopt_replay.faults import find_fault
from skillopt_replay.models.prices import Price
from skillopt_replay.models.replies import Reply, ReplyUnreadable, read_error, read_tokens
from skillopt_replay.rollouts import Fault, Usage

TOOL = "reply"


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    name: str | None = None
    input: Any = None


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(msgspec.Struct):
    content: list[_Block] | None = None
    model: str = ""
    stop_reason: str | None = None
    usage: Any = None
    error: Any = None


def read_message(body: bytes, *, price: Price | None = None) -> Reply:
    """Decode the body of a message. Raises ReplyUnreadable when it is none."""
    try:
        message = msgspec.json.decode(body, type=_Message)
    except msgspec.DecodeError as error:
        fault = Fault.CUT if "truncated" in str(error) else Fault.REPLY
        raise ReplyUnreadable(f"the reply is not a message: {error}", fault) from error
    except (RecursionError, UnicodeDecodeError) as error:
        raise ReplyUnreadable(f"the reply is not a message: {error}") from error
    if message.content is None:
        if message.error is None:
            raise ReplyUnreadable("the reply is not a message: it has no content")
        # A gateway may tell a service's errors with status 200.
        told = read_error(body)
        raise ReplyUnreadable(f"the server says: {told.message}", find_fault(0, told.code, told.message))
    handed = next((b.input for b in message.content if b.type == "tool_use" and b.name == TOOL), None)
    value = handed if isinstance(handed, dict) else None
    text = "".join(block.text or "" for block in message.content if block.type == "text")
    if value is not None:
        text = msgspec.json.encode(value).decode()
    return Reply(
        text,
        value=value,
        truncated=message.stop_reason in {"max_tokens", "model_context_window_exceeded"},
        refused=message.stop_reason == "refusal",
        thought=any(block.type in {"thinking", "redacted_thinking"} for block in message.content),
        model=message.model,
        usage=_count(read_tokens(message.usage, _Tokens), price),
    )


def _count(tokens: _Tokens | None, price: Price | None) -> Usage:
    if tokens is None or tokens.input_tokens is None or tokens.output_tokens is None:
        return Usage()
    if min(tokens.input_tokens, tokens.output_tokens) < 0:
        return Usage()
    usage = Usage(
        tokens.input_tokens,
        tokens.output_tokens,
        max(tokens.cache_read_input_tokens or 0, 0),
        max(tokens.cache_creation_input_tokens or 0, 0),
    )
    return usage if price is None else msgspec.structs.replace(usage, cost_usd=price.cost(usage))
