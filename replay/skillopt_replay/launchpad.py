"""Starts launchers by forking a helper that has them loaded: loading Python for each run costs the most."""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

from skillopt_replay.hearing import Ears, open_sealed
from skillopt_replay.sandbox.launching import LAUNCHER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from skillopt_replay.hearing import Hearer

_END_SECONDS = 5.0
_ANSWER_SECONDS = 10.0  # for the helper to fork, however busy the machine
_NUMBER = 4  # bytes of a process id or exit code on the channel
_current: ContextVar[Launchpad | None] = ContextVar("launchpad", default=None)


def find_launchpad() -> Launchpad | None:
    """Return the launchpad of the pool whose work this is; None outside of one, and where none works."""
    pad = _current.get()
    return pad if pad is not None and pad.is_open else None


class Launchpad:
    """One helper process, started when first needed; it dies with us, and its launchers with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._helper: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self.is_open = sys.platform.startswith("linux")

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Let what is started inside be started here."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    async def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        file_bytes: int | None,
        hearer: Hearer,
        is_sealed: bool = False,
    ) -> Forked:
        """Start a launcher with these arguments, leader of a session of its own.

        No file that it writes may grow beyond `file_bytes`; `is_sealed` as in `process.run`. Raises OSError
        when it cannot be started.
        """
        ours, theirs = socket.socketpair()
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            for _ in range(2):
                pipes += open_sealed() if is_sealed else os.pipe()
            inner = (pipes[0], pipes[3], pipes[5])
            self._ask((theirs.fileno(), *inner))
        except OSError:
            ours.close()
            for descriptor in pipes:
                os.close(descriptor)
            raise
        finally:
            theirs.close()
        for descriptor in inner:
            os.close(descriptor)
        request = marshal.dumps((list(arguments), str(cwd), dict(env), file_bytes))
        return await Forked.start(ours, (pipes[1], pipes[2], pipes[4]), request, hearer)

    def close(self) -> None:
        """End the helper, and with it what it still runs."""
        with self._lock:
            self.is_open = False
            self._end()

    def _ask(self, descriptors: Sequence[int]) -> None:
        with self._lock:
            if not self.is_open:
                raise OSError("the launchpad is closed")
            for attempt in range(2):
                if self._helper is None:
                    self._helper = _start_helper()
                try:
                    socket.send_fds(self._helper[1], [b"+"], list(descriptors))
                except OSError:
                    # Somebody killed it. What it had forked has ended with it.
                    self._end()
                    if attempt:
                        raise
                else:
                    return

    def _end(self) -> None:
        if self._helper is not None:
            helper, control = self._helper
            self._helper = None
            control.close()
            try:
                helper.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                helper.kill()  # somebody has stopped it
                helper.wait()


def _start_helper() -> tuple[subprocess.Popen[bytes], socket.socket]:
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.settimeout(_END_SECONDS)
    with theirs:
        helper = subprocess.Popen(
            [*LAUNCHER, "--serve", str(theirs.fileno()), str(os.getpid())],
            # What it looks up once, none of those it forks has to.
            env={"LANG": "C.UTF-8", "LD_BIND_NOW": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    return helper, control


class Forked:
    """A launcher forked by the helper: its pipes, and how it ended (`returncode`, None before)."""

    def __init__(self, channel: socket.socket, pipes: tuple[int, int, int], hearer: Hearer) -> None:
        self._loop = asyncio.get_running_loop()
        self._channel = channel
        self._said = b""
        self._hearer = hearer
        self._left = b""
        self._stdin, *outputs = pipes
        self._ears = Ears((outputs[0], outputs[1]), hearer, self._conclude)
        self._forked: asyncio.Future[None] = self._loop.create_future()
        self.pid = 0
        self.returncode: int | None = None
        channel.settimeout(0.0)
        os.set_blocking(self._stdin, False)

    @classmethod
    async def start(
        cls, channel: socket.socket, pipes: tuple[int, int, int], request: bytes, hearer: Hearer
    ) -> Forked:
        """Send the launcher what it is to run. Raises OSError when there is none."""
        forked = cls(channel, pipes, hearer)
        try:
            await forked._loop.sock_sendall(channel, len(request).to_bytes(4, sys.byteorder) + request)
            forked._loop.add_reader(channel, forked._hear)
            await asyncio.wait_for(forked._forked, _ANSWER_SECONDS)
        except asyncio.TimeoutError as error:
            forked.close()
            raise OSError("the launcher's helper does not answer") from error
        except BaseException:
            forked.close()
            raise
        return forked

    def feed(self, data: bytes) -> None:
        """Write it to the standard input, and close that."""
        self._left = data
        self._write()

    def close(self) -> None:
        """Let go of all that is open; what it writes from now on is lost."""
        self._loop.remove_reader(self._channel)
        self._channel.close()
        self._ears.close()
        self._end_input()

    def _write(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._stdin, self._left) :]
        except BlockingIOError:
            self._loop.add_writer(self._stdin, self._write)
            return
        except OSError:
            pass  # it reads no more
        self._end_input()

    def _end_input(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    def _hear(self) -> None:
        try:
            data = self._channel.recv(2 * _NUMBER)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._said += data
        if len(self._said) >= _NUMBER and not self._forked.done():
            self.pid = int.from_bytes(self._said[:_NUMBER], sys.byteorder)
            self._forked.set_result(None)
        if data and len(self._said) < 2 * _NUMBER:
            return
        self._loop.remove_reader(self._channel)
        if not self._forked.done():
            self._forked.set_exception(OSError("the launcher's helper could not fork"))
            return
        # Without a number the helper has ended, and the launcher with it.
        number = self._said[_NUMBER:]
        whole = len(number) == _NUMBER
        self.returncode = int.from_bytes(number, sys.byteorder, signed=True) if whole else -signal.SIGKILL
        self._hearer.process_exited()
        self._conclude()

    def _conclude(self) -> None:
        if self.returncode is not None and self._ears.are_closed:
            self._hearer.connection_lost(None)
