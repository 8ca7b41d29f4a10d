"""What a chat completions server sends back, decoded; nothing here touches the network."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from skillopt_replay.rollouts import Usage

MAX_STARTS = 200
_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens; `cache_read` None means cached input costs as much as fresh input."""

    input: float
    output: float
    cache_read: float | None = None

    def cost(self, usage: Usage) -> float:
        """Return what the tokens cost in US dollars."""
        cached = self.input if self.cache_read is None else self.cache_read
        total = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * cached
            + usage.cache_write_tokens * self.input
        )
        return total / 1_000_000


FREE = Price(0.0, 0.0, 0.0)


class Reply(msgspec.Struct, frozen=True):
    """The text of the first choice, whether it was cut short, which model spoke, and the tokens."""

    text: str
    truncated: bool
    model: str
    usage: Usage


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    cost: float | None = None


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Answer(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Answer
    finish_reason: str | None = None


class _Payload(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Tokens | None = None


def read_reply(body: bytes, *, price: Price | None = None) -> Reply:
    """Decode the body of a chat completion.

    Cached prompt tokens are taken out of `input_tokens`, since servers count them in both. The cost comes
    from `price`, else from the server when it states one, else it is None.
    Raises ValueError with one line when the body is no chat completion.
    """
    try:
        payload = msgspec.json.decode(body, type=_Payload)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"the reply is not a chat completion: {error}") from error
    if not payload.choices:
        raise ValueError("the reply holds no choices")
    choice = payload.choices[0]
    content = choice.message.content
    if isinstance(content, list):
        content = "".join(part.text or "" for part in content)
    return Reply(
        content or choice.message.refusal or "",
        choice.finish_reason in {"length", "max_tokens"},
        payload.model or "",
        _count_tokens(payload.usage, price),
    )


def _count_tokens(tokens: _Tokens | None, price: Price | None) -> Usage:
    if tokens is None:
        return Usage(cost_usd=0.0 if price == FREE else None)
    prompt = max(tokens.prompt_tokens or 0, 0)
    details = tokens.prompt_tokens_details
    cached = min(max(details.cached_tokens or 0, 0), prompt) if details else 0
    usage = Usage(prompt - cached, max(tokens.completion_tokens or 0, 0), cached)
    cost = tokens.cost if price is None else price.cost(usage)
    return msgspec.structs.replace(usage, cost_usd=cost)


def find_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object a reply carries: the whole reply, a fenced block, or the longest one in prose.

    A leading <think> block is not searched. None when there is no complete object.
    """
    text = _THOUGHT.sub("", text, count=1).strip()
    whole = _decode(text)
    if whole is not None:
        return whole
    fenced = [value for block in _FENCE.findall(text) if (value := _decode(block.strip())) is not None]
    if fenced:
        return fenced[-1]
    return _find_longest(text)


def _decode(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _find_longest(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    best: dict[str, Any] | None = None
    longest = 0
    start = text.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if end - start > longest:
                best, longest = value, end - start
        start = text.find("{", end)
    return best


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class _ErrorDetail(msgspec.Struct):
    message: str | None = None
    code: str | int | None = None
    type: str | None = None
    param: str | None = None


class ServerError(msgspec.Struct, frozen=True):
    """What a server says about a refused request; every field may be empty."""

    message: str = ""
    code: str = ""
    param: str = ""


def read_error(body: bytes) -> ServerError:
    """Decode an error body: `{"error": {...}}`, `{"error": "text"}`, `{"message": "text"}` or plain text."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return ServerError(_one_line(body[:2000].decode("utf-8", "replace")))
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, str):
        return ServerError(_one_line(error))
    try:
        detail = msgspec.convert(error, _ErrorDetail)
    except msgspec.ValidationError:
        return ServerError(_one_line(str(error)))
    return ServerError(
        _one_line(detail.message or ""), str(detail.code or detail.type or ""), detail.param or ""
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
