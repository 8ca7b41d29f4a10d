"""What is known of the judges in the database."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_gate.judges import JudgeReport


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """The report on a judge, when it was made (ISO 8601, UTC), and on how many samples."""

    at: str
    samples: int
    report: JudgeReport


def save_judge(connection: sqlite3.Connection, identity: str, examined: Examined) -> None:
    """Keep the newest report on a judge."""
    connection.execute(
        "insert or replace into judges (identity, at, body) values (?, ?, ?)",
        (identity, examined.at, msgspec.msgpack.encode(examined)),
    )


def find_judge(connection: sqlite3.Connection, identity: str) -> Examined | None:
    """Return the newest report on a judge, None when it was never examined."""
    row = connection.execute("select body from judges where identity = ?", (identity,)).fetchone()
    return msgspec.msgpack.decode(row["body"], type=Examined) if row else None


def list_judges(connection: sqlite3.Connection) -> list[tuple[str, Examined]]:
    """Return every judge that was ever examined with its newest report, the newest first."""
    rows = connection.execute("select identity, body from judges order by at desc, identity").fetchall()
    return [(row["identity"], msgspec.msgpack.decode(row["body"], type=Examined)) for row in rows]
