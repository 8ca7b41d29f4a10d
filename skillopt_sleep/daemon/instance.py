"""One daemon per state folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skillopt_sleep.holder import find_boot
from skillopt_sleep.lock import hold_file
from skillopt_sleep.paths import Paths


@contextmanager
def hold_daemon(paths: Paths, what: str, *, wait_s: float = 0.0) -> Iterator[None]:
    """Be the one daemon of the state folder. Raises Busy, naming the other that is there after `wait_s`."""
    import psutil

    more = {"started": psutil.Process().create_time(), "boot": find_boot()}
    with hold_file(paths.daemon_lock, what, wait_s=wait_s, more=more):
        yield
