"""OpenCode's storage made again from recordings: databases from their SQL, files from a list of them."""

from __future__ import annotations

import json
import os
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


def restore(recording: str, home: Path) -> Path:
    """Make what a recording was taken from in a home, and return the client's data folder.

    Files get the times of their sessions, so that a harvest finds the older ones older.
    """
    data = home / ".local" / "share" / "opencode"
    source = RECORDED / recording
    if source.suffix == ".sql":
        build_database(source, data / "opencode.db")
        return data
    for path in unpack_files(source, data).rglob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        time = record.get("time") if isinstance(record, dict) else None
        created = time.get("created", 0) if isinstance(time, dict) else 0
        os.utime(path, (created / 1000, created / 1000))
    for folder in [path for path in data.rglob("*") if path.is_dir()]:
        os.utime(folder, (0, 0))
    return data
