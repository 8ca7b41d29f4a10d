"""The sides of the split: a task that was learned from can judge no more."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from skillopt_gate.split import SIDES


def read_splits(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the side of every task a night has looked at."""
    return {row["task"]: row["split"] for row in connection.execute("select task, split from splits")}


def save_splits(connection: sqlite3.Connection, splits: Mapping[str, str]) -> None:
    """Record the sides of tasks. A task may move to a side that has seen more of it, never back."""
    for task, side in splits.items():
        more_seen = SIDES[: SIDES.index(side)]
        connection.execute(
            "insert into splits values (?, ?) on conflict (task) do update set split = excluded.split"
            " where split not in (?, ?, ?)",
            (task, side, *more_seen, *("",) * (3 - len(more_seen))),
        )
