"""The parts of a response: text, tool calls, edits."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_harvesters.calls import MAX_COMMAND, MAX_ERROR, clip, digest_of
from skillopt_harvesters.sources.copilot.records import ExitCode
from skillopt_harvesters.sources.loose import NULL, decode_any, decode_as, decode_text, opening_of
from skillopt_harvesters.sources.vscode.uris import to_path
from skillopt_harvesters.turns import MAX_ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable

_SKILL_FILE = re.compile(r"/([^/\s()<>]+)/SKILL\.md\b")
MAX_TEXT = 1024 * 1024
# How a call was confirmed: denied, or skipped by the user.
_REFUSED = (0, 5)


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """What a part says. `kind` is text, call, edit, clear (take back the text before) or rejected (a plan).

    A part of any other kind keeps its place and says nothing.
    """

    kind: str = ""
    text: str = ""
    name: str = ""
    id: str = ""
    digest: str = ""
    command: str | None = None
    exit_code: int | None = None
    error: str | None = None
    refused: bool = False
    skill: str | None = None


class Part(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A part as it is written."""

    kind: str | None = None
    value: msgspec.Raw = NULL
    content: msgspec.Raw = NULL
    name: str | None = None
    inline_reference: msgspec.Raw = NULL
    uri: msgspec.Raw = NULL
    tool_id: str | None = None
    tool_call_id: str | None = None
    is_confirmed: msgspec.Raw = NULL
    tool_specific_data: msgspec.Raw = NULL
    result_details: msgspec.Raw = NULL
    invocation_message: msgspec.Raw = NULL
    data: msgspec.Raw = NULL


class CommandLine(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A command line as the model wrote it, and as it was changed."""

    original: str | None = None
    user_edited: str | None = None
    tool_edited: str | None = None
    for_display: str | None = None
    is_sandbox_wrapped: bool | None = None


class CommandState(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How it ended."""

    exit_code: ExitCode | None = None


class CommandOutput(msgspec.Struct, frozen=True, gc=False):
    """What it printed."""

    text: str | None = None


class ToolData(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What some tools record: a command line, or their arguments."""

    command: str | None = None
    command_line: CommandLine | None = None
    terminal_command_state: CommandState | None = None
    terminal_command_output: CommandOutput | None = None
    raw_input: msgspec.Raw = NULL


class Details(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a tool gave back, where that is recorded."""

    is_error: bool | None = None
    output: msgspec.Raw = NULL


def read_pieces(raw: msgspec.Raw | bytes) -> list[Piece]:
    """Return the pieces of a response: a list of parts, or one text."""
    if opening_of(raw) == b"[":
        try:
            parts = _decode_list(raw)
        except (msgspec.DecodeError, RecursionError):
            value = decode_any(raw)
            parts = [msgspec.Raw(msgspec.json.encode(item)) for item in value] if value else []
        return [read_piece(part) for part in parts]
    text = decode_text(raw)
    return [Piece(kind="text", text=clip(text, MAX_ANSWER))] if text else []


_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def drop_early_text(pieces: list[Piece]) -> None:
    """Keep the last text only of a response that has very much of it: the answer is at its end."""
    room = MAX_TEXT
    for place in range(len(pieces) - 1, -1, -1):
        piece = pieces[place]
        room -= len(piece.text)
        if room < 0 and piece.kind == "text":
            pieces[place] = _SILENT


_SILENT = Piece(kind="text")


def read_piece(raw: msgspec.Raw | bytes) -> Piece:
    """Return what a part says. A part without a kind is markdown: a string, or an object with one."""
    part = decode_as(raw, Part)
    if part is None:
        return Piece(kind="text", text=clip(decode_text(raw), MAX_ANSWER))
    kind = part.kind or "markdown"
    if kind.startswith("markdown"):
        text = find_markdown(part.value) or find_markdown(part.content)
        return Piece(kind="text", text=clip(text, MAX_ANSWER))
    reader = _READERS.get(kind)
    return reader(part) if reader else Piece()


def _read_reference(part: Part) -> Piece:
    return Piece(kind="text", text=part.name or _name_reference(decode_any(part.inline_reference)))


def _read_edit(part: Part) -> Piece:
    return Piece(kind="edit", name=part.kind or "", text=clip(to_path(decode_any(part.uri)) or "", MAX_ERROR))


def _read_clearing(_part: Part) -> Piece:
    return Piece(kind="clear")


def _read_review(part: Part) -> Piece:
    """Read what became of a plan: rejected, perhaps with the user's words."""
    review = decode_any(part.data)
    if not isinstance(review, dict) or review.get("rejected") is not True:
        return Piece()
    feedback = review.get("feedback")
    return Piece(kind="rejected", text=feedback if isinstance(feedback, str) else "")


def find_markdown(raw: msgspec.Raw | bytes) -> str:
    """Return a markdown text: a string, or an object whose `value` is one."""
    value = decode_any(raw)
    text = value.get("value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _name_reference(reference: Any) -> str:
    """Return the name of a file, a place in one, or a symbol."""
    if not isinstance(reference, dict):
        return ""
    if isinstance(reference.get("name"), str):
        return str(reference["name"])
    uri = reference.get("uri", reference)
    path = uri.get("path") if isinstance(uri, dict) else uri
    return PurePosixPath(path).name if isinstance(path, str) else ""


def _read_call(part: Part) -> Piece:
    data = decode_as(part.tool_specific_data, ToolData) or ToolData()
    command = data.command or (_find_line(data.command_line) if data.command_line else None)
    state, printed = data.terminal_command_state, data.terminal_command_output
    exit_code = state.exit_code if state else None
    error = ((printed.text if printed else None) or "") if exit_code else None
    details = decode_as(part.result_details, Details)
    if error is None and details and details.is_error:
        error = _join_output(decode_any(details.output))
    arguments = command.encode("utf-8", "replace") if command else bytes(data.raw_input)
    name = part.tool_id or ""
    skill = None
    if "read" in name.lower():
        named = _SKILL_FILE.search(find_markdown(part.invocation_message))
        skill = named[1] if named else None
    return Piece(
        kind="call",
        name=name,
        id=part.tool_call_id or "",
        digest=digest_of(arguments) if arguments != bytes(NULL) else "",
        command=command and clip(command, MAX_COMMAND),
        exit_code=exit_code,
        error=None if error is None else clip(error, MAX_ERROR),
        refused=_is_refused(decode_any(part.is_confirmed)),
        skill=skill,
    )


def _is_refused(confirmed: Any) -> bool:
    """Tell whether the user did not allow a call; newer versions say when it was a hook or a rule instead."""
    if isinstance(confirmed, dict):
        return confirmed.get("type") in _REFUSED and confirmed.get("source") in (None, "user")
    return confirmed is False


def _find_line(line: CommandLine) -> str | None:
    """Return the command line that was run, without what a sandbox put around it."""
    changed = line.original if line.is_sandbox_wrapped else line.tool_edited
    return line.user_edited or line.for_display or changed or line.original


def _join_output(output: Any) -> str:
    if isinstance(output, str):
        return output
    items = output if isinstance(output, list) else []
    values = [item.get("value") for item in items if isinstance(item, dict)]
    return "\n".join(value for value in values if isinstance(value, str))


_READERS: dict[str, Callable[[Part], Piece]] = {
    "inlineReference": _read_reference,
    "toolInvocationSerialized": _read_call,
    "textEditGroup": _read_edit,
    "notebookEditGroup": _read_edit,
    "clearToPreviousToolInvocation": _read_clearing,
    "planReview": _read_review,
}
