"""OpenCode's storage made again from recordings: databases from their SQL, files from a list of them."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

from tests.support.sqlite_writer import Writer

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


SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text, permission text,
    time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""
HEADLESS = json.dumps([{"permission": "question", "pattern": "*", "action": "deny"}])
USAGE = {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 3, "write": 2}}


class Store:
    """A database that another process holds open and writes row by row, as the client would.

    `clock` is in milliseconds.
    """

    def __init__(self, path: Path, *, schema: str = SCHEMA, wal: bool = True):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, isolation_level=None)
        if wal:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(schema)
        connection.close()
        self.writer = Writer(path)
        self.clock = 1_795_000_000_000
        self.number = 0

    def close(self) -> None:
        self.writer.close()

    def run(self, sql: str, *values) -> list:
        return self.writer.run(sql, *values)

    def tick(self) -> int:
        self.clock += 1000
        return self.clock

    def name(self, kind: str) -> str:
        self.number += 1
        return f"{kind}_{self.number:012x}"

    def session(self, *, directory: str = "/home/user/project", **keys) -> str:
        row = {
            "id": self.name("ses"),
            "project_id": "global",
            "slug": "calm-otter",
            "directory": directory,
            "title": "A title",
            "version": "1.18.33",
            "time_created": self.tick(),
            "time_updated": self.clock,
            **keys,
        }
        self.insert("session", row)
        return row["id"]

    def insert(self, table: str, row: dict) -> None:
        marks = ", ".join("?" * len(row))
        self.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())

    def message(self, session: str, role: str, *parts: dict, created: int = 0, **keys) -> str:
        created = created or self.tick()
        data = {"role": role, "time": {"created": created}, "agent": "build", **keys}
        message = self.name("msg")
        self.insert(
            "message",
            {
                "id": message,
                "session_id": session,
                "time_created": created,
                "time_updated": created,
                "data": json.dumps(data),
            },
        )
        for part in parts:
            self.part(session, message, part)
        return message

    def part(self, session: str, message: str, part: dict | str | bytes | None) -> str:
        key = self.name("prt")
        data = json.dumps(part) if isinstance(part, dict) else part
        row = {"id": key, "message_id": message, "session_id": session, "data": data}
        self.insert("part", {**row, "time_created": self.clock, "time_updated": self.clock})
        return key

    def user(self, session: str, *texts: str, **keys) -> str:
        return self.message(session, "user", *({"type": "text", "text": text} for text in texts), **keys)

    def agent(self, session: str, parent: str, *parts: dict | str, usage=USAGE, **keys) -> str:
        blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
        created = self.tick()
        keys = {
            "parentID": parent,
            "mode": "build",
            "modelID": "mock-model",
            "path": {"cwd": "/home/user/project"},
            "time": {"created": created, "completed": created + 500},
            "tokens": usage,
            **keys,
        }
        return self.message(session, "assistant", *blocks, created=created, **keys)


def tool(kind: str = "bash", /, *, code=..., error: str = "", status: str = "", **given) -> dict:
    """A call as the client stores it; with `error` it failed, with `code` it tells an exit status."""
    state = {"status": status or ("error" if error else "completed"), "input": given, "time": {"start": 1}}
    if error:
        state["error"] = error
    else:
        state |= {"output": "out\n", "title": "", "metadata": {} if code is ... else {"exit": code}}
    return {"type": "tool", "tool": kind, "callID": f"call_{kind}", "state": state}
