"""Asks whoever started the run before what may be another request goes out to a service.

What a run says to its service is encrypted, so requests are told by their size: what is sent after the
service said something, up to what it says next. Who is asked knows what the run has told of its spending.
"""

from __future__ import annotations

import _socket

_MESSAGE, _REQUEST = 256, 4096  # bytes: less is none, and a client's request to its model is more than that
# HTTP/2 says less for itself, while a request is still being sent: that it takes more of it.
_ANSWER = 200  # bytes
_place: list[tuple[int, bytes]] = []


def lead_to(text: str) -> None:
    """Ask at this address from now on: PORT:TOKEN on the loopback."""
    port, _, token = text.partition(":")
    _place[:] = [(int(port), token.encode())]


class Speech:
    """What one connection has sent since the service said something last."""

    def __init__(self) -> None:
        self._sent = 0

    def hear(self, size: int) -> None:
        """Note that the service said something of so many bytes."""
        if size >= _ANSWER:
            self._sent = 0

    def add(self, size: int) -> None:
        """Wait until these bytes may go out as well. Raises OSError when they may not."""
        before = self._sent
        self._sent = after = before + size
        if _place and before < _REQUEST <= after:
            _ask(*_place[0], b"R")
        elif _place and before < _MESSAGE <= after:
            _ask(*_place[0], b"M")


def _ask(port: int, token: bytes, kind: bytes) -> None:
    asking = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        asking.connect(("127.0.0.1", port))
        asking.sendall(kind + token)
        if asking.recv(1) != b"1":
            raise OSError("the run may ask its service no more")
    finally:
        asking.close()
