"""A download under way: a file that only grows, its running SHA-256, and how to go on with it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.models.digests import BLOCK, write_atomically

if TYPE_CHECKING:
    from types import TracebackType


class SourceFailed(Exception):
    """A source did not give the file; the text says why, in one line."""


class _Marks(msgspec.Struct):
    """`tag` names the version a page served; `steps` counts finished pieces that end at byte `bytes`."""

    tag: str = ""
    steps: int = 0
    bytes: int = 0


class Partial:
    """Appends to `path`, hashing on the way; `size` is the length the finished file must have.

    What an earlier run left is read back on opening, so that the digest covers all of it. Marks (which
    pieces are complete, which version a page served) live beside it in a small JSON file.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self._notes = path.with_name(path.name + ".json")
        try:
            self._marks = msgspec.json.decode(self._notes.read_bytes(), type=_Marks)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            self._marks = _Marks()
        self._sha = hashlib.sha256()
        self.done = 0
        self._stream = path.open("ab+")
        try:
            if os.fstat(self._stream.fileno()).st_size > size:
                self.restart()
            self._rehash()
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Partial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()

    @property
    def tag(self) -> str:
        """The version (ETag) of the page that the bytes so far came from."""
        return self._marks.tag

    @property
    def steps(self) -> int:
        """Pieces that are complete."""
        return self._marks.steps

    @property
    def sha256(self) -> str:
        """Digest of the bytes so far."""
        return self._sha.hexdigest()

    def append(self, block: bytes) -> None:
        """Write the next bytes. Raises SourceFailed when they would make the file too long."""
        if self.done + len(block) > self.size:
            raise SourceFailed(f"it gives more than the {self.size} bytes the file has")
        self._stream.write(block)
        self._sha.update(block)
        self.done += len(block)

    def restart(self, tag: str = "") -> None:
        """Throw away what is there; the next bytes are the file's first."""
        self._cut(0)
        self._marks = _Marks(tag=tag)
        self._save()

    def finish_step(self) -> None:
        """Note that one more piece is complete: a later run goes on behind it."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._marks = _Marks(self._marks.tag, self._marks.steps + 1, self.done)
        self._save()

    def return_to_step(self) -> None:
        """Drop the bytes behind the last complete piece."""
        if self.done < self._marks.bytes:
            self.restart()
        elif self.done > self._marks.bytes:
            self._cut(self._marks.bytes)
            self._rehash()

    def discard(self) -> None:
        """Delete the partial file and its notes."""
        self.path.unlink(missing_ok=True)
        self._notes.unlink(missing_ok=True)

    def _cut(self, length: int) -> None:
        self._stream.flush()
        self._stream.truncate(length)
        self._sha = hashlib.sha256()
        self.done = 0

    def _rehash(self) -> None:
        self._sha = hashlib.sha256()
        self.done = 0
        self._stream.seek(0)
        while block := self._stream.read(BLOCK):
            self._sha.update(block)
            self.done += len(block)
        self._stream.seek(0, os.SEEK_END)

    def _save(self) -> None:
        write_atomically(self._notes, msgspec.json.encode(self._marks))
