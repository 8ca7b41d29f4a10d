"""Bringing the index up to date with the transcripts on disk."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

import msgspec

from skillopt_harvesters import harvest
from skillopt_sleep.clients import choose_sources, find_home
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.store.claims import StoreClaims
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.index import read_cursors, read_session, save_cursor, save_session


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
    listen: Listener = ignore,
    clients: Collection[str] = (),
    roots: Mapping[str, tuple[Path, ...]] | None = None,
) -> HarvestReport:
    """Read what is new. Each file's session, records and cursor are stored together or not at all.

    `clients` are read (empty: all), `roots` are further folders by client. What was read of a file stays
    known when the client deletes the file.
    """
    began = time.monotonic()
    home = find_home(env)
    run = harvest(
        choose_sources(clients, roots),
        read_cursors(connection),
        env=env,
        home=home,
        claims=StoreClaims(connection),
        recall=partial(read_session, connection),
    )
    files = iter(run)
    while True:
        with transaction(connection):
            harvested = next(files, None)
            if harvested is None:
                break
            while harvested is not None:
                if harvested.session is not None:
                    save_session(connection, harvested.session)
                if harvested.cursor is not None:
                    save_cursor(connection, harvested.cursor)
                    break
                harvested = next(files, None)
        listen(Event(stage="harvest", done=run.stats.files_read, detail=f"{run.stats.sessions} sessions"))
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
        warnings=tuple(stats.warnings),
        seconds=round(time.monotonic() - began, 3),
    )
