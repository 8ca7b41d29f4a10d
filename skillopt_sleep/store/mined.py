"""What mining found before, so that names stay: the family and skill of tasks, the project of folders."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from skillopt_harvesters import Known
from skillopt_replay.tasks import Task
from skillopt_sleep.store.database import transaction


def read_known(connection: sqlite3.Connection) -> dict[str, Known]:
    """Return the family and skill of every task that was mined before, by task id."""
    rows = connection.execute("select task, family, skill, skill_origin from mined")
    return {
        row["task"]: Known(family=row["family"], skill=row["skill"], skill_origin=row["skill_origin"])
        for row in rows
    }


def read_roots(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the project of every folder whose repository was seen on disk."""
    return {row["folder"]: row["root"] for row in connection.execute("select folder, root from roots")}


def read_repositories(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the roots of all repositories that sessions were seen to lie in."""
    return frozenset(read_roots(connection).values())


def save_mined(connection: sqlite3.Connection, tasks: Iterable[Task], roots: Mapping[str, str]) -> None:
    """Remember what is new; what was known before stays as it is."""
    with transaction(connection):
        connection.executemany(
            "insert or ignore into mined values (?, ?, ?, ?)",
            [(task.id, task.family, task.skill, task.skill_origin) for task in tasks],
        )
        connection.executemany("insert or ignore into roots values (?, ?)", roots.items())
