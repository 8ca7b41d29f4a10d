"""What a chat completions server sends back, decoded; nothing here touches the network."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from skillopt_replay.faults import find_fault
from skillopt_replay.models.prices import FREE, Price
from skillopt_replay.rollouts import Fault, Usage

MAX_STARTS = 200
# What another try may mend, also where a reply with status 200 tells it.
PASSING = (Fault.RATE, Fault.OVERLOAD, Fault.CUT)
_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
# What a model thinks before it answers. Where the chat template has opened the block, only its end is there.
_OPENED = re.compile(r"\A\s*(?:<(think|thinking)>|\[(THINK)\])")
_CLOSED = re.compile(r"</think>|</thinking>|\[/THINK\]")

_Form = TypeVar("_Form")


class Reply(msgspec.Struct, frozen=True):
    """The text of the first choice without what the model thought, which model spoke, and the tokens.

    `truncated`: it was cut at its longest length. `refused`: the text says why there is no answer, or a
    filter has cut it. `thought`: it held reasoning, whether or not there is an answer too. `value` is an
    object that was handed in beside the text.
    """

    text: str
    truncated: bool
    model: str
    usage: Usage
    refused: bool = False
    thought: bool = False
    value: dict[str, Any] | None = None


class ReplyUnreadable(ValueError):
    """The body is no chat completion; `fault` says why."""

    def __init__(self, message: str, fault: Fault = Fault.REPLY) -> None:
        super().__init__(message)
        self.fault = fault


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _CostDetails(msgspec.Struct):
    upstream_inference_cost: float | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: float | None = None
    cost_details: _CostDetails | None = None
    is_byok: bool | None = None

    @property
    def usd(self) -> float | None:
        """The dollars told; with a key of the user's own a router's fee comes on top of the maker's bill."""
        upstream = self.cost_details.upstream_inference_cost if self.cost_details else None
        return self.cost if self.cost is None or not self.is_byok else self.cost + (upstream or 0.0)


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Answer(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None


class _Choice(msgspec.Struct):
    message: _Answer
    finish_reason: str | None = None


class _Status(msgspec.Struct):
    status_code: int | None = None
    status_msg: str | None = None


class _Payload(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: Any = None
    base_resp: _Status | None = None
    error: Any = None


def read_reply(body: bytes, *, price: Price | None = None) -> Reply:
    """Decode the body of a chat completion.

    Cached prompt tokens are taken out of `input_tokens`, since servers count them in both. The cost comes
    from `price`, else from the server when it states one, else it is None.
    Raises ReplyUnreadable, a ValueError with one line, when the body is no chat completion.
    """
    try:
        payload = msgspec.json.decode(body, type=_Payload)
    except msgspec.DecodeError as error:
        cut = "truncated" in str(error)
        raise ReplyUnreadable(
            f"the reply is not a chat completion: {error}", Fault.CUT if cut else Fault.REPLY
        ) from error
    except (RecursionError, UnicodeDecodeError) as error:
        raise ReplyUnreadable(f"the reply is not a chat completion: {error}") from error
    if not payload.choices:
        raise _no_choices(payload, body)
    choice = payload.choices[0]
    answer = choice.message
    content = answer.content
    if isinstance(content, list):
        content = "".join(part.text or "" for part in content if part.type in {"", "text", "output_text"})
    text = drop_thoughts(content or "")
    truncated = choice.finish_reason in {"length", "max_tokens"}
    told = answer.reasoning_content or answer.reasoning or answer.reasoning_details
    return Reply(
        text or answer.refusal or "",
        truncated,
        payload.model or "",
        _count_tokens(read_tokens(payload.usage, _Tokens), price),
        refused=choice.finish_reason == "content_filter" or (not text and bool(answer.refusal)),
        thought=bool(told) or text != (content or ""),
    )


def _no_choices(payload: _Payload, body: bytes) -> ReplyUnreadable:
    status = payload.base_resp
    if status is not None and status.status_code:
        # MiniMax tells its errors inside of a reply with status 200.
        message = _one_line(status.status_msg or "no reason")
        fault = find_fault(0, f"minimax {status.status_code}", message)
        return ReplyUnreadable(f"the server says {status.status_code}: {message}", fault)
    if payload.error is not None:
        told = read_error(body)
        return ReplyUnreadable(f"the server says: {told.message}", find_fault(0, told.code, told.message))
    return ReplyUnreadable("the reply holds no choices")


def drop_thoughts(text: str) -> str:
    """Return the text without the reasoning it begins with; until that is closed, all of it is reasoning."""
    opened = _OPENED.match(text)
    closed = _CLOSED.search(text, opened.end() if opened else 0)
    if closed is None:
        return "" if opened else text
    return text[closed.end() :].lstrip("\n")


def read_tokens(told: Any, form: type[_Form]) -> _Form | None:
    """Return the usage in a reply, None when it is not told or not to be read: the reply was paid for."""
    try:
        return msgspec.convert(told, form | None, strict=False)
    except (msgspec.ValidationError, OverflowError):
        return None


def _count_tokens(tokens: _Tokens | None, price: Price | None) -> Usage:
    if tokens is None:
        return Usage(cost_usd=0.0 if price == FREE else None)
    prompt, reply = tokens.prompt_tokens, tokens.completion_tokens
    if prompt is None or reply is None or min(prompt, reply) < 0:
        # Half of it is as good as nothing: the rest may be the dearer half.
        return Usage(cost_usd=0.0 if price == FREE else tokens.usd if price is None else None)
    # Some services count what a model thought in the total alone (xAI, Gemini): it is billed as output.
    reply = max(reply, (tokens.total_tokens or 0) - prompt)
    details = tokens.prompt_tokens_details or _PromptDetails()
    cached = min(max(details.cached_tokens or tokens.prompt_cache_hit_tokens or 0, 0), prompt)
    written = min(max(details.cache_write_tokens or 0, 0), prompt - cached)
    usage = Usage(prompt - cached - written, reply, cached, written)
    cost = tokens.usd if price is None else price.cost(usage)
    return msgspec.structs.replace(usage, cost_usd=cost)


def find_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object a reply carries: the whole reply, a fenced block, or the longest one in prose.

    Reasoning at the beginning is not searched. None when there is no complete object.
    """
    text = drop_thoughts(text).strip()
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
    return best if best is None else mend(best)


def mend(value: dict[str, Any]) -> dict[str, Any]:
    """Return the value with a question mark for what no file can hold: half of a surrogate pair."""
    mended: dict[str, Any] = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return mended


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
