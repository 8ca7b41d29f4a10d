"""The output of a child as it comes, from descriptors of our own."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_PIECE = 1 << 18


class Hearer(Protocol):
    """What is told about a child, by the names of asyncio's SubprocessProtocol."""

    def pipe_data_received(self, fd: int, data: bytes) -> None: ...

    def process_exited(self) -> None: ...

    def connection_lost(self, exc: Exception | None, /) -> None: ...


def open_sealed() -> tuple[int, int]:
    """Return what to read a child's output from and what the child writes to: one that nobody else opens.

    A pipe is found in /proc by the other processes of a run; a socket cannot be opened there. Raises OSError.
    """
    ours, theirs = socket.socketpair()
    ours.shutdown(socket.SHUT_WR)
    return ours.detach(), theirs.detach()


class Ears:
    """Hands on what comes from both outputs of a child; `ended` is called when one of them has ended."""

    def __init__(self, outputs: tuple[int, int], hearer: Hearer, ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._open = dict(zip(outputs, (1, 2), strict=True))
        self._hearer = hearer
        self._ended = ended
        for descriptor in outputs:
            os.set_blocking(descriptor, False)
            self._loop.add_reader(descriptor, self._read, descriptor)

    @property
    def are_closed(self) -> bool:
        return not self._open

    def close(self) -> None:
        """Listen no more; what is written from now on is lost."""
        for descriptor in list(self._open):
            self._shut(descriptor)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._hearer.pipe_data_received(self._open[descriptor], data)
            return
        self._shut(descriptor)
        self._ended()

    def _shut(self, descriptor: int) -> None:
        del self._open[descriptor]
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
