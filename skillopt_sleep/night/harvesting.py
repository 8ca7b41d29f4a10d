"""Bringing the index up to date with the transcripts on disk."""

from __future__ import annotations

import gc
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from skillopt_harvesters import HarvestStats, harvest
from skillopt_sleep.clients import choose_sources, find_home
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.store.batches import batches
from skillopt_sleep.store.cursors import StoreCursors
from skillopt_sleep.store.snapshots import restore_snapshots

_TELL_S = 0.1
# So many objects are made and kept before Python looks for cycles among them; a harvest leaves none.
_OBJECTS = 50_000


class HarvestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one harvest read; `sessions` and `turns` count what is new or was read again."""

    files_seen: int
    files_read: int
    bytes_read: int
    sessions: int
    turns: int
    skipped: int
    warnings: tuple[str, ...]
    seconds: float


def update_index(
    connection: sqlite3.Connection,
    env: Mapping[str, str],
    *,
    snapshots: Path | None = None,
    listen: Listener = ignore,
    clients: Collection[str] = (),
    roots: Mapping[str, tuple[Path, ...]] | None = None,
) -> HarvestReport:
    """Read what is new. What was read of a file is stored together or not at all, many files at a time.

    `clients` are read (empty: all), `roots` are further folders by client. What was read of a file stays
    known when the client deletes the file; what was mined of it also when the database is lost, if its
    folder of `snapshots` is given.
    """
    began = time.monotonic()
    tell = _Teller(listen)
    warnings: list[str] = []
    if snapshots is not None:
        restore_snapshots(connection, snapshots, warn=warnings.append)
    with _few_collections(), batches(connection) as batch:
        run = harvest(
            choose_sources(clients, roots, warn=warnings.append),
            StoreCursors(connection),
            env=env,
            home=find_home(env),
            claims=batch.claims,
            recall=batch.recall,
            progress=tell,
        )
        for harvested in run:
            if harvested.session is not None:
                batch.add_session(harvested.session)
            if harvested.cursor is not None:
                batch.add_cursor(harvested.cursor)
        batch.forget(run.stats.gone)
    stats = run.stats
    tell(stats, at_end=True)
    return HarvestReport(
        files_seen=stats.files_seen,
        files_read=stats.files_read,
        bytes_read=stats.bytes_read,
        sessions=stats.sessions,
        turns=stats.turns,
        skipped=stats.skipped,
        warnings=(*warnings, *stats.told),
        seconds=round(time.monotonic() - began, 3),
    )


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let Python look for cycles of objects less often: it takes a twentieth of a harvest, and finds none."""
    young, *older = gc.get_threshold()
    if young:
        gc.set_threshold(max(young, _OBJECTS), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)


class _Teller:
    """Tells a listener how far a harvest is, ten times a second at most."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._told = 0.0
        listen(Event(stage="harvest", detail="looking for transcripts"))

    def __call__(self, stats: HarvestStats, *, at_end: bool = False) -> None:
        now = time.monotonic()
        if now - self._told < _TELL_S and not at_end:
            return
        self._told = now
        if not stats.files_found:
            if at_end:
                self._listen(Event(stage="harvest", detail="nothing new"))
            return
        found = f"{stats.sessions} session{'' if stats.sessions == 1 else 's'}"
        self._listen(
            Event(
                stage="harvest",
                done=stats.files_done,
                total=stats.files_found,
                # A compressed file holds more than its size on disk.
                bytes_done=min(stats.bytes_done, stats.bytes_found),
                bytes_total=stats.bytes_found,
                detail=found,
            )
        )
