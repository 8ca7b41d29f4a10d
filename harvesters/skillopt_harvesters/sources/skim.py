"""Walking JSON that is too big to be read whole: no more than a window of it is held."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, TypeAlias

from skillopt_harvesters.sources.brackets import end_string, walk, walk_over

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_HELD = 2 * 1024 * 1024
MAX_LEAF = 192 * 1024
MAX_ITEMS = 20_000
MAX_KEPT = 8 * 1024 * 1024
MAX_KEY = 4096
_CHUNK = 256 * 1024
_BLANK = b" \t\r\n\x00"
_SPACE = re.compile(rb"[ \t\r\n\x00]*")
_SCALAR = re.compile(rb"[-+.\w]*")
_QUOTE = 34
_OPENINGS = frozenset(b"{[")

# What to keep of a value: all of it, the named keys of an object, or of each item of a list.
Wanted: TypeAlias = "bool | dict[str, Wanted] | list[Wanted]"


class Readable(Protocol):
    """A stream that gives at most the number of bytes asked for, and none at its end."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


class Torn(ValueError):
    """The text is no JSON from here on, or ends too early."""


class Skimmer:
    """Stands at a place in a JSON text and moves over it value by value.

    `buffer[position:]` is what was read and not yet passed. Methods that pass a value raise `Torn` when it
    is broken; the place is then somewhere inside it.
    """

    def __init__(self, stream: Readable) -> None:
        self.stream = stream
        self.buffer = b""
        self.position = 0
        self.passed = 0
        self.searched = 0  # how far a user of this has looked ahead
        self._room = 0

    @property
    def offset(self) -> int:
        """Bytes passed since the start."""
        return self.passed + self.position

    def more(self) -> bool:
        """Read on; what was passed is forgotten. False at the end of the stream."""
        kept = self.buffer[self.position :]
        chunk = self.stream.read(max(_CHUNK, min(len(kept), MAX_HELD)))
        self.passed += self.position
        self.buffer, self.position = kept + chunk, 0
        return bool(chunk)

    def restart(self, offset: int) -> None:
        """Go back, or ahead, to a place; the stream must be able to."""
        self.stream.seek(offset)
        self.passed, self.buffer, self.position, self.searched = offset, b"", 0, 0

    def peek(self) -> int:
        """Skip blanks and return the next byte, -1 at the end."""
        while True:
            match = _SPACE.match(self.buffer, self.position)
            self.position = match.end() if match else self.position
            if self.position < len(self.buffer):
                return self.buffer[self.position]
            if not self.more():
                return -1

    def expect(self, byte: bytes) -> None:
        if self.peek() != byte[0]:
            raise Torn(f"no {byte.decode()} at {self.offset}")
        self.position += 1

    def accept(self, byte: bytes) -> bool:
        """Pass a byte if it is next."""
        if self.peek() != byte[0]:
            return False
        self.position += 1
        return True

    def members(self) -> Iterator[str]:
        """Pass an object, standing at the value of each key in turn; a value nobody passed is skipped."""
        self.expect(b"{")
        if self.accept(b"}"):
            return
        while True:
            if self.peek() != _QUOTE:
                raise Torn(f"no key at {self.offset}")
            key = self._take_string(MAX_KEY)[1:-1].decode("utf-8", "replace")
            self.expect(b":")
            self.peek()
            before = self.offset
            yield key
            if self.offset == before:
                self.skip()
            if not self.accept(b","):
                break
        self.expect(b"}")

    def items(self) -> Iterator[None]:
        """Pass a list, standing at each item in turn; an item nobody passed is skipped."""
        self.expect(b"[")
        if self.accept(b"]"):
            return
        while True:
            self.peek()
            before = self.offset
            yield None
            if self.offset == before:
                self.skip()
            if not self.accept(b","):
                break
        self.expect(b"]")

    def skip(self) -> None:
        """Pass a value without keeping any of it."""
        opening = self.peek()
        if opening == _QUOTE:
            self.position += 1
            self._skip_string()
        elif opening in _OPENINGS:
            self._skip_container()
        else:
            self._take_scalar()

    def take(self, limit: int) -> bytes | None:
        """Pass a value and return it; None, the place unchanged, when it is longer than `limit` bytes."""
        opening = self.peek()
        if opening != _QUOTE and opening not in _OPENINGS:
            return self._take_scalar()
        while True:
            end, depth, in_string = walk(self.buffer, self.position, 0)
            if depth or in_string:
                if len(self.buffer) - self.position > limit:
                    return None
                if not self.more():
                    raise Torn("the text ends inside a value")
            elif end - self.position > limit:
                return None
            else:
                value = self.buffer[self.position : end]
                self.position = end
                return value

    def prune(self, wanted: Wanted) -> bytes:
        """Pass a value and return what is wanted of it.

        Strings are cut to `MAX_LEAF` bytes, lists to `MAX_ITEMS` items; what is over `MAX_KEPT` bytes is left
        out.
        """
        self._room = MAX_KEPT
        return self._prune(wanted)

    def _prune(self, wanted: Wanted) -> bytes:
        opening = self.peek()
        if isinstance(wanted, dict) and opening == ord("{"):
            members = (key for key in self.members() if key in wanted)
            kept = [b'"' + key.encode() + b'":' + self._prune(wanted[key]) for key in members]
            return b"{" + b",".join(kept) + b"}"
        if isinstance(wanted, list) and opening == ord("["):
            items = [self._prune(wanted[0]) for number, _ in enumerate(self.items()) if number < MAX_ITEMS]
            return b"[" + b",".join(items) + b"]"
        value: bytes | None
        if opening == _QUOTE:
            value = self._take_string(MAX_LEAF)
        else:
            value = self.take(MAX_LEAF)
            if value is None:
                self.skip()
        if value is None or len(value) > self._room:
            return b"null"
        self._room -= len(value)
        return value

    def find(self, pattern: re.Pattern[bytes], *, overlap: int = 256) -> bool:
        """Move to the next place where the pattern matches, at most `overlap` bytes long."""
        while True:
            match = pattern.search(self.buffer, self.position)
            if match:
                self.position = match.start()
                return True
            self.position = max(self.position, len(self.buffer) - overlap)
            if not self.more():
                self.position = len(self.buffer)
                return False

    def _take_scalar(self) -> bytes:
        while True:
            match = _SCALAR.match(self.buffer, self.position)
            length = len(match[0]) if match else 0
            if self.position + length < len(self.buffer) or length > MAX_KEY or not self.more():
                break
        if not 0 < length <= MAX_KEY:
            raise Torn(f"no value at {self.offset}")
        value = self.buffer[self.position : self.position + length]
        self.position += length
        return value

    def _take_string(self, limit: int) -> bytes:
        """Pass a string and return it with its quotes, cut to about `limit` bytes."""
        value = self.take(limit)
        if value is not None:
            return value
        text = self.buffer[self.position + 1 : self.position + limit]
        self.position += 1
        self._skip_string()
        escape = text.rfind(b"\\", max(len(text) - 6, 0))
        text = text[:escape] if escape >= 0 else text
        if (len(text) - len(text.rstrip(b"\\"))) % 2:
            text = text[:-1]
        return b'"' + text.decode("utf-8", "ignore").encode() + b'"'

    def _skip_container(self) -> None:
        depth, in_string = 0, False
        window = self.passed
        while True:
            # Once it is known to be long, whole windows are passed over where that can be done.
            over = None
            if depth and self.passed != window:
                window = self.passed
                over = walk_over(self.buffer, self.position, depth)
            if over:
                depth, in_string = over
                self.position = len(self.buffer)
            else:
                self.position, depth, in_string = walk(self.buffer, self.position, depth)
                self.position += in_string
            if in_string:
                self._skip_string()
            elif depth == 0:
                return
            elif self.position == len(self.buffer) and not self.more():
                raise Torn("the text ends inside a value")

    def _skip_string(self) -> None:
        """Pass the rest of a string, from behind its first quote."""
        while True:
            end = end_string(self.buffer, self.position)
            if end >= 0:
                self.position = end
                return
            # A lone backslash at the end of the window belongs to what comes next.
            held = self.buffer[max(self.position, len(self.buffer) - _CHUNK) :]
            self.position = len(self.buffer) - (len(held) - len(held.rstrip(b"\\"))) % 2
            if not self.more():
                raise Torn("the text ends inside a string")
