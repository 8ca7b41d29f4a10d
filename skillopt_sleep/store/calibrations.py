"""Calibrations in the database."""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_sleep.noise import Calibration


def save_calibration(connection: sqlite3.Connection, calibration: Calibration) -> None:
    """Keep it; the newest stands beside later verdicts."""
    connection.execute(
        "insert or replace into calibrations (night, identity, at, body) values (?, ?, ?, ?)",
        (calibration.id, calibration.identity, calibration.at, msgspec.msgpack.encode(calibration)),
    )


def find_calibration(connection: sqlite3.Connection, identity: str, skill: str) -> Calibration | None:
    """Return the newest calibration that suits best: of this agent and model, then of this skill."""
    rows = connection.execute("select body from calibrations order by at desc, night desc").fetchall()
    found = [msgspec.msgpack.decode(row["body"], type=Calibration) for row in rows]
    return min(found, key=lambda one: (one.identity != identity, skill not in one.skills), default=None)
