"""What `claude --print` tells of one call, line by line: its result, and what it asked for in vain before."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from skillopt_replay.agents.claude_usage import ModelTokens, Tokens, add_up
from skillopt_replay.agents.spending import count_lost, share
from skillopt_replay.faults import GAVE_UP
from skillopt_replay.rollouts import Usage

_UNREACHED = re.compile(
    r"ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|unable to connect", re.IGNORECASE
)


class Result(msgspec.Struct, frozen=True):
    """The client's last line."""

    type: str
    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[Any] | None = None
    structured_output: Any = None
    stop_reason: str | None = None
    api_error_status: int | str | None = None
    total_cost_usd: float | None = None
    usage: Tokens | None = None
    model_usage: dict[str, ModelTokens] | None = msgspec.field(default=None, name="modelUsage")


class _Message(msgspec.Struct, frozen=True):
    id: str = ""
    model: str = ""


class _Line(msgspec.Struct, frozen=True):
    type: str = ""
    subtype: str | None = None
    error_status: int | None = None
    message: _Message | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a call told.

    `replies` are those that came, `unheard` the requests that broke off without a word of the service;
    `model` gave the latest reply.
    """

    result: Result | None = None
    model: str = ""
    replies: int = 0
    unheard: int = 0

    @property
    def usage(self) -> Usage:
        """What the call used: a request that was not heard of may have been paid for, as a reply was."""
        result = self.result
        if result is None:
            return Usage()
        usage = add_up(result.model_usage, result.usage, result.total_cost_usd)
        if not usage.tokens:
            # Nothing came: where the service was never reached, nothing was paid for either.
            is_free = not self.unheard or _UNREACHED.search(result.result or "") is not None
            return usage if is_free else Usage()
        return count_lost(usage, share(usage, self.replies), self.unheard)


def read_lines(text: str) -> Told:
    """Read what the client wrote; lines that are none of its own are passed over."""
    result, model, replies, unheard = None, "", set(), 0
    for line in text.splitlines():
        try:
            told = msgspec.json.decode(line, type=_Line)
            if told.type == "result":
                result = msgspec.json.decode(line, type=Result)
        except (msgspec.DecodeError, RecursionError):
            continue
        if told.type == "assistant" and told.message and told.message.model != "<synthetic>":
            replies.add(told.message.id)
            model = told.message.model or model
        unheard += told.subtype == "api_retry" and told.error_status in {None, *GAVE_UP}
    return Told(result=result, model=model, replies=len(replies), unheard=unheard)
