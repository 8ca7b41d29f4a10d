"""Sessions of the index to tasks."""

from __future__ import annotations

import sqlite3

from skillopt_harvesters import Mining, mine
from skillopt_harvesters.records import Kind
from skillopt_replay.tasks import Task
from skillopt_sleep.config import Settings
from skillopt_sleep.store.index import read_sessions


def mine_tasks(connection: sqlite3.Connection, settings: Settings) -> list[Task]:
    """Return the recurring tasks of all sessions in which a person spoke."""
    sessions = read_sessions(connection, kind=Kind.HUMAN.value)
    return mine(sessions, Mining(min_occurrences=settings.night.min_occurrences))
