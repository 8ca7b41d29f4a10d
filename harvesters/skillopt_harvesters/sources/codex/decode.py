"""From a line to its records: one pass when the line is as the client writes it, patience when it is not."""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

import msgspec

from skillopt_harvesters.lines import decode_leniently
from skillopt_harvesters.sources.codex import records
from skillopt_harvesters.sources.codex.records import NULL

PayloadT = TypeVar("PayloadT")
StructT = TypeVar("StructT", bound=msgspec.Struct)
Time = str | int | float | None

# How the client opens a line. The kind is known from here, and noise is never decoded.
_OPENING = re.compile(
    rb'\{"timestamp":"(?P<time>[^"\\]{0,40})",(?:"ordinal":\d{1,18},)?"type":"(?P<type>\w{1,60})"'
    rb'(?:,"payload":\{"type":"(?P<inner>\w{1,60})")?'
)
_BARE = re.compile(rb'\{"type":"(?P<inner>\w{1,60})"')
# Between a record and another one that was glued to it stands this, and never inside a JSON string.
_NEXT = b'{"timestamp":"'
_REASONING = b'"item":{"type":"Reasoning"'
_SKILLS = b"### Available skills"
_DEVELOPER = re.compile(rb'"type":"message",(?:"id":"[^"\\]{0,80}",)?"role":"developer"')


class Line(msgspec.Struct, Generic[PayloadT], frozen=True, gc=False):
    """A line as newer versions write it."""

    payload: PayloadT
    timestamp: str | int | float | None = None


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record: its kind, its time as written, and its payload; None when nothing is read of the kind.

    `bare` is a record of the time before lines had a type and a payload.
    """

    kind: str
    time: str | int | float | None = None
    payload: msgspec.Struct | None = None
    bare: bool = False


_LINES = {kind: msgspec.json.Decoder(Line[struct]).decode for kind, struct in records.KINDS.items()}  # type: ignore[valid-type]
_BARES = {
    kind.partition("/")[2]: msgspec.json.Decoder(struct).decode
    for kind, struct in records.KINDS.items()
    if kind.startswith("response_item/")
}
_STRUCTS: dict[type[msgspec.Struct], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind)
    for kind in (records.Git, records.Kinds, records.Attribution, records.Target)
}
_KIND_NAMES: dict[tuple[bytes, bytes | None], str] = {}


def decode_line(line: bytes) -> tuple[list[Record], int]:
    """Return the records on a line, and how many pieces of it had to be given up."""
    opening = _OPENING.match(line)
    if opening is not None:
        kind = _name_kind(opening["type"], opening["inner"])
        if _is_noise(kind, line):
            return [Record(kind, opening["time"].decode("ascii", "replace"))], 0
        decode = _LINES.get(kind)
        if decode is not None:
            try:
                found: Line[msgspec.Struct] = decode(line)
            except (msgspec.DecodeError, RecursionError):
                pass
            else:
                return [Record(kind, found.timestamp, found.payload)], 0
    else:
        opening = _BARE.match(line)
        decode_bare = _BARES.get(opening["inner"].decode()) if opening else None
        if opening is not None and decode_bare is not None:
            try:
                return [Record(f"response_item/{opening['inner'].decode()}", None, decode_bare(line), True)], 0
            except (msgspec.DecodeError, RecursionError):
                pass
    values = _decode_values(line)
    found_records = [_recognise(value) for value in values if isinstance(value, dict)]
    return found_records, (1 if not found_records else len(values) - len(found_records))


def _decode_values(line: bytes) -> list[Any]:
    try:
        return [msgspec.json.decode(line)]
    except (msgspec.DecodeError, RecursionError):
        return decode_leniently(line)


def _name_kind(outer: bytes, inner: bytes | None) -> str:
    name = _KIND_NAMES.get((outer, inner))
    if name is None:
        name = (outer if inner is None else outer + b"/" + inner).decode()
        if name in records.KINDS or name in records.NOISE:
            _KIND_NAMES[outer, inner] = name
    return name


def _is_noise(kind: str, line: bytes) -> bool:
    """Tell whether a whole line can be skipped. A record that was torn may have another one behind it."""
    if kind in records.NOISE:
        noise = True
    elif kind == "event_msg/item_completed":
        noise = line.find(_REASONING, 0, 400) > 0
    elif kind == "response_item/message":
        noise = _DEVELOPER.search(line, 0, 300) is not None and _SKILLS not in line
    else:
        noise = False
    return noise and line.endswith(b"}}") and line.find(_NEXT, 1) < 0


def _recognise(value: dict[str, Any]) -> Record:
    """Return the record in a JSON object, whatever it is."""
    outer, time = value.get("type"), value.get("timestamp")
    if not isinstance(time, (str, int, float)):
        time = None
    payload = value
    if "payload" in value:
        payload = value["payload"] if isinstance(value["payload"], dict) else {}
        inner = payload.get("type")
        kind = f"{outer}/{inner}" if isinstance(inner, str) and outer in _CARRIERS else f"{outer or '(none)'}"
    elif isinstance(outer, str):
        kind = f"response_item/{outer}"
        if kind not in records.KINDS and kind not in records.NOISE:
            kind = outer
    elif "record_type" in value:
        kind = "state"
    elif isinstance(value.get("id"), str) and ("instructions" in value or "git" in value):
        kind = "session_meta"
    else:
        kind = "(none)"
    struct = records.KINDS.get(kind)
    decoded = coerce(payload, struct) if struct else None
    return Record(kind, time, decoded, payload is value)


_CARRIERS = frozenset({"response_item", "event_msg"})


def decode_as(raw: msgspec.Raw, kind: type[StructT]) -> StructT:
    """Decode an object, leaving out the keys whose type is wrong; all are left out when it is none."""
    decoded: StructT
    try:
        decoded = _STRUCTS[kind].decode(raw)
    except (msgspec.DecodeError, RecursionError):
        value = decode_any(raw)
        return coerce(value, kind) if isinstance(value, dict) else kind()
    return decoded


def decode_any(raw: msgspec.Raw) -> Any:
    """Decode to plain Python values; None when that cannot be done."""
    if raw is NULL:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        values = decode_leniently(bytes(raw))
        return values[0] if len(values) == 1 else None


def read_parts(raw: msgspec.Raw) -> list[records.Part]:
    """Return the parts of a content value, whatever shape it has; a bare string is a part."""
    try:
        return _decode_parts(raw)
    except (msgspec.DecodeError, RecursionError):
        value = decode_any(raw)
    items = value if isinstance(value, list) else [value]
    parts = []
    for item in items:
        if isinstance(item, str):
            parts.append(records.Part("text", item))
        elif isinstance(item, dict):
            parts.append(coerce(item, records.Part))
        else:
            parts.append(records.Part())
    return parts


def split_parts(parts: list[records.Part], told: msgspec.Raw) -> tuple[list[str], list[str]]:
    """Return (the user's texts, the client's) of a message's parts, as far as newer versions tell whose."""
    kinds = decode_as(told, records.Kinds).content_item_kinds or []
    if len(kinds) != len(parts):
        kinds = [_UNSAID] * len(parts)
    own: list[str] = []
    notes: list[str] = []
    for part, kind in zip(parts, kinds, strict=True):
        if part.text:
            (own if kind == _UNSAID or kind.startswith("user.") else notes).append(part.text)
    return own, notes


_UNSAID = "unknown"
_decode_parts = msgspec.json.Decoder(list[records.Part]).decode


def coerce(value: dict[str, Any], kind: type[StructT]) -> StructT:
    """Build a struct from a mapping, leaving out every field that does not fit."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        nested = _NESTED.get((kind, field.name))
        try:
            if nested is not None and isinstance(item, dict):
                fields[field.name] = coerce(item, nested)
            elif field.type is msgspec.Raw:
                fields[field.name] = msgspec.Raw(msgspec.json.encode(item))
            else:
                fields[field.name] = msgspec.convert(item, field.type)
        except (msgspec.ValidationError, ValueError, RecursionError, OverflowError):
            continue
    return kind(**fields)


_NESTED: dict[tuple[type[msgspec.Struct], str], type[msgspec.Struct]] = {
    (records.Completed, "item"): records.ToolEnd,
    (records.TokenCount, "info"): records.TokenInfo,
    (records.TokenInfo, "total_token_usage"): records.Usage,
    (records.TokenInfo, "last_token_usage"): records.Usage,
    (records.UsageRecord, "usage"): records.Usage,
}
