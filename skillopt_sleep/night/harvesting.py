"""Bringing the index up to date with the transcripts on disk."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt_harvesters import harvest, load_sources
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.store.batches import batches
from skillopt_sleep.store.cursors import StoreCursors
from skillopt_sleep.store.snapshots import restore_snapshots


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
) -> HarvestReport:
    """Read what is new. What was read of a file is stored together or not at all, many files at a time.

    What was read of a file stays known when the client deletes the file; what was mined of it also when the
    database is lost, if its folder of `snapshots` is given.
    """
    began = time.monotonic()
    home = Path(env.get("HOME") or Path.home())
    warnings: list[str] = []
    if snapshots is not None:
        restore_snapshots(connection, snapshots, warn=warnings.append)
    with batches(connection) as batch:
        run = harvest(
            load_sources(warnings.append).values(),
            StoreCursors(connection),
            env=env,
            home=home,
            claims=batch.claims,
            recall=batch.recall,
        )
        for harvested in run:
            if harvested.session is not None:
                batch.add_session(harvested.session)
            if harvested.cursor is not None:
                batch.add_cursor(harvested.cursor)
                listen(
                    Event(stage="harvest", done=run.stats.files_read, detail=f"{run.stats.sessions} sessions")
                )
        batch.forget(run.stats.gone)
    stats = run.stats
    listen(
        Event(
            stage="harvest",
            done=max(stats.files_seen, 1),
            total=max(stats.files_seen, 1),
            detail=f"{stats.sessions} new or changed sessions",
        )
    )
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
