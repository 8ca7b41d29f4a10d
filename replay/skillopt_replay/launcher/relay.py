"""Passes connections on to one service and to no other."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading

from skillopt_replay.launcher.hello import read_opening
from skillopt_replay.launcher.upstream import dial

TYPE_CHECKING = False  # the module typing takes longer to load than all of ours
if TYPE_CHECKING:
    from skillopt_replay.launcher.upstream import Address

MAX_CONNECTIONS = 64
_PIECE = 65536
_free = threading.BoundedSemaphore(MAX_CONNECTIONS)
_told: set[Address] = set()


def serve(listener: socket.socket, service: Address) -> None:
    """Pass every connection that comes to `listener` on to `service`, until the process ends."""

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            if not _free.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=_pass_on, args=(connection, service), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _pass_on(connection: socket.socket, service: Address) -> None:
    try:
        with connection, contextlib.suppress(OSError):
            try:
                opening = read_opening(connection, service)
                far = dial(service)
            except OSError as error:
                tell(service, error)
                return
            with far:
                far.sendall(opening)
                join(connection, far)
    finally:
        _free.release()


def tell(service: Address, error: OSError) -> None:
    """Say once on the error channel that a service is out of reach."""
    if service not in _told:
        _told.add(service)
        sys.stderr.write(f"network: {service[0]}:{service[1]} cannot be reached: {error}\n")
        sys.stderr.flush()


def join(near: socket.socket, far: socket.socket) -> None:
    """Copy both ways until both sides have said all they have to say."""
    back = threading.Thread(target=_copy, args=(far, near), daemon=True)
    back.start()
    _copy(near, far)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
