"""Claude Code's records, decoded: only the keys that are read, wrong types tolerated."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from skillopt_harvesters.fitting import fit
from skillopt_harvesters.lines import Chunk
from skillopt_harvesters.salvage import decode_leniently, salvage
from skillopt_harvesters.sources.claude.slim import find_slim_lines

# Bookkeeping that opens with its type: told by the first bytes, never decoded. The api-request records
# make up nine tenths of a recent file.
NOISE = tuple(
    b'{"type":"' + name + b'"'
    for name in (
        b"api-request",
        b"api-request-blob",
        b"api-request-shape",
        b"file-history-snapshot",
        b"file-history-delta",
        b"progress",
        b"queue-operation",
        b"last-prompt",
        b"tools-used",
        b"cost-state",
        b"atis-latch",
        b"mode",
        b"permission-mode",
    )
)
_IGNORED = (
    "summary custom-title ai-title pr-link agent-name worktree-state relocated frame-link bridge-session "
    "tool_result tool_use tool started result "
    # Who works, and where the session goes on, of sessions in the background.
    "agent-setting agent-color continued-in fork-context-ref"
)
KNOWN_NOISE = frozenset([prefix[9:-1].decode() for prefix in NOISE] + _IGNORED.split())

# The value of a key that is not there; compared by identity, which most records end at.
NULL = msgspec.Raw(b"null")


Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of one model call, named as in `Tokens`; None is none."""

    input: Count | None = msgspec.field(default=None, name="input_tokens")
    output: Count | None = msgspec.field(default=None, name="output_tokens")
    cache_read: Count | None = msgspec.field(default=None, name="cache_read_input_tokens")
    cache_write: Count | None = msgspec.field(default=None, name="cache_creation_input_tokens")


class Block(msgspec.Struct, frozen=True, gc=False):
    """A content block of any type."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = NULL
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: msgspec.Raw = NULL


class Message(msgspec.Struct, frozen=True, gc=False):
    """The message inside a user or assistant record. Every one has a content, if only an empty one."""

    id: str | None = None
    model: str | None = None
    content: str | list[Block | str] | msgspec.UnsetType | None = msgspec.UNSET
    usage: Usage | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks, whatever shape it has; a bare string is a text block."""
        content = [self.content] if isinstance(self.content, str) else self.content or []
        return [Block(type="text", text=item) if isinstance(item, str) else item for item in content]


class ToolOutcome(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What the client says about a command line that ended, or did not."""

    interrupted: bool | None = None
    background_task_id: str | None = None
    return_code_interpretation: str | None = None


class Attachment(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Context the client added; only what the user typed meanwhile and the skills on offer are read."""

    type: str | None = None
    prompt: msgspec.Raw = NULL
    command_mode: str | None = None
    origin: msgspec.Raw = NULL
    is_meta: bool | None = None
    names: msgspec.Raw = NULL
    content: msgspec.Raw = NULL
    skills: msgspec.Raw = NULL


class Position(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Which prompt of its conversation one is, by newer clients; the first is 1."""

    prompt_index: int | None = None


class CommandRun(msgspec.Struct, frozen=True, gc=False):
    """A command of the client's own that the user gave, by newer clients."""

    command: str | None = None
    args: str | None = None


class Record(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """One line of a transcript; the keys in the order in which the client writes them."""

    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    type: str | None = None
    message: Message | None = None
    uuid: str | None = None
    timestamp: str | int | float | None = None
    tool_use_result: ToolOutcome | str | list[msgspec.Raw] | None = None
    entrypoint: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    attribution_skill: str | None = None
    attachment: Attachment | None = None
    prompt_source: str | None = None
    origin: msgspec.Raw = NULL
    user_feedback: msgspec.Raw = NULL
    tool_denial_kind: msgspec.Raw = NULL
    permission_decision: msgspec.Raw = NULL
    interrupted_by_shutdown: bool | None = None
    interrupted_message_id: str | None = None
    turn_position: Position | None = None
    source_tool_use_id: msgspec.Raw = msgspec.field(default=NULL, name="sourceToolUseID")
    plan_content: msgspec.Raw = NULL
    command_run: CommandRun | None = None
    retracted_message_uuids: msgspec.Raw = NULL
    supersedes_uuids: msgspec.Raw = NULL


class ToolInput(msgspec.Struct, frozen=True, gc=False):
    """The arguments of the tools that matter: a command line, a file, a skill."""

    command: str | None = None
    file_path: str | None = None
    notebook_path: str | None = None
    skill: str | None = None


StructT = TypeVar("StructT", bound=msgspec.Struct)
_decoder = msgspec.json.Decoder(Record)
decode_record, _decode_records = _decoder.decode, _decoder.decode_lines
_DECODERS: dict[type[msgspec.Struct], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (ToolInput,)
}
_decode_content = msgspec.json.Decoder(str | list[Block | str] | None).decode


def decode_records(chunk: Chunk) -> list[Record]:
    """Return the records of whole lines. Raises DecodeError or RecursionError when one is flawed.

    The content of long results is left out, unless they are errors.
    """
    buffer, start, end = chunk
    view = memoryview(buffer)
    found: list[Record] = []
    for line_start, line_end, slim in find_slim_lines(buffer, start, end):
        if line_start > start:
            found += _decode_records(view[start:line_start])
        record = decode_record(slim)
        found.append(decode_record(view[line_start:line_end]) if _has_failed(record) else record)
        start = line_end
    if start < end:
        found += _decode_records(view[start:end])
    return found


def _has_failed(record: Record) -> bool:
    content = record.message.content if record.message else None
    return isinstance(content, list) and any(isinstance(block, Block) and block.is_error for block in content)


def decode_line(line: bytes) -> tuple[list[Record], int]:
    """Return the records on a line, and 1 when anything on it had to be given up, else 0."""
    try:
        return [decode_record(line)], 0
    except (msgspec.DecodeError, RecursionError):
        values, torn = salvage(line, key="sessionId")
    records = [_coerce(value, Record) for value in values if isinstance(value, dict)]
    return records, int(torn > 0 or not records or len(values) > len(records))


def decode_as(raw: msgspec.Raw, kind: type[StructT]) -> StructT | None:
    """Decode an object, dropping the keys whose type is wrong; None when it is no object."""
    if raw is NULL:
        return None
    decoded: StructT
    try:
        decoded = _DECODERS[kind].decode(raw)
    except (msgspec.DecodeError, RecursionError):
        value = decode_any(raw)
        return _coerce(value, kind) if isinstance(value, dict) else None
    return decoded


def opening_of(raw: msgspec.Raw) -> bytes:
    """Return the first byte, which tells the kind of a JSON value."""
    return bytes(memoryview(raw)[:1])


def decode_any(raw: msgspec.Raw) -> Any:
    """Decode to plain Python values; None when that cannot be done."""
    if raw is NULL:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        values = decode_leniently(bytes(raw))
        return values[0] if len(values) == 1 else None


def decode_content(raw: msgspec.Raw) -> list[Block]:
    """Return a content value as blocks, whatever shape it has."""
    if raw is NULL:
        return []
    try:
        content = _decode_content(raw)
    except (msgspec.DecodeError, RecursionError):
        content = _coerce_content(decode_any(raw))
    return Message(content=content).blocks


def join_text(raw: msgspec.Raw) -> str:
    """Return the text in a content value, blocks joined by line ends."""
    return "\n".join(block.text for block in decode_content(raw) if block.text)


def _coerce(value: dict[str, Any], kind: type[StructT]) -> StructT:
    """Build a struct from a mapping, leaving out every field that does not fit."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        try:
            if isinstance(item, dict) and field.name in _NESTED:
                fields[field.name] = _coerce(item, _NESTED[field.name])
            elif kind is Message and field.name == "content":
                fields[field.name] = _coerce_content(item)
            elif field.type is msgspec.Raw:
                fields[field.name] = msgspec.Raw(msgspec.json.encode(item))
            else:
                fields[field.name] = fit(item, field.type)
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError, OverflowError):
            continue
    return kind(**fields)


_NESTED: dict[str, type[msgspec.Struct]] = {
    "message": Message,
    "usage": Usage,
    "tool_use_result": ToolOutcome,
    "attachment": Attachment,
    "turn_position": Position,
    "command_run": CommandRun,
}


def _coerce_content(value: Any) -> str | list[Block | str] | msgspec.UnsetType | None:
    """Keep of a content value what is text or a block; a number, say, is none."""
    if isinstance(value, str):
        return value
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list):
        return None if value is None else msgspec.UNSET
    return [
        item if isinstance(item, str) else _coerce(item, Block)
        for item in items
        if isinstance(item, (str, dict))
    ]
