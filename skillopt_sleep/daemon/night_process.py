"""A night as a process of its own: it can be ended at any moment, and takes its memory with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from skillopt_replay.process_tree import Tree
from skillopt_sleep.daemon.messages import Message, NightEnded

# How long a night gets to save its state and to end its agents.
GRACE_S = 6.0
_LINES = 20
_LINE = 2000


class NightProcess:
    """`run`, started by us and told to end when we do; `post` is told once when it has ended."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        folder: Path,
        post: Callable[[Message], None],
    ) -> None:
        """Start it. Raises OSError."""
        self._post = post
        self._tail: deque[str] = deque(maxlen=_LINES)
        self._deadline: float | None = None
        self._process = subprocess.Popen(
            command,
            env={**env, "NO_COLOR": "1"},
            cwd=folder,
            # It ends when this pipe is closed, by us or by our death.
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._tree = Tree(self._process.pid)
        threading.Thread(target=self._wait, name="night", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def look(self) -> None:
        """Remember what runs below it, and kill what should have ended by now."""
        if self._process.poll() is None:
            self._tree.look()
        if self._deadline is not None and time.monotonic() > self._deadline:
            self.kill()

    def stop(self, grace_s: float = GRACE_S) -> None:
        """Ask it to save its state and to end; `look` kills it later than that."""
        if self._deadline is None:
            self._deadline = time.monotonic() + grace_s
            self._tree.look()
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill all that is left of it, at once."""
        # The number of one that has ended may be somebody else's by now.
        if self._process.poll() is None:
            self._tree.kill()
        else:
            self.clear()

    def clear(self) -> None:
        """Kill what outlived it."""
        for process in self._tree.look():
            if process.pid not in {self._process.pid, os.getpid()}:
                with contextlib.suppress(psutil.Error):
                    process.kill()

    def _wait(self) -> None:
        reader = threading.Thread(target=self._read, name="night's errors", daemon=True)
        reader.start()
        code = self._process.wait()
        # Something that outlived it may hold the pipe open.
        reader.join(1.0)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._post(NightEnded(code, _find_error(list(self._tail))))

    def _read(self) -> None:
        stream = self._process.stderr
        if stream is None:
            return
        with stream:
            for line in iter(lambda: stream.readline(_LINE), b""):
                self._tail.append(line.decode("utf-8", "replace").rstrip())


def _find_error(lines: Sequence[str]) -> str:
    """Return the error it told, with its hint."""
    found = [line.partition("error: ")[2] for line in lines if line.startswith("error: ")]
    hints = [line.partition("hint: ")[2] for line in lines if line.lstrip().startswith("hint: ")]
    return f"{found[-1]}{f' ({hints[-1]})' if hints else ''}" if found else ""
