"""Lines of a transcript: bounded memory, one bad line costs one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_PADDING = b"\r\n\x00 \t"
_MAX_RESTARTS = 32
_JSON = json.JSONDecoder(strict=False)


class LineReader:
    r"""Iterates over (offset after the line, line) of a binary stream.

    Lines end at b"\n" and nowhere else, since U+2028 and its like are legal inside JSON strings. A byte
    order mark, CR, padding NULs and blank lines are dropped. A line longer than `limit` bytes is read past
    without being kept, and counted in `overlong`; a line that starts with one of `noise` is counted in
    `noise_lines` and not handed out. A last line without a newline is handed out only when it parses; else
    it stays unread, and `offset` says where the next reading may go on.
    """

    def __init__(
        self, stream: BinaryIO, *, limit: int = MAX_LINE, noise: tuple[bytes, ...] = (), offset: int = 0
    ) -> None:
        self.stream = stream
        self.limit = limit
        self.noise = noise
        self.offset = offset
        self.overlong = 0
        self.noise_lines = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        readline, limit, noise = self.stream.readline, self.limit, self.noise
        while True:
            raw = readline(limit + 1)
            if not raw:
                return
            if not raw.endswith(b"\n"):
                if len(raw) > limit:
                    if not self._skip_overlong(len(raw)):
                        return
                    continue
                if not _parses(_strip(raw, first=self.offset == 0)):
                    return
            first = self.offset == 0
            self.offset += len(raw)
            if noise and raw.startswith(noise):
                self.noise_lines += 1
                continue
            line = _strip(raw, first=first)
            if line:
                yield self.offset, line

    def _skip_overlong(self, length: int) -> bool:
        """Read past the rest of the line; False when it has no end yet and stays unread."""
        while True:
            raw = self.stream.readline(1024 * 1024)
            length += len(raw)
            if raw.endswith(b"\n"):
                self.offset += length
                self.overlong += 1
                return True
            if not raw:
                return False


def _strip(raw: bytes, *, first: bool) -> bytes:
    if first and raw.startswith(_BOM):
        raw = raw[len(_BOM) :]
    return raw.strip(_PADDING)


def _parses(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def decode_leniently(line: bytes) -> list[Any]:
    """Return the JSON values on a line that a strict decoder refused; empty when there are none.

    Invalid UTF-8 and lone surrogates become replacement characters, raw control characters are kept. A
    record torn by a crash may have the next one glued to it: then the whole record at the end of the line
    is found by trying every place where an object with a string key opens.
    """
    text = line.decode("utf-8", errors="replace")
    values: list[Any] = []
    position, restarts = 0, 0
    torn = False
    while position < len(text):
        try:
            value, end = _JSON.raw_decode(text, position)
        except (ValueError, RecursionError):
            torn = True
        else:
            end = _skip_blanks(text, end)
            # After a tear only a record that reaches the end of the line is whole; a smaller one is a part.
            if not torn or end == len(text):
                values.append(_without_surrogates(value))
                position = end
                continue
        restarts += 1
        position = text.find('{"', position + 1)
        if position < 0 or restarts > _MAX_RESTARTS:
            break
    return values


def decode_whole(text: bytes) -> Any:
    """Return the JSON value that a whole text is, decoded as leniently. Raises ValueError when it is none."""
    try:
        return _without_surrogates(_JSON.decode(text.decode("utf-8", errors="replace")))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


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
