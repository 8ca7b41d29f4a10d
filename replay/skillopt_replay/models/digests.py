"""SHA-256 of large files, remembered as long as a file's size and time of change stay the same."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 1 << 20


class _Memo(msgspec.Struct, frozen=True):
    path: str
    size: int
    mtime_ns: int
    sha256: str


def digest_of(path: Path, memory: Path, on_block: Callable[[int], None] | None = None) -> str:
    """Return the SHA-256 of the file in hex, read from the folder `memory` when the file has not changed.

    `on_block` gets the bytes hashed so far and may raise to stop. Raises OSError when the file is unreadable.
    """
    full = path.resolve()
    note = _note_of(full, memory)
    status = full.stat()
    known = _read_memo(note)
    if known is not None and (known.path, known.size, known.mtime_ns) == (
        str(full),
        status.st_size,
        status.st_mtime_ns,
    ):
        return known.sha256
    sha256 = _hash(full, on_block)
    remember(path, sha256, memory, status)
    return sha256


def remember(path: Path, sha256: str, memory: Path, status: os.stat_result | None = None) -> None:
    """Note the digest of a file whose content was hashed elsewhere."""
    full = path.resolve()
    status = status or full.stat()
    memo = _Memo(str(full), status.st_size, status.st_mtime_ns, sha256)
    write_atomically(_note_of(full, memory), msgspec.json.encode(memo))


def write_atomically(path: Path, content: bytes) -> None:
    """Write a small file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _note_of(full: Path, memory: Path) -> Path:
    return memory / f"{hashlib.sha256(os.fsencode(full)).hexdigest()[:24]}.json"


def _read_memo(note: Path) -> _Memo | None:
    try:
        return msgspec.json.decode(note.read_bytes(), type=_Memo)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None


def _hash(path: Path, on_block: Callable[[int], None] | None) -> str:
    sha = hashlib.sha256()
    done = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            sha.update(block)
            done += len(block)
            if on_block is not None:
                on_block(done)
    return sha.hexdigest()
