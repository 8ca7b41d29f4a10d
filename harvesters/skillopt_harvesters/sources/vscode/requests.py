"""Requests of a chat session: a prompt with the response to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_harvesters.calls import clip
from skillopt_harvesters.fitting import to_whole
from skillopt_harvesters.records import Tokens
from skillopt_harvesters.sources.loose import NULL, decode_any, decode_as, decode_text
from skillopt_harvesters.sources.skim import Wanted
from skillopt_harvesters.sources.vscode import parts
from skillopt_harvesters.sources.vscode.parts import Piece
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import MAX_PROMPT

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_COUNT = 2**53
_OURS = frozenset({"github.copilot-chat", "github.copilot"})
# Participants of VS Code itself, which hand on to Copilot: the one that sets it up.
_OUR_AGENTS = ("github.copilot", "setup.")
_CANCELLED, _FAILED = 2, 3

_PART: Wanted = {
    "kind": True,
    "value": {"value": True},
    "content": {"value": True},
    "name": True,
    "inlineReference": True,
    "uri": True,
    "toolId": True,
    "toolCallId": True,
    "isConfirmed": True,
    "toolSpecificData": {
        "command": True,
        "commandLine": True,
        "terminalCommandState": True,
        "terminalCommandOutput": {"text": True},
    },
    "resultDetails": {"isError": True, "output": True},
    "invocationMessage": {"value": True},
    "data": {"rejected": True, "feedback": True},
}
REQUEST: Wanted = {
    "requestId": True,
    "message": {"text": True},
    "timestamp": True,
    "response": [_PART],
    "agent": {"id": True, "extensionId": True, "extensionVersion": True},
    "slashCommand": {"name": True},
    "modelId": True,
    "modelState": True,
    "isCanceled": True,
    "result": {"errorDetails": {"message": True, "code": True}},
    "isSystemInitiated": True,
    "requestSource": True,
    "hiddenFromTranscript": True,
    "requestHiddenFromTranscript": True,
    "confirmation": True,
    "shouldBeRemovedOnSend": True,
    "isHidden": True,
    "promptTokens": True,
    "completionTokens": True,
}


class Request(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """A request as it is written."""

    request_id: msgspec.Raw = NULL
    message: msgspec.Raw = NULL
    timestamp: msgspec.Raw = NULL
    response: msgspec.Raw = NULL
    agent: msgspec.Raw = NULL
    slash_command: msgspec.Raw = NULL
    model_id: msgspec.Raw = NULL
    model_state: msgspec.Raw = NULL
    is_canceled: msgspec.Raw = NULL
    result: msgspec.Raw = NULL
    is_system_initiated: msgspec.Raw = NULL
    request_source: msgspec.Raw = NULL
    hidden_from_transcript: msgspec.Raw = NULL
    request_hidden_from_transcript: msgspec.Raw = NULL
    confirmation: msgspec.Raw = NULL
    should_be_removed_on_send: msgspec.Raw = NULL
    is_hidden: msgspec.Raw = NULL
    prompt_tokens: msgspec.Raw = NULL
    completion_tokens: msgspec.Raw = NULL


class Result(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How a response ended."""

    error_details: msgspec.Raw = NULL


class Ask(msgspec.Struct):
    """What is kept of a request while its log may still change it.

    `automatic` are the reasons why nobody typed it; `withdrawn` says that the user went back to before it;
    `hollow` that what was typed is not where it should be. `pushed` counts the characters that came to
    `pieces` since early text was last dropped.
    """

    id: str = ""
    text: str = ""
    hollow: bool = False
    command: str | None = None
    started: str | None = None
    ended: str | None = None
    pieces: list[Piece] = []
    pushed: int = 0
    agent: str = ""
    extension: str = ""
    version: str = ""
    model: str = ""
    cancelled: set[str] = set()
    failed: set[str] = set()
    automatic: set[str] = set()
    withdrawn: set[str] = set()
    tokens: Tokens = Tokens()

    @property
    def is_ours(self) -> bool:
        return not self.extension or self.extension in _OURS or self.agent.startswith(_OUR_AGENTS)

    def take(self, key: str, raw: msgspec.Raw | bytes) -> None:
        """Set a key of the request; one that says nothing to us is passed over."""
        handler = _KEYS.get(key)
        if handler:
            handler(self, key, raw)


def read_request(raw: msgspec.Raw | bytes) -> Ask:
    """Return what is kept of a request."""
    return make_ask(decode_as(raw, Request) or Request())


def make_ask(request: Request) -> Ask:
    ask = Ask(hollow=request.message is NULL)
    for key, name in _NAMES:
        raw = getattr(request, name)
        if raw is not NULL:
            _KEYS[key](ask, key, raw)
    return ask


def _take_text(ask: Ask, _key: str, raw: msgspec.Raw | bytes) -> None:
    message = decode_any(raw)
    text = message.get("text") if isinstance(message, dict) else message
    ask.hollow = not isinstance(text, str)
    ask.text = clip(text, MAX_PROMPT) if isinstance(text, str) else ""


def _take_agent(ask: Ask, _key: str, raw: msgspec.Raw | bytes) -> None:
    agent = decode_any(raw)
    if isinstance(agent, dict):
        extension = agent.get("extensionId")
        extension = extension.get("value") if isinstance(extension, dict) else extension
        ask.extension = extension.lower() if isinstance(extension, str) else ""
        ask.agent = str(agent.get("id") or "")
        ask.version = str(agent.get("extensionVersion") or "")


def _take_state(ask: Ask, key: str, raw: msgspec.Raw | bytes) -> None:
    state = decode_any(raw)
    value = state.get("value") if isinstance(state, dict) else state
    _mark(ask.cancelled, key, value == _CANCELLED)
    _mark(ask.failed, key, value == _FAILED)
    ask.ended = to_utc(_number(state.get("completedAt"))) if isinstance(state, dict) else None


def _take_result(ask: Ask, key: str, raw: msgspec.Raw | bytes) -> None:
    result = decode_as(raw, Result)
    details = decode_any(result.error_details) if result else None
    cancelled = isinstance(details, dict) and str(details.get("code")).lower() == "canceled"
    _mark(ask.cancelled, key, cancelled)
    _mark(ask.failed, key, isinstance(details, dict) and not cancelled)


def _take_command(ask: Ask, _key: str, raw: msgspec.Raw | bytes) -> None:
    command = decode_any(raw)
    name = command.get("name") if isinstance(command, dict) else None
    ask.command = f"/{name}" if isinstance(name, str) and name else None


def _take_tokens(ask: Ask, key: str, raw: msgspec.Raw | bytes) -> None:
    count = to_whole(decode_any(raw)) or 0
    place = {"promptTokens": "input", "completionTokens": "output"}[key]
    ask.tokens = msgspec.structs.replace(ask.tokens, **{place: min(max(count, 0), _MAX_COUNT)})


def _take_flag(ask: Ask, key: str, raw: msgspec.Raw | bytes) -> None:
    place = {"isCanceled": ask.cancelled, "shouldBeRemovedOnSend": ask.withdrawn, "isHidden": ask.withdrawn}
    value = decode_any(raw)
    _mark(place.get(key, ask.automatic), key, bool(value))


def _mark(marks: set[str], key: str, value: bool) -> None:  # noqa: FBT001
    (marks.add if value else marks.discard)(key)


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _set_id(ask: Ask, _key: str, raw: msgspec.Raw | bytes) -> None:
    ask.id = decode_text(raw)


def _set_time(ask: Ask, _key: str, raw: msgspec.Raw | bytes) -> None:
    ask.started = to_utc(_number(decode_any(raw)))


def _set_model(ask: Ask, _key: str, raw: msgspec.Raw | bytes) -> None:
    ask.model = decode_text(raw).rpartition("/")[2]


def _set_pieces(ask: Ask, _key: str, raw: msgspec.Raw | bytes) -> None:
    ask.pieces = parts.read_pieces(raw)
    parts.drop_early_text(ask.pieces)


_KEYS: dict[str, Callable[[Ask, str, msgspec.Raw | bytes], None]] = {
    "requestId": _set_id,
    "message": _take_text,
    "timestamp": _set_time,
    "response": _set_pieces,
    "agent": _take_agent,
    "slashCommand": _take_command,
    "modelId": _set_model,
    "modelState": _take_state,
    "isCanceled": _take_flag,
    "result": _take_result,
    "isSystemInitiated": _take_flag,
    "requestSource": _take_flag,
    "hiddenFromTranscript": _take_flag,
    "requestHiddenFromTranscript": _take_flag,
    "confirmation": _take_flag,
    "shouldBeRemovedOnSend": _take_flag,
    "isHidden": _take_flag,
    "promptTokens": _take_tokens,
    "completionTokens": _take_tokens,
}
_NAMES = tuple((field.encode_name, field.name) for field in msgspec.structs.fields(Request))
