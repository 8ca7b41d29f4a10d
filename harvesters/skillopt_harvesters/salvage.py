"""Records out of damaged lines: torn, glued together, broken in two, not quite UTF-8."""

from __future__ import annotations

import json
from typing import Any

import msgspec

PADDING = b"\r\n\x00 \t"
# A broken record is looked for in so many lines, and tried so many times.
_MAX_PARTS = 1_000
_MAX_TRIES = 16
# Characters read again and again in search of a whole record on a line; bounds the time of a hostile one.
_MAX_WORK = 8 * 1024 * 1024
_TRY = 64
_JSON = json.JSONDecoder(strict=False)
_check = msgspec.json.Decoder(msgspec.Raw).decode


def is_json(line: bytes | bytearray) -> bool:
    """Tell whether the line is one JSON value and nothing else."""
    try:
        _check(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def decode_leniently(line: bytes) -> list[Any]:
    """Return the JSON values on a line that a strict decoder refused; empty when there are none."""
    return salvage(line)[0]


def salvage(line: bytes) -> tuple[list[Any], int]:
    """Return the JSON values on a line that a strict decoder refused, and how many others were torn.

    Invalid UTF-8 and lone surrogates become replacement characters, raw control characters are kept. A
    record torn by a crash may have the next one glued to it: then the whole record at the end of the line
    is found by trying every place where an object with a string key opens.
    """
    text = line.decode("utf-8", errors="replace")
    values: list[Any] = []
    position, work = _skip_blanks(text, 0), 0
    torn = False
    while position < len(text):
        try:
            value, end = _JSON.raw_decode(text, position)
        except json.JSONDecodeError as error:
            torn = True
            work += max(error.pos - position, 0)
        except (ValueError, RecursionError):
            torn = True
            work += len(text) - position
        else:
            work += end - position
            end = _skip_blanks(text, end)
            # After a tear only a record that reaches the end of the line is whole; a smaller one is a part.
            if not torn or end == len(text):
                values.append(value)
                position = end
                continue
        work += _TRY
        position = text.find('{"', position + 1)
        if position < 0 or work > _MAX_WORK:
            break
    try:
        return [_without_surrogates(value) for value in values], int(torn)
    except RecursionError:
        return [], 1


def mend(
    parts: list[bytes], *, limit: int, final: bool = False
) -> tuple[list[bytes], list[bytes]]:
    """Return lines without blank ones and with broken records joined, and those that may yet go on.

    Writers that do not escape the line ends inside a string break their records. A line that opens an object
    and is not whole is joined with those that follow, up to `limit` bytes, if they complete it; another
    whole record between them ends the search, and then nothing is joined. Unless these are the `final` lines,
    a record whose end is not among them is given back.
    """
    lines: list[bytes] = []
    number = 0
    while number < len(parts):
        line = parts[number].strip(PADDING)
        end = number + 1
        if _may_be_broken(line, parts[end : end + 1]) and not is_json(line):
            found = _find_end(parts, number, limit=limit)
            if found is None and not final:
                return lines, parts[number:]
            if found:
                end = found
                line = b"".join(parts[number:end]).strip(PADDING)
        if line:
            lines.append(line)
        number = end
    return lines, []


def _may_be_broken(line: bytes, following: list[bytes]) -> bool:
    """Tell whether a line looks as if its record ended in one of the next lines."""
    if not line.startswith(b'{"') or not following:
        return False
    after = following[0].lstrip(PADDING)
    return not line.endswith(b"}") or (after != b"" and not after.startswith(b"{"))


def _find_end(parts: list[bytes], start: int, *, limit: int) -> int | None:
    """Return the number of the part behind a broken record, 0 when it has no end, None when none yet."""
    length, tries = len(parts[start]), 0
    for end in range(start + 1, len(parts)):
        part = parts[end].strip(PADDING)
        length += len(parts[end])
        if length > limit or end - start > _MAX_PARTS or (part.startswith(b'{"') and is_json(part)):
            return 0
        if part.endswith(b"}"):
            if _is_value(b"".join(parts[start : end + 1])):
                return end + 1
            tries += 1
            if tries == _MAX_TRIES:
                return 0
    return None


def _is_value(line: bytes) -> bool:
    text = line.decode("utf-8", errors="replace").strip(" \t\r\n\0")
    try:
        _, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return end == len(text)


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n\x00":
        position += 1
    return position


def _without_surrogates(value: Any) -> Any:
    """Make every string encodable again: half of an emoji, escaped, loads but cannot be written."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode("utf-8")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
