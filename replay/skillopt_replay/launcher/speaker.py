"""Lets the client itself speak to its service, and none of the commands that it runs.

They may know its key, and nobody tells what they ask for. Who has opened a connection is looked up when it
comes: a socket has a number, and a process lists the ones that it holds.
"""

from __future__ import annotations

import _socket
import _thread
import ctypes
import errno
import os

from skillopt_replay.launcher import tree
from skillopt_replay.launcher.lookup import find_socket

_CLIENT = "2"  # its number in the sandbox, whose own process is the first
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438  # on every kind of machine
_sandbox: list[int] = []
_behind_script: list[bool] = []
_speaker: list[int] = []
_looking = _thread.allocate_lock()


def keep_to_client(inner: int, program: str) -> None:
    """Let only the client in the sandbox of the process `inner` speak from now on.

    It is the process that was started. Where `program` is a script, the client may be one that it starts:
    whoever speaks first, as no command is run before the model has answered.
    """
    _sandbox[:] = [inner]
    with open(program, "rb") as file:  # noqa: PTH123
        _behind_script[:] = [file.read(2) == b"#!"]


def check(connection: _socket.socket) -> None:
    """Raise OSError when the other end of a connection from inside is not the client's, and only then."""
    if not _sandbox:
        return
    number = find_socket(_sandbox[0], connection.getpeername(), connection.getsockname())
    with _looking:
        held = number is not None and _is_the_clients(f"socket:[{number}]")
    # Reset meanwhile, it may be the client's next connection, from the same port, that was found.
    connection.getpeername()
    if not held:
        raise OSError("it is not the client itself that asks")


def _is_the_clients(name: str) -> bool:
    client = _speaker[0] if _speaker else _find_client(_sandbox[0])
    if client is None:
        return False
    held = _holds(client, name)
    if held is None:
        # A program can close its own list to all but root.
        held = _holds_unlisted(client, name)
    if held is None:
        # Then it is the only one that does so, if the others do not pass theirs on at just that time.
        others = [pid for pid in tree.descendants(_sandbox[0]) if pid != client]
        held = all(_holds(pid, name) is False for pid in others)
    if not held and _behind_script[0] and not _speaker:
        found = [pid for pid in tree.descendants(client) if _holds(pid, name)]
        client, held = (found[0], True) if len(found) == 1 else (client, False)
    if held and not _speaker:
        _speaker.append(client)
    return held


def _find_client(inner: int) -> int | None:
    for pid in _children(inner):
        try:
            with open(f"/proc/{pid}/status") as file:  # noqa: PTH123
                numbers = next((line for line in file if line.startswith("NSpid:")), "")
        except OSError:
            continue
        if numbers.split()[-1:] == [_CLIENT]:
            return pid
    return None


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:  # noqa: PTH123
            return [int(number) for number in file.read().split()]
    except OSError:
        return tree.descendants(pid)  # a kernel without such lists


def _holds(pid: int, name: str) -> bool | None:
    """Whether a process has that socket open; None where its list is closed to us, False where it is gone."""
    folder = f"/proc/{pid}/fd"
    try:
        descriptors = os.listdir(folder)  # noqa: PTH208
    except PermissionError:
        return None
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            if os.readlink(f"{folder}/{descriptor}") == name:  # noqa: PTH115
                return True
        except PermissionError:
            return None
        except OSError:
            pass
    return False


def _holds_unlisted(pid: int, name: str) -> bool | None:
    """Whether a process has that socket open, from copies of all it has; None where there are none to be had.

    A sandbox that we made without root is ours to look into as a debugger does.
    """
    try:
        with open(f"/proc/{pid}/status") as file:  # noqa: PTH123
            size = next((int(line.split()[1]) for line in file if line.startswith("FDSize:")), 0)
    except OSError:
        return False
    process = _ask_kernel(_PIDFD_OPEN, pid, 0)
    if process is None:
        return None
    try:
        for number in range(size):
            copy = _ask_kernel(_PIDFD_GETFD, process, number, 0)
            if copy is None:
                return None
            if copy >= 0:
                try:
                    if os.readlink(f"/proc/self/fd/{copy}") == name:  # noqa: PTH115
                        return True
                finally:
                    os.close(copy)
    finally:
        if process >= 0:
            os.close(process)
    return False


def _ask_kernel(call: int, *arguments: int) -> int | None:
    """Return a descriptor, -1 where there is nothing to open; None where we may not, or the kernel cannot."""
    answer = int(tree.libc().syscall(call, *arguments))
    return None if answer < 0 and ctypes.get_errno() in (errno.ENOSYS, errno.EPERM, errno.EACCES) else answer
