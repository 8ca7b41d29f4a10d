"""Passes connections on to one service and to no other."""

from __future__ import annotations

import _socket
import _thread
import sys

from skillopt_replay.launcher import speaker
from skillopt_replay.launcher.gate import Speech
from skillopt_replay.launcher.hello import OtherName, follow, read_opening
from skillopt_replay.launcher.upstream import dial

TYPE_CHECKING = False  # the module typing takes longer to load than all of ours
if TYPE_CHECKING:
    from collections.abc import Callable

    from skillopt_replay.launcher.upstream import Address

MAX_CONNECTIONS = 64
_PIECE = 65536
_told: set[Address] = set()
# One for each connection there may be; taking from a list is one step, whoever else does.
free = [None] * MAX_CONNECTIONS


def serve(listener: _socket.socket, service: Address) -> None:
    """Pass every connection that comes to `listener` on to `service`, until the process ends."""
    _thread.start_new_thread(_accept, (listener, service))


def _accept(listener: _socket.socket, service: Address) -> None:
    while True:
        descriptor, _ = listener._accept()  # type: ignore[attr-defined]
        connection = _socket.socket(fileno=descriptor)
        try:
            free.pop()
        except IndexError:
            connection.close()
            continue
        _thread.start_new_thread(_pass_on, (connection, service))


def _pass_on(connection: _socket.socket, service: Address) -> None:
    far = None
    try:
        speaker.check(connection)
        opening = read_opening(connection, service)
        far = dial(service)
        far.sendall(opening)
        follow(connection, far, service, opening)
        join(connection, far)
    except OSError as error:
        if far is None or isinstance(error, OtherName):
            tell(service, error)
    finally:
        if far is not None:
            far.close()
        connection.close()
        free.append(None)


def tell(service: Address, error: OSError) -> None:
    """Say once on the error channel that a service is out of reach."""
    if service not in _told:
        _told.add(service)
        sys.stderr.write(f"network: {service[0]}:{service[1]} cannot be reached: {error}\n")
        sys.stderr.flush()


def join(near: _socket.socket, far: _socket.socket) -> None:
    """Copy both ways until both sides have said all they have to say; requests once they may go out."""
    back = _thread.allocate_lock()
    back.acquire()
    speech = Speech()
    _thread.start_new_thread(_copy_back, (far, near, speech, back))
    _copy(near, far, speech.add)
    back.acquire()


def _copy_back(
    source: _socket.socket, target: _socket.socket, speech: Speech, done: _thread.LockType
) -> None:
    try:
        _copy(source, target, speech.hear)
    finally:
        done.release()


def _copy(source: _socket.socket, target: _socket.socket, note: Callable[[int], None]) -> None:
    try:
        while piece := source.recv(_PIECE):
            note(len(piece))
            target.sendall(piece)
    except OSError:
        pass
    try:
        target.shutdown(_socket.SHUT_WR)
    except OSError:
        pass
