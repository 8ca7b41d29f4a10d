"""One run at a time per state folder, and one decision at a time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from skillopt_sleep.clock import now
from skillopt_sleep.errors import AppError, Busy
from skillopt_sleep.paths import Paths, make_private

_NOTE_TRIES = 20
_NOTE_WAIT_S = 0.1


@contextmanager
def hold(paths: Paths, what: str) -> Iterator[None]:
    """Hold the state folder's lock for a run. Raises Busy, naming who holds it, when another run works."""
    with hold_file(paths.lock, what):
        yield


@contextmanager
def hold_decisions(paths: Paths, what: str) -> Iterator[None]:
    """Hold the lock of decisions, which take a moment and may be made while a night works.

    Waits for another decision. Raises Busy, naming who makes it, when that takes longer than ten seconds.
    """
    with hold_file(paths.decisions_lock, what, wait_s=10.0):
        yield


@contextmanager
def hold_file(
    file: Path, what: str, *, wait_s: float = 0.0, more: Mapping[str, object] | None = None
) -> Iterator[None]:
    """Hold a lock file. Raises Busy, naming who holds it.

    The operating system frees the lock when its holder dies, so a stale file never blocks; the note beside
    it, which `more` adds to, only tells others.
    """
    make_private(file.parent)
    note = file.with_suffix(".json")
    lock = FileLock(str(file), mode=0o600)
    try:
        holder = _acquire(lock, note, wait_s)
        if holder:
            raise Busy(f"another one is at work: {holder}", hint="try again when it has ended")
    except OSError as error:
        raise AppError(f"cannot use the lock {file}: {error.strerror or error}") from error
    try:
        # Without room for the note the message is less telling, and nothing else.
        with contextlib.suppress(OSError):
            told = {"what": what, "pid": os.getpid(), "since": now(), **(more or {})}
            with os.fdopen(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
                json.dump(told, out)
        yield
    finally:
        with contextlib.suppress(OSError):
            note.unlink(missing_ok=True)
        lock.release()


def _acquire(lock: FileLock, note: Path, wait_s: float) -> str:
    """Acquire a lock within `wait_s`; return who holds it when that fails, else nothing.

    A holder writes its note just after taking the lock and removes it just before letting it go: one without
    a note is waited for a moment longer.
    """
    with contextlib.suppress(Timeout):
        lock.acquire(timeout=wait_s)
        return ""
    for _ in range(_NOTE_TRIES):
        if holder := _describe(note):
            return holder
        with contextlib.suppress(Timeout):
            lock.acquire(timeout=_NOTE_WAIT_S)
            return ""
    return "it left no note"


def _describe(note: Path) -> str:
    try:
        held = json.loads(note.read_text(encoding="utf-8"))
        return f"{held['what']} (pid {held['pid']}, since {held['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
