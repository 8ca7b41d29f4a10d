"""JSON of any shape into structs: a value of the wrong type costs its key, not the record."""

from __future__ import annotations

import types
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

from skillopt_harvesters.fitting import fit
from skillopt_harvesters.salvage import decode_whole, salvage

StructT = TypeVar("StructT", bound=msgspec.Struct)

# The value of a key that is not there; compared by identity.
NULL = msgspec.Raw(b"null")
_TOO_STRANGE = (msgspec.ValidationError, UnicodeEncodeError, RecursionError, OverflowError)


@lru_cache(maxsize=64)
def decoder_of(kind: type[StructT]) -> msgspec.json.Decoder[StructT]:
    """Return the strict decoder of a struct."""
    return msgspec.json.Decoder(kind)


def decode_line(line: bytes, kind: type[StructT], *, key: str = "timestamp") -> tuple[list[StructT], int]:
    """Return the records on a line, and 1 when anything on it had to be given up, else 0.

    `key` is one that only whole records have.
    """
    try:
        return [decoder_of(kind).decode(line)], 0
    except (msgspec.DecodeError, RecursionError):
        values, torn = salvage(line, key=key)
    records = [coerce(value, kind) for value in values if isinstance(value, dict)]
    return records, int(torn > 0 or not records or len(values) > len(records))


def decode_as(raw: msgspec.Raw | bytes, kind: type[StructT]) -> StructT | None:
    """Decode an object, dropping the keys whose type is wrong; None when it is no object."""
    if raw is NULL:
        return None
    decoded: StructT
    try:
        decoded = decoder_of(kind).decode(raw)
    except (msgspec.DecodeError, RecursionError):
        value = decode_any(raw)
        return coerce(value, kind) if isinstance(value, dict) else None
    return decoded


def decode_any(raw: msgspec.Raw | bytes) -> Any:
    """Decode to plain Python values; None when that cannot be done."""
    if raw is NULL:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        try:
            return decode_whole(bytes(raw))
        except ValueError:
            return None


def decode_text(raw: msgspec.Raw | bytes) -> str:
    """Return a string value; "" when it is something else."""
    value = decode_any(raw)
    return value if isinstance(value, str) else ""


def opening_of(raw: msgspec.Raw | bytes) -> bytes:
    """Return the first byte, which tells the kind of a JSON value."""
    return b"" if raw is NULL else bytes(memoryview(raw)[:1])


def coerce(value: dict[str, Any], kind: type[StructT]) -> StructT:
    """Build a struct from a mapping, leaving out every key that does not fit."""
    fields: dict[str, Any] = {}
    for field in _fields_of(kind):
        if field.encode_name in value:
            try:
                fields[field.name] = _fit(value[field.encode_name], field.type)
            except _TOO_STRANGE:
                continue
    return kind(**fields)


@lru_cache(maxsize=64)
def _fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a struct, whose types are worked out once."""
    return msgspec.structs.fields(kind)


def _fit(item: Any, wanted: Any) -> Any:
    if wanted is msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(item))
    for option in _options(wanted):
        if isinstance(item, dict) and isinstance(option, type) and issubclass(option, msgspec.Struct):
            return coerce(item, option)
        if isinstance(item, list) and get_origin(option) is list:
            return _fit_items(item, get_args(option)[0])
    return fit(item, wanted)


def _fit_items(items: list[Any], wanted: Any) -> list[Any]:
    """Fit each item. A struct that cannot becomes an empty one, so that the others keep their place."""
    empty = next((option for option in _options(wanted) if hasattr(option, "__struct_fields__")), None)
    fitted: list[Any] = []
    for item in items:
        try:
            fitted.append(_fit(item, wanted))
        except _TOO_STRANGE:
            if empty is None:
                raise
            fitted.append(empty())
    return fitted


def _options(wanted: Any) -> tuple[Any, ...]:
    return get_args(wanted) if get_origin(wanted) in {Union, types.UnionType} else (wanted,)
