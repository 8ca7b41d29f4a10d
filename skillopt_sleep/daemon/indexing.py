"""Keeping the index fresh in a thread, whatever happens to the disk or the settings."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping

from skillopt_sleep.daemon.messages import Indexed, Message, Notice, Trouble
from skillopt_sleep.errors import AppError, Explained
from skillopt_sleep.paths import Paths
from skillopt_sleep.service.definition import find_program
from skillopt_sleep.watching import Batch, Root, Timing, Watcher, keep_fresh
from skillopt_sleep.watching.freshness import list_roots

# A line is read within two seconds. A night looks at everything anyway, so between nights one seldom must.
TIMING = Timing(quiet_s=0.5, longest_s=30.0, poll_s=60.0, sweep_s=3600.0)
_RETRY_S, _RETRY_MAX_S = 15.0, 900.0
_POLL_S = 0.2


class Indexing:
    """Reads what is new as it comes; `post` is told from this thread."""

    def __init__(self, paths: Paths, env: Mapping[str, str], post: Callable[[Message], None]) -> None:
        self._paths = paths
        self._env = env
        self._post = post
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._watcher: Watcher | None = None
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)
        self._started = False

    def start(self) -> None:
        """Begin, if it has not begun yet."""
        if not self._started:
            self._started = True
            self._thread.start()

    def renew(self) -> None:
        """Begin anew, with the settings as they are now."""
        self._wake.set()
        if self._watcher is not None:
            self._watcher.stop()

    def rest(self) -> bool:
        """Read nothing until `go_on`, as a night does; return False when something is being read just now."""
        return self._gate.acquire(blocking=False)

    def go_on(self) -> None:
        """Read again, and soon what came meanwhile."""
        self._gate.release()
        if self._watcher is not None:
            self._watcher.ask_again(1.0)

    def stop(self, timeout: float) -> None:
        """End it; a harvest that takes longer is left to the end of the process, which it survives."""
        self._ended.set()
        self.renew()
        if self._started:
            self._thread.join(timeout)

    def _run(self) -> None:
        wait_s = _RETRY_S
        while not self._ended.is_set():
            self._wake.clear()
            try:
                self._watch()
                wait_s = _RETRY_S
                continue
            except AppError as error:
                self._post(Trouble(error.message))
            except Exception as error:  # noqa: BLE001 - a bug here must not keep nights from working
                if isinstance(error, Explained):
                    self._post(Trouble(error.message))
                else:
                    self._post(Trouble(f"{type(error).__name__}: {error}"))
                    self._post(Notice(traceback.format_exc(limit=-3)))
            self._wake.wait(wait_s)
            wait_s = min(wait_s * 2, _RETRY_MAX_S)

    def _read_up(self) -> None:
        """Read in a process of its own what came while nobody watched: it may be much, and memory stays."""
        process = subprocess.Popen(
            find_program(["harvest", "--quiet"]),
            env=self._env,
            cwd=self._paths.data,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # What goes wrong comes up again when the rest is read here.
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
                return
            if self._wake.is_set():
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)
                    return
                process.kill()

    def _watch(self) -> None:
        with self._gate:
            self._read_up()
        roots = list_roots(self._paths, self._env)
        with _Gated(roots, self._gate, lambda said: self._post(Notice(said))) as watcher:
            self._watcher = watcher
            if self._wake.is_set():
                return
            for update in keep_fresh(watcher, self._paths, self._env, what="the daemon's harvest"):
                self._post(Indexed(update))
        self._watcher = None


class _Gated(Watcher):
    """A watcher whose batches are worked on only while nobody holds the gate."""

    def __init__(
        self, roots: Callable[[], Iterable[Root]], gate: threading.Lock, notice: Callable[[str], None]
    ) -> None:
        super().__init__(roots, timing=TIMING, notice=notice)
        self._gate = gate

    def batches(self) -> Iterator[Batch]:
        for batch in super().batches():
            with self._gate:
                yield batch
