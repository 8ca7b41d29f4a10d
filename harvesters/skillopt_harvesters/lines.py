"""Lines of a transcript: bounded memory, one bad line costs one line."""

from __future__ import annotations

import os
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from skillopt_harvesters.salvage import PADDING, decode_leniently, is_json, is_whole, mend

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedIOBase

__all__ = ["MAX_LINE", "PADDING", "Chunk", "LineReader", "decode_leniently"]

# A prompt with three pasted pictures of 5 MB fits.
MAX_LINE = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_BUFFER = 1024 * 1024
# A buffer to use again: a new one costs as much as reading a small file.
_BUFFERS: list[bytearray] = []
_OPENED, _CLOSED = {ord("{")}, {ord("}")}
# So much of a line that is not kept can still be told.
_OPENING = 4096


class Chunk(NamedTuple):
    """Whole lines between two places of a buffer, which the next chunk overwrites."""

    buffer: bytearray
    start: int
    end: int

    @property
    def view(self) -> memoryview:
        return memoryview(self.buffer)[self.start : self.end]


class LineReader:
    r"""Reads the lines of a binary stream, many at a time.

    Lines end at b"\n" and nowhere else, since U+2028 and its like are legal inside JSON strings. A byte order
    mark, CR, NULs behind a record and blank lines are dropped. NULs in front of one stand where a crash took
    others: they are handed out as a line of their own, which is no record; not so at the file's beginning, or
    where the stream `goes_on` in the middle of a line. Lines that are one record broken by raw line ends
    inside a string are put together again. A line longer than `limit` bytes is read past without being kept,
    and counted in `overlong`; `opening` is how the latest of them began. A whole record that starts with one
    of `noise` is counted in `noise_lines` and not handed out. A last line without a newline is handed out
    only when it is a whole object; else it stays unread, and `offset` says where the next reading may go on.
    `is_unended` tells that it is too long already. A last record that seems to be broken stays unread as
    well, when more may come: see `wait`.
    """

    def __init__(
        self,
        stream: BinaryIO,
        *,
        limit: int = MAX_LINE,
        noise: tuple[bytes, ...] = (),
        offset: int = 0,
        goes_on: bool = False,
    ) -> None:
        self.stream = stream
        self.limit = limit
        self.noise = noise
        self.offset = offset
        self.overlong = 0
        self.is_unended = False
        self.opening = b""
        self.noise_lines = 0
        self._prefix = _find_prefix(noise)
        self._may_be_padded = offset == 0 or goes_on
        # The beginning of a record that seems to be broken, and may go on in the next chunk.
        self._pending: list[bytes] = []
        # So many lines were too long when the pending ones were looked at.
        self._passed = 0

    def blocks(self) -> Iterator[list[bytes]]:
        """Yield the lines of a block at a time; `offset` stands behind what was read for it."""
        for chunk in self.chunks():
            yield self.split(chunk)
        yield self.rest()

    @property
    def is_whole(self) -> bool:
        """Whether no record seems to go on in the next chunk."""
        return not self._pending

    def split(self, chunk: Chunk) -> list[bytes]:
        r"""Return the lines of a chunk. They may still end in b"\n": cutting it off would copy every byte."""
        lines = BytesIO(chunk.view).readlines()
        before = []
        if self.overlong > self._passed:
            # What was broken before a line that was passed over does not go on behind it.
            self._passed = self.overlong
            before = self.rest()
        if self._pending or not (_are_usual(lines) and all(map(is_json, lines))):
            lines, self._pending = mend(self._pending + lines, limit=self.limit)
        return before + self._drop_noise(lines)

    def wait(self) -> bool:
        """Leave a last record that may yet go on unread; return whether there is one."""
        if self.overlong > self._passed:
            return False
        # Records are not left unread, nor what is broken before one.
        told = max((at for at, line in enumerate(self._pending, 1) if _has_record(line)), default=0)
        _, left = mend(self._pending[told:], limit=self.limit)
        self.offset -= sum(map(len, left))
        self._pending = self._pending[: len(self._pending) - len(left)]
        return left != []

    def rest(self) -> list[bytes]:
        """Return the lines of the last chunk that might have gone on."""
        if not self._pending:
            return []
        lines, self._pending = mend(self._pending, limit=self.limit, final=True)
        return self._drop_noise(lines)

    def _drop_noise(self, lines: list[bytes]) -> list[bytes]:
        noise, prefix = self.noise, self._prefix
        if not noise:
            return lines
        kept = [
            line
            for line in lines
            if not (line.startswith(prefix) and line.startswith(noise) and is_json(line))
        ]
        self.noise_lines += len(lines) - len(kept)
        return kept

    def chunks(self) -> Iterator[Chunk]:
        """Yield runs of whole lines with their ends; `offset` stands behind the one that was yielded."""
        buffer = _BUFFERS.pop() if _BUFFERS and self.limit >= _BUFFER else bytearray(min(_BUFFER, self.limit))
        # Bytes of a line that did not end yet: at the buffer's beginning, or dropped when there are too many.
        held = dropped = 0
        opening = b""
        while count := _fill(self.stream, buffer, held):
            end = held + count
            line_end = buffer.rfind(b"\n", held, end) + 1
            start = 0
            if dropped and line_end:
                start = buffer.index(b"\n", held) + 1
                self.overlong += 1
                self.opening = opening
                self.offset += dropped + start
                dropped = 0
            if line_end > start:
                yield self._advance(buffer, start, line_end)
            if line_end:
                held = end - line_end
                buffer[:held] = buffer[line_end:end]
            elif dropped or end > self.limit:
                opening = opening if dropped else bytes(buffer[:_OPENING])
                dropped += end
                held = 0
            else:
                held = end
                if held == len(buffer):
                    # What was read from it may still be in use, so it cannot be made longer.
                    buffer = buffer + bytearray(min(len(buffer), self.limit + 1 - len(buffer)))
        self.is_unended = dropped > 0
        if held and not dropped and is_whole(bytes(buffer[:held]).strip(PADDING)):
            yield self._advance(buffer, 0, held)
        if len(buffer) == _BUFFER and not _BUFFERS:
            _BUFFERS.append(buffer)

    def _advance(self, buffer: bytearray, start: int, end: int) -> Chunk:
        if self.offset == 0 and buffer.startswith(_BOM, start, end):
            self.offset += len(_BOM)
            start += len(_BOM)
        elif self._may_be_padded and buffer.startswith(b"\0", start, end):
            # Padding, or a file that was emptied while its writer went on where it was.
            hole = end - start - len(buffer[start:end].lstrip(b"\0"))
            self.offset += hole
            start += hole
        self._may_be_padded = False
        self.offset += end - start
        return Chunk(buffer, start, end)


@lru_cache(maxsize=32)
def _find_prefix(noise: tuple[bytes, ...]) -> bytes:
    return os.path.commonprefix(noise) or b""  # noqa: RUF071 - bytes, not paths


def _has_record(line: bytes) -> bool:
    """Tell whether there is a record on a line, be it behind a torn one."""
    line = line.strip(PADDING)
    return line.startswith(b'{"') and bool(decode_leniently(line))


def _fill(stream: BinaryIO, buffer: bytearray, start: int) -> int:
    """Read into a buffer from `start` on; return the number of bytes, 0 at the end."""
    with memoryview(buffer) as view, view[start:] as room:
        return cast("BufferedIOBase", stream).readinto(room) or 0


def _are_usual(lines: list[bytes]) -> bool:
    r"""Tell whether each line is, as far as its ends tell, an object and b"\n"."""
    try:
        return {line[0] for line in lines} == _OPENED and {line[-2] for line in lines} == _CLOSED
    except IndexError:
        return False
