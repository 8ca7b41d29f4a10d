"""Titles a model gave: by the plain title that mining makes from the prompts."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from skillopt_sleep.store.database import transaction


def read_titles(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the better title of every plain one that a model was asked about."""
    return {row["plain"]: row["title"] for row in connection.execute("select plain, title from titles")}


def save_titles(connection: sqlite3.Connection, titles: Mapping[str, str]) -> None:
    """Keep titles by their plain ones; a later answer takes the place of an earlier one."""
    with transaction(connection):
        connection.executemany("insert or replace into titles values (?, ?)", titles.items())
