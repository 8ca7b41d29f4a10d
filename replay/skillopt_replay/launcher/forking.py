"""The launchers' nursery: a helper that forks a launcher for each run, so that none has to be loaded anew.

It never reads what a run is started with. Each launcher reads that itself, once forked, from a channel of its
own; of the helper, and of the runs beside, it keeps neither descriptors nor environment.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import gc
import marshal
import os
import resource
import select
import struct

from skillopt_replay.launcher import (
    command,
    devices,
    families,
    gate,
    handing,
    hello,
    inside,
    lookup,
    relay,
    speaker,
    tree,
    upstream,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Loaded before the first run asks for them.
_PARTS = (devices, families, gate, handing, hello, inside, lookup, relay, speaker, upstream)
NUMBER = struct.Struct("i")
LENGTH = struct.Struct("I")
_CARRIED = 4
_ROOM = _socket.CMSG_LEN(_CARRIED * NUMBER.size)
_CHANNEL = 3


def serve(control: int, parent: int) -> NoReturn:
    """Fork launchers as asked for on the socket `control`, until it closes or the process `parent` ends.

    A message carries four descriptors: a channel, and what becomes standard input, output and error. On the
    channel the launcher finds its length-prefixed command; the helper writes the launcher's process id to it,
    and its exit code, negative for a signal, when it has ended. What runs at the end is killed.
    """
    tree.guard(parent)
    tree.libc()
    asked = _socket.socket(fileno=control)
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)
    gc.freeze()  # so that a launcher's own tidying up copies no pages of ours
    running: dict[int, int] = {}
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    waiting.register(woken, select.POLLIN)
    while True:
        for ready, _ in waiting.poll():
            if ready == woken:
                os.read(woken, 4096)
                _reap(running)
                continue
            said, extra, _, _ = asked.recvmsg(1, _ROOM)
            if not said:
                tree.end_descendants()
                os._exit(0)
            received = [number for _, _, data in extra for (number,) in NUMBER.iter_unpack(data)]
            if len(received) == _CARRIED and (pid := _fork(received, max(control, wake, *running.values()))):
                running[pid] = received.pop(0)
                _tell(running[pid], pid)
            for descriptor in received:
                os.close(descriptor)


def _fork(received: list[int], highest: int) -> int:
    """Return the launcher's process id, 0 when there is no room for one."""
    helper = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        return 0
    if pid:
        return pid
    try:
        _become(received, max(highest, *received), helper)
    except BaseException as error:  # noqa: BLE001 - whatever it is, nothing but this launcher may end
        os.write(2, f"launcher: {error}\n".encode())
    finally:
        os._exit(command.FAILED)


def _become(received: list[int], highest: int, helper: int) -> None:
    _signal.set_wakeup_fd(-1)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    channel, *standard = received
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
    os.dup2(channel, _CHANNEL, inheritable=False)
    os.closerange(_CHANNEL + 1, highest + 1)
    arguments, folder, environment, file_bytes = _read_request()
    os.close(_CHANNEL)
    os.setsid()
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))  # see Tree.forbid_core_dumps
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    command.main(["--parent", str(helper), *arguments])


def _read_request() -> tuple[list[str], str, dict[str, str], int | None]:
    size = LENGTH.unpack(_read(LENGTH.size))[0]
    request: tuple[list[str], str, dict[str, str], int | None] = marshal.loads(_read(size))  # noqa: S302 - ours
    return request


def _read(size: int) -> bytes:
    said = b""
    while len(said) < size:
        piece = os.read(_CHANNEL, size - len(said))
        if not piece:
            raise OSError("nobody waits for this run any more")
        said += piece
    return said


def _reap(running: dict[int, int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        channel = running.pop(pid, None)
        if channel is not None:
            _tell(channel, os.waitstatus_to_exitcode(status))
            os.close(channel)
        # Not only after a launcher: what one leaves falls to us bit by bit, as its parents die.
        _kill_strays(running)


def _kill_strays(running: dict[int, int]) -> None:
    """Kill what fell to us because its launcher was killed before it could do so itself."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:  # noqa: PTH123
            below = [int(pid) for pid in file.read().split()]
    except OSError:
        return  # a kernel without such lists; at our end we look through all processes
    for pid in below:
        if pid not in running:
            os.kill(pid, _signal.SIGKILL)


def _tell(channel: int, number: int) -> None:
    try:
        os.write(channel, NUMBER.pack(number))
    except OSError:
        pass  # nobody waits for this run any more
