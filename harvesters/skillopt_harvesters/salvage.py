"""Records out of damaged lines: torn, glued together, broken in two, not quite UTF-8."""

from __future__ import annotations

import json
from typing import Any

import msgspec

# A byte order mark among them stands where files were put one behind the other.
PADDING = b"\r\n\x00 \t\xef\xbb\xbf"
_SPACES = PADDING.replace(b"\x00", b"")
_HOLE = b"\x00"
# A broken record is looked for in so many lines, and tried so many times.
_MAX_PARTS = 1_000
_MAX_TRIES = 32
_MAX_GLUED = 8
# Bytes read again and again in search of a whole record on a line; bounds the time of a hostile one.
_MAX_WORK = 64 * 1024 * 1024
_TRY = 512
# Keys whose values are names: ids, kinds, times.
_ID_ENDINGS = ("id", "Id", "ID")
_NAMES = frozenset({"type", "role", "kind", "timestamp", "model", "version", "status"})
_BLANKS = " \t\r\n\0\ufeff"
_JSON = json.JSONDecoder(strict=False)
_check = msgspec.json.Decoder(msgspec.Raw).decode


def is_json(line: bytes | bytearray) -> bool:
    """Tell whether the line is one JSON value and nothing else."""
    try:
        _check(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def is_whole(line: bytes) -> bool:
    """Tell whether a line without an end is all there: half a number is a number too."""
    return line.startswith((b"{", b"[")) and (is_json(line) or (line.endswith(b"}") and not salvage(line)[1]))


def decode_leniently(line: bytes) -> list[Any]:
    """Return the JSON values on a line that a strict decoder refused; empty when there are none."""
    return salvage(line)[0]


def decode_values(line: bytes) -> list[Any]:
    """Return the JSON values on any line."""
    try:
        return [msgspec.json.decode(line)]
    except (msgspec.DecodeError, RecursionError):
        return decode_leniently(line)


def decode_whole(text: bytes) -> Any:
    """Return the JSON value that a whole text is, decoded as leniently. Raises ValueError when it is none."""
    try:
        return _without_surrogates(_JSON.decode(text.decode("utf-8", errors="replace").strip(_BLANKS)))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def salvage(line: bytes, *, key: str = "timestamp") -> tuple[list[Any], int]:
    """Return the JSON values on a line that a strict decoder refused, and how many others were torn.

    Invalid UTF-8 and lone surrogates become replacement characters, raw control characters are kept. A
    record torn by a crash may have the next one glued to it: then the whole record at the end of the line
    is found by trying every place where an object with a string key opens. Where that might as well be a
    part of the torn record, it has to have the `key` that only whole records have.
    """
    text = line.decode("utf-8", errors="replace").rstrip(_BLANKS)
    values: list[Any] = []
    position = _skip_blanks(text, 0)
    torn = 0
    while position < len(text) and not torn:
        try:
            value, position = _JSON.raw_decode(text, position)
        except (ValueError, RecursionError):
            torn = 1
            values += _find_glued(text, position + 1, key)
        else:
            position = _skip_blanks(text, position)
            if text[position : position + 1] == ",":
                # As in the list of an export.
                position = _skip_blanks(text, position + 1)
            values.append(value)
    try:
        return [_without_surrogates(value) for value in values], torn
    except RecursionError:
        return [], 1


def _find_glued(text: str, start: int, key: str) -> list[dict[str, Any]]:
    """Return the records behind a torn one, in order; the last one tells where the one before it ends."""
    found: list[dict[str, Any]] = []
    end = len(text)
    for _ in range(_MAX_GLUED):
        piece = text[:end].rstrip(_BLANKS)
        glued = _find_whole(piece, start) or _find_readable(piece, start)
        if not glued or not (key in glued[0] or not _may_be_part(piece, glued[1])):
            break
        value, end = glued
        found.insert(0, value)
    return found


def _find_whole(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """Return the object that ends with the text, and where it opens, if it is flawless.

    Only one place can be right: what opens inside that object ends before it.
    """
    data = text[start:].encode()
    view = memoryview(data)
    at, work = data.find(b'{"'), 0
    while at >= 0 and work < _MAX_WORK:
        try:
            _check(view[at:])
        except msgspec.DecodeError as error:
            work += len(data) - at if "truncated" in str(error) else _TRY
        except RecursionError:
            work += _TRY
        else:
            return msgspec.json.decode(view[at:]), start + len(data[:at].decode())
        at = data.find(b'{"', at + 1)
    return None


def _find_readable(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """Return the same of an object that only a lenient decoder reads; the first places are tried."""
    at, tries = text.find('{"', start), 0
    while at >= 0 and tries < _MAX_TRIES:
        try:
            value, end = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            tries += 1
        else:
            if end == len(text):
                return value, at
        at = text.find('{"', at + 1)
    return None


def _may_be_part(text: str, position: int) -> bool:
    """Tell whether the object that opens there stands where a value of another one may stand."""
    return text[:position].rstrip()[-1:] in {":", ",", "["}


def mend(parts: list[bytes], *, limit: int, final: bool = False) -> tuple[list[bytes], list[bytes]]:
    """Return lines without blank ones and with broken records joined, and those that may yet go on.

    A line that begins with NULs has a line of one NUL before it.

    Writers that do not escape the line ends inside a string break their records. A line that opens an object
    and is not whole is joined with those that follow, up to `limit` bytes, if they complete it; another
    whole record between them ends the search, and then nothing is joined. Unless these are the `final` lines,
    a record whose end is not among them is given back.
    """
    lines: list[bytes] = []
    number, work = 0, 0
    while number < len(parts):
        line = parts[number].strip(PADDING)
        end = number + 1
        may_go_on = line.startswith(b'{"') and work < _MAX_WORK and not (final and end == len(parts))
        if may_go_on and not (is_json(line) or _is_value(line)):
            found, cost = _find_end(parts, number, limit=limit)
            work += cost
            if found is None and not final:
                return lines, parts[number:]
            if found:
                end = found
                line = b"".join(parts[number:end]).strip(PADDING)
        if parts[number].lstrip(_SPACES).startswith(_HOLE):
            lines.append(_HOLE)
        if line:
            lines.append(line)
        number = end
    return lines, []


def _find_end(parts: list[bytes], start: int, *, limit: int) -> tuple[int | None, int]:
    """Return the number of the part behind a broken record, and what it cost to find out.

    The number is 0 when the record has no end, None when its end is not among the parts.
    """
    length, tries, cost = len(parts[start]), 0, 0
    for end in range(start + 1, len(parts)):
        part = parts[end].strip(PADDING)
        length += len(parts[end])
        cost += _TRY
        if length > limit or end - start > _MAX_PARTS or (part.startswith(b'{"') and is_json(part)):
            return 0, cost
        if part.endswith(b"}"):
            cost += length
            if _is_value(b"".join(parts[start : end + 1])):
                return end + 1, cost
            tries += 1
            if tries == _MAX_TRIES:
                return 0, cost
    return None, cost


def _is_value(line: bytes) -> bool:
    """Tell whether a line is one value after the other and nothing else: a broken one may be the last."""
    text = line.decode("utf-8", errors="replace").strip(_BLANKS)
    position = 0
    while position < len(text):
        try:
            _, position = _JSON.raw_decode(text, position)
        except (ValueError, RecursionError):
            return False
        position = _skip_blanks(text, position)
    return text != ""


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANKS:
        position += 1
    return position


def _mend_name(name: str) -> str:
    """No name has a line end in it that was not put there when its record was broken."""
    return "".join(name.split()) if "\n" in name else name


def _without_surrogates(value: Any) -> Any:
    """Make every string encodable again: half of an emoji, escaped, loads but cannot be written."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode("utf-8")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        mended = {}
        for key, item in value.items():
            name = _mend_name(_without_surrogates(key))
            told = _without_surrogates(item)
            is_name = isinstance(told, str) and (name in _NAMES or name.endswith(_ID_ENDINGS))
            mended[name] = _mend_name(told) if is_name else told
        return mended
    return value
