"""What a client writes, kept so that it can be read when its call is cut off as well."""

from __future__ import annotations


class Written:
    """Takes output in pieces, and keeps the first `most` bytes of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()

    def take(self, data: bytes) -> None:
        self._kept += data[: max(self._most - len(self._kept), 0)]

    @property
    def text(self) -> str:
        """What was kept; what is no UTF-8 is replaced."""
        return self._kept.decode("utf-8", "replace")
