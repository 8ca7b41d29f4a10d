"""One run at a time per state folder."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from skillopt_sleep.clock import now
from skillopt_sleep.errors import AppError, Busy
from skillopt_sleep.paths import Paths, make_private


@contextmanager
def hold(paths: Paths, what: str) -> Iterator[None]:
    """Hold the state folder's lock. Raises Busy, naming who holds it, when another run works.

    The operating system frees the lock when its holder dies, so a stale file never blocks; the note beside
    it only serves the message.
    """
    make_private(paths.data)
    note = paths.lock.with_suffix(".json")
    lock = FileLock(str(paths.lock), mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Busy(f"another run is at work: {_describe(note)}", hint="try again when it has ended") from None
    except OSError as error:
        raise AppError(f"cannot use the lock {paths.lock}: {error.strerror or error}") from error
    try:
        # Without room for the note the message is less telling, and nothing else.
        with contextlib.suppress(OSError):
            note.write_text(json.dumps({"what": what, "pid": os.getpid(), "since": now()}), encoding="utf-8")
        yield
    finally:
        with contextlib.suppress(OSError):
            note.unlink(missing_ok=True)
        lock.release()


def _describe(note: object) -> str:
    try:
        held = json.loads(note.read_text(encoding="utf-8"))  # type: ignore[attr-defined]
        return f"{held['what']} (pid {held['pid']}, since {held['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "it left no note"
