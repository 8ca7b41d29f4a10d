"""OpenCode's storage made again from recordings: databases from their SQL, files from a list of them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "data" / "transcripts" / "opencode"


def build_database(sql: Path, database: Path, *, wal: bool = True) -> Path:
    """Make the database a recording was taken from, closed and without a log."""
    database.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(database, isolation_level=None)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(sql.read_text(encoding="utf-8"))
    connection.close()
    return database


def unpack_files(recorded: Path, data: Path) -> Path:
    """Write the files of a recording below the client's data folder, and return the folder."""
    for name, text in json.loads(recorded.read_text(encoding="utf-8")).items():
        path = data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return data
