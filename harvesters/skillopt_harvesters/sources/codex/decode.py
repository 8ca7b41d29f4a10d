"""From a line to its records: one pass when the line is as the client writes it, patience when it is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from skillopt_harvesters.fitting import fit
from skillopt_harvesters.lines import decode_leniently
from skillopt_harvesters.salvage import is_json, salvage
from skillopt_harvesters.sources.codex import records
from skillopt_harvesters.sources.codex.records import NULL

PayloadT = TypeVar("PayloadT")
StructT = TypeVar("StructT", bound=msgspec.Struct)

# How the client opens a line: time, its day and hour when it is written as usual, type, and the type of the
# payload. Noise is known by it, not decoded.
OPENING = re.compile(
    rb'\{"timestamp":"((\d{4}-\d\d-\d\dT\d\d):[0-5]\d:[0-5]\d\.\d{3}Z|[^"\\]{0,40})",(?:"ordinal":\d{1,18},)?"type":"(\w{1,60})"'
    rb'(?:,"payload":\{"type":"(\w{1,60})")?'
)
_BARE = re.compile(rb'\{"type":"(\w{1,60})"')
# Where a record was torn and another one glued to it this stands between, and never inside a JSON string.
_NEXT = b'{"timestamp":'
_REASONING = b'"item":{"type":"Reasoning"'
_TOTAL = b'"total_token_usage":{'
_SKILLS = b"### Available skills"
_DEVELOPER = b'"role":"developer"'
_CARRIERS = frozenset({"response_item", "event_msg"})


class Line(msgspec.Struct, Generic[PayloadT], frozen=True, gc=False):
    """A line as newer versions write it; its time is read from how it opens."""

    payload: PayloadT


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record: its kind, its time as written, and its payload; None when nothing is read of the kind.

    `bare` is a record of the time before lines had a type and a payload.
    """

    kind: str
    time: str | int | float | None = None
    payload: msgspec.Struct | None = None
    bare: bool = False


class Repeats:
    """What the latest records of the kinds that are repeated most said, as bytes; not kept over readings."""

    def __init__(self) -> None:
        self._total = b""
        self._context: tuple[bytes, ...] = ()

    def has_total(self, line: bytes) -> bool:
        """Tell whether a `token_count` says the same sum as the one before."""
        start = line.find(_TOTAL)
        total = line[start : line.find(b"}", start)] if start > 0 else b""
        same = bool(total) and total == self._total
        # What a torn or broken record says is not counted, so that the next one that says it is.
        if not same:
            self._total = total if line.endswith(b"}}") and is_json(line) else b""
        return same

    def note_context(self, context: records.Context) -> None:
        """Remember a `turn_context`."""
        self._context = tuple(
            b'"%s":%s' % (key, msgspec.json.encode(value))
            for key, value in (
                (b"turn_id", context.turn_id),
                (b"cwd", context.cwd),
                (b"model", context.model),
            )
            if value is not None
        )

    def has_context(self, line: bytes) -> bool:
        """Tell whether a `turn_context` says nothing else of what is read of it."""
        return len(self._context) == 3 and all(part in line for part in self._context)


class Route(msgspec.Struct, frozen=True, gc=False):
    """What to do with a kind of record: nothing is decoded of noise, and not of what `skim` finds to be."""

    kind: str
    decode: Any = None
    skim: Any = None

    def is_noise(self, line: bytes, repeats: Repeats) -> bool:
        """Tell whether a whole line can be passed over. A torn record may have another one behind it."""
        noise = self.decode is None if self.skim is None else self.skim(line, repeats)
        if not noise or not line.endswith(b"}}") or line.find(_NEXT, 1) >= 0:
            return False
        # What repeats another record is known in the same reading alone, and damage is told in any.
        return self.skim is None or is_json(line)

    def read(self, line: bytes, time: str) -> Record | None:
        """Return the record on a line; None when it needs patience."""
        if self.decode is None:
            return None
        try:
            return Record(self.kind, time, self.decode(line).payload)
        except (msgspec.DecodeError, RecursionError):
            return None


_SKIMS: dict[str, Callable[[bytes, Repeats], bool]] = {
    "event_msg/token_count": lambda line, repeats: repeats.has_total(line),
    "event_msg/item_completed": lambda line, _: line.find(_REASONING, 100, 400) > 0,
    "response_item/message": lambda line, _: line.find(_DEVELOPER, 60, 250) > 0 and _SKILLS not in line,
    "turn_context": lambda line, repeats: repeats.has_context(line),
}


def _make_routes() -> dict[tuple[bytes, bytes | None], Route]:
    routes = {}
    for kind in (*records.KINDS, *records.NOISE):
        outer, _, inner = kind.encode().partition(b"/")
        struct = records.KINDS.get(kind)
        decode = msgspec.json.Decoder(Line[struct]).decode if struct else None  # type: ignore[valid-type]
        routes[outer, inner or None] = Route(kind, decode, _SKIMS.get(kind))
    return routes


ROUTES = _make_routes()
_BARES = {
    kind.encode().partition(b"/")[2]: msgspec.json.Decoder(struct).decode
    for kind, struct in records.KINDS.items()
    if kind.startswith("response_item/")
}


def decode_bare(line: bytes) -> Record | None:
    """Return the record on a line without type and payload; None when it needs patience."""
    opening = _BARE.match(line)
    decode = _BARES.get(opening[1]) if opening else None
    if opening is None or decode is None:
        return None
    try:
        return Record(f"response_item/{opening[1].decode()}", None, decode(line), bare=True)
    except (msgspec.DecodeError, RecursionError):
        return None


def decode_patiently(line: bytes) -> tuple[list[Record], int]:
    """Return the records on any line, and 1 when anything on it had to be given up, else 0."""
    try:
        values, torn = [msgspec.json.decode(line)], 0
    except (msgspec.DecodeError, RecursionError):
        values, torn = salvage(line)
    found = [_recognise(value) for value in values if isinstance(value, dict)]
    return found, int(torn > 0 or not found or len(values) > len(found))


def _recognise(value: dict[str, Any]) -> Record:
    """Return the record in a JSON object, whatever it is."""
    outer, time = value.get("type"), value.get("timestamp")
    outer = outer if isinstance(outer, str) else None
    time = time if isinstance(time, (str, int, float)) else None
    payload = value
    if "payload" in value:
        payload = value["payload"] if isinstance(value["payload"], dict) else {}
        inner = payload.get("type")
        kind = f"{outer}/{inner}" if isinstance(inner, str) and outer in _CARRIERS else outer or "(none)"
    elif outer is not None:
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
    return Record(kind, time, coerce(payload, struct) if struct else None, bare=payload is value)


def decode_any(raw: msgspec.Raw) -> Any:
    """Decode to plain Python values; None when that cannot be done."""
    if raw is NULL:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        values = decode_leniently(bytes(raw))
        return values[0] if len(values) == 1 else None


def coerce(value: dict[str, Any], kind: type[StructT]) -> StructT:
    """Build a struct from a mapping, leaving out every field that does not fit."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        nested = _NESTED.get((kind, field.name))
        try:
            if nested is records.Part:
                fields[field.name] = to_parts(item)
            elif nested is not None:
                fields[field.name] = coerce(item, nested) if isinstance(item, dict) else None
            elif field.type is msgspec.Raw:
                fields[field.name] = msgspec.Raw(msgspec.json.encode(item))
            else:
                fields[field.name] = fit(item, field.type)
        except (msgspec.ValidationError, ValueError, RecursionError, OverflowError):
            continue
    return kind(**fields)


def to_parts(value: Any) -> list[records.Part]:
    """Return a content value as parts, whatever shape it has; a bare string is a part."""
    parts = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            parts.append(records.Part("text", item))
        else:
            parts.append(coerce(item, records.Part) if isinstance(item, dict) else records.Part())
    return parts


_NESTED: dict[tuple[type[msgspec.Struct], str], type[msgspec.Struct]] = {
    (records.Meta, "git"): records.Git,
    (records.Message, "content"): records.Part,
    (records.Message, "internal_chat_message_metadata_passthrough"): records.Kinds,
    (records.Task, "turn_attribution"): records.Attribution,
    (records.Review, "target"): records.Target,
    (records.Completed, "item"): records.Item,
    (records.Item, "content"): records.Part,
    (records.Item, "target"): records.Target,
    (records.TokenCount, "info"): records.TokenInfo,
    (records.TokenInfo, "total_token_usage"): records.Usage,
    (records.TokenInfo, "last_token_usage"): records.Usage,
    (records.UsageRecord, "usage"): records.Usage,
}
