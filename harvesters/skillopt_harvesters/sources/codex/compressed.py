"""Rollouts the client has compressed: it does so with those nobody has touched for a week."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

SUFFIX = ".zst"
MAGIC = b"\x28\xb5\x2f\xfd"
TOO_SHORT = "the compressed file ends too early"
# The client's own frames need 2 MiB.
_MAX_WINDOW = 32 * 1024 * 1024
# What is fed at once bounds what can come out of it: four bytes may stand for 128 KiB.
_FEED = 512


class Unpacked(io.RawIOBase):
    """The bytes in a stream of frames. `damage` says why it ended early, if it did.

    Memory is bounded: whatever the stream holds, at most 32 MiB of window and 16 MiB of output are kept.
    """

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        self.damage = ""
        self._file = file
        self._failure = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready:
            if self.damage or not self._unpack():
                return 0
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unpack(self) -> bool:
        """Unpack a little more; False at the end."""
        packed = self._packed or self._file.read(_FEED)
        self._packed = b""
        if not packed:
            if self._frame is not None:
                self.damage = TOO_SHORT
            return False
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        try:
            self._ready = memoryview(self._frame.decompress(packed))
        except (self._failure, MemoryError) as error:
            self.damage = f"the compressed file is damaged: {error}"
            return False
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None
        return True


def unpack_head(head: bytes, size: int) -> bytes:
    """Return the first `size` bytes in a compressed file that begins with `head`."""
    return io.BufferedReader(Unpacked(io.BytesIO(head)), 64 * 1024).read(size)


def find_damage(head: bytes) -> str:
    """Return why nothing can be unpacked of a file that begins with `head`; "" when something can.

    A file that was never compressed is not damaged by that.
    """
    if not head.startswith(MAGIC):
        return (
            ""
            if not head or head.lstrip().startswith(b"{")
            else "the compressed file has a damaged beginning"
        )
    stream = Unpacked(io.BytesIO(head))
    return "" if stream.read(1) else stream.damage
