"""From what each generation stores to messages: the shapes of 2025 and 2026."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from skillopt_harvesters.calls import MAX_ERROR, clip_tail
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.sources.loose import NULL, decode_any, decode_as
from skillopt_harvesters.sources.opencode.records import (
    Failure,
    Head,
    Info,
    Message,
    Outcome,
    Part,
    Place,
    SessionFile,
    State,
    StoredPart,
    Time,
    Usage,
)

_ABORTED = "MessageAbortedError"
_SUMMARISER = "compaction"
# Text the client wrote is known by how it begins; whole files stand in it.
_SYNTHETIC = 200
_STOPPED = "Provider turn interrupted"


def to_head(found: SessionFile, session: str) -> Head:
    """Return a session from its file, or from a row with the same keys."""
    return Head(
        id=session,
        parent=found.parent,
        folder=found.directory,
        version=found.version or "",
        created=found.time.created if found.time else None,
        reverted=(found.revert.message if found.revert else None) or "",
        headless=is_headless(found.permission),
    )


def is_headless(permission: msgspec.Raw | bytes) -> bool:
    """Tell whether a session was begun by a program: it may not ask the user anything.

    `opencode run` says so in the session's permissions, since January 2026.
    """
    rules = decode_any(permission)
    for rule in rules if isinstance(rules, list) else ():
        if isinstance(rule, dict):
            names = (rule.get("permission"), rule.get("action"))
            effects = (rule.get("action"), rule.get("effect"))
            if "question" in names and "deny" in effects:
                return True
    return False


def to_message(info: Info, message: str, parts: Iterable[Part]) -> Message:
    """Return a message whose parts are stored beside it."""
    time, error = info.time or Time(), info.error
    return Message(
        id=message,
        role=info.role or "",
        parent=info.parent or "",
        agent=info.agent or info.mode or "",
        created=time.created,
        completed=time.completed,
        model=info.model,
        folder=info.path.cwd if info.path else None,
        summary=info.mode == _SUMMARISER or (info.role == "assistant" and decode_any(info.summary) is True),
        stopped=error is not None and error.name == _ABORTED,
        failed=error is not None and error.name != _ABORTED,
        tokens=info.tokens.tokens if info.tokens else None,
        parts=parts,
    )


def to_part(stored: StoredPart) -> Part:
    """Return a part of a message."""
    kind = stored.type or ""
    if kind == "tool":
        return _to_tool(stored.tool, stored.call, stored.state or State())
    if kind == "subtask":
        hollow = stored.prompt is None
        return Part(kind=kind, text=stored.prompt or "", name=stored.command or "", hollow=hollow)
    if kind == "step-finish":
        return Part(kind="step", tokens=stored.tokens.tokens if stored.tokens else None)
    synthetic = bool(stored.synthetic or stored.ignored)
    text = stored.text or ""
    hollow = kind == "text" and stored.text is None and not synthetic
    return Part(kind=kind, text=text[:_SYNTHETIC] if synthetic else text, synthetic=synthetic, hollow=hollow)


def _to_tool(name: str | None, call: str | None, state: State) -> Part:
    outcome = state.metadata or state.structured or Outcome()
    error = decode_any(state.error)
    if isinstance(error, dict):
        error = error.get("message")
    output = state.output or ""
    if not output and state.content is not NULL:
        content = decode_any(state.content)
        texts = (
            [item.get("text") for item in content if isinstance(item, dict)]
            if isinstance(content, list)
            else ()
        )
        output = "\n".join(text for text in texts if isinstance(text, str))
    return Part(
        kind="tool",
        name=name or "",
        call=call or "",
        input=state.input,
        ended=state.status in {"completed", "error"},
        error=(error if isinstance(error, str) else "failed") if state.status == "error" else None,
        output=clip_tail(output.strip(), MAX_ERROR),
        exit_code=outcome.exit,
    )


class _Newer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of the second format (1.14, experimental until now), which holds its parts."""

    time: Time | None = None
    text: str | None = None
    agent: str | None = None
    model: msgspec.Raw = NULL
    content: list[_NewerPart] | None = None
    files: msgspec.Raw = NULL
    tokens: Usage | None = None
    error: Failure | None = None
    command: str | None = None


class _NewerPart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    type: str | None = None
    id: str | None = None
    text: str | None = None
    name: str | None = None
    state: State | None = None


# The kinds of messages in the second format that tell what was said.
TALK = frozenset({"user", "assistant", "shell"})


def from_newer(kind: str, data: bytes, message: str) -> Message | None:
    """Return a message of the second format; None when it is none of the user's or the agent's."""
    found = decode_as(data, _Newer) if kind in TALK or is_damaged(kind, "user") else None
    if found is None:
        return None
    time, error, model = found.time or Time(), found.error, decode_any(found.model)
    stopped = error is not None and (error.message or "").startswith(_STOPPED)
    if kind == "shell":
        parts = [Part(kind="text", text=found.command or "", hollow=found.command is None)]
    elif kind != "assistant":
        pictures = decode_any(found.files)
        told = Part(kind="text", text=found.text or "", hollow=found.text is None)
        parts = [told, *[Part(kind="file")] * bool(pictures)]
    else:
        parts = [
            _to_tool(part.name, part.id, part.state or State())
            if part.type == "tool"
            else Part(kind=part.type or "", text=part.text or "")
            for part in found.content or ()
        ]
    return Message(
        id=message,
        role=kind,
        agent=found.agent or "",
        created=time.created,
        completed=time.completed,
        model=model.get("id") if isinstance(model, dict) and isinstance(model.get("id"), str) else None,
        stopped=stopped,
        failed=error is not None and not stopped,
        tokens=found.tokens.tokens if found.tokens else None,
        parts=parts,
    )


def _to_text(kind: str | None, text: str | None) -> Part:
    return Part(kind=kind or "", text=text or "", hollow=kind == "text" and text is None)


class _Oldest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of the first format (until July 2025): its parts in it, what is known of it in `metadata`."""

    id: str | None = None
    role: str | None = None
    parts: list[_OldestPart] | None = None
    metadata: _Metadata | None = None


class _Invocation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    tool_call_id: str | None = None
    tool_name: str | None = None
    args: msgspec.Raw = NULL
    state: str | None = None
    result: msgspec.Raw = NULL


class _OldestPart(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    type: str | None = None
    text: str | None = None
    tool_invocation: _Invocation | None = None


class _Worker(msgspec.Struct, frozen=True, kw_only=True, rename={"model": "modelID"}, gc=False):
    path: Place | None = None
    tokens: Usage | None = None
    model: str | None = None
    summary: bool | None = None


class _Metadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    time: Time | None = None
    assistant: _Worker | None = None
    error: Failure | None = None
    tool: msgspec.Raw = NULL


def from_oldest(data: bytes, message: str) -> Message | None:
    """Return a message of the first format; None when it is of another one."""
    found = decode_as(data, _Oldest)
    if found is None or found.metadata is None:
        return None
    metadata = found.metadata
    time, worker, error = metadata.time or Time(), metadata.assistant or _Worker(), metadata.error
    ends = decode_any(metadata.tool)
    parts = [
        _from_invocation(part.tool_invocation, ends if isinstance(ends, dict) else {})
        if part.tool_invocation
        else Part(
            kind=part.type or "", text=part.text or "", hollow=part.type == "text" and part.text is None
        )
        for part in found.parts or ()
    ]
    if found.parts is None:
        parts.append(Part(kind="text", hollow=True))
    return Message(
        id=message,
        role=found.role or "",
        created=time.created,
        completed=time.completed,
        model=worker.model,
        folder=worker.path.cwd if worker.path else None,
        summary=bool(worker.summary),
        stopped=error is not None and error.name == _ABORTED,
        failed=error is not None and error.name != _ABORTED,
        tokens=worker.tokens.tokens if worker.tokens else None,
        parts=parts,
    )


def _from_invocation(call: _Invocation, ends: dict[str, Any]) -> Part:
    end = ends.get(call.tool_call_id or "")
    told = end if isinstance(end, dict) else {}
    result = decode_any(call.result)
    exit_code = told.get("exit")
    message = told.get("message")
    return Part(
        kind="tool",
        name=call.tool_name or "",
        call=call.tool_call_id or "",
        input=call.args,
        ended=call.state == "result",
        error=(message if isinstance(message, str) else "failed") if told.get("error") is True else None,
        output=clip_tail(result.strip(), MAX_ERROR) if isinstance(result, str) else "",
        exit_code=exit_code if isinstance(exit_code, int) and abs(exit_code) < 2**31 else None,
    )
