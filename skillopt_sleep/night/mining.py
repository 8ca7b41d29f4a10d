"""Sessions of the index to tasks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from skillopt_harvesters import mine
from skillopt_harvesters.records import Kind
from skillopt_replay.tasks import Task
from skillopt_sleep.config import Settings
from skillopt_sleep.errors import AppError
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.store.index import read_sessions
from skillopt_sleep.store.snapshots import save_snapshots


def mine_tasks(connection: sqlite3.Connection, settings: Settings) -> list[Task]:
    """Return the recurring tasks of all sessions in which a person spoke."""
    sessions = read_sessions(connection, kind=Kind.HUMAN.value)
    return mine(sessions, min_occurrences=settings.night.min_occurrences)


def keep_mined(
    connection: sqlite3.Connection, folder: Path, tasks: Iterable[Task], *, listen: Listener = ignore
) -> None:
    """Keep snapshots of the sessions that tasks were mined from. A full disk costs those, not the night."""
    try:
        save_snapshots(connection, folder, {session for task in tasks for session in task.sessions})
    except (OSError, AppError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        listen(Event(stage="mine", detail=f"no snapshots could be kept: {reason}"))
