"""How many sessions there are, without reading one."""

from __future__ import annotations

import sqlite3


def count_sessions(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many sessions of each kind are known."""
    rows = connection.execute("select kind, count(*) n from sessions group by kind order by kind")
    return {row["kind"]: row["n"] for row in rows}


def count_clients(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many sessions with a person each client has."""
    rows = connection.execute("select client, count(*) n from sessions where kind = 'human' group by client")
    return {row["client"]: row["n"] for row in rows}


def find_last_end(connection: sqlite3.Connection, until: str) -> str | None:
    """Return when somebody's last session of those that ended until then did, as it was recorded."""
    row = connection.execute(
        "select max(ended) from sessions where kind != 'replay' and ended <= ?", (until,)
    ).fetchone()
    return None if row[0] is None else str(row[0])
