"""Opening the state database: private, in WAL mode, migrated, never downgraded."""

from __future__ import annotations

import getpass
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillopt_sleep.clock import now
from skillopt_sleep.errors import AppError, Busy
from skillopt_sleep.paths import HOME_VARIABLE, make_private
from skillopt_sleep.store.migrations import MIGRATIONS

_TIMEOUT_S = 30
_IMPATIENT_MS = 500
_ANEW = (
    "sessions are read anew, but what was proposed, decided and spent is forgotten (branches and live skills"
    " stay)"
)


def connect(path: Path) -> sqlite3.Connection:
    """Open, or create with mode 0600, the database and bring its schema up to date.

    Raises AppError when it is not a database, is newer than this program, or cannot be written.
    """
    make_private(path.parent)
    try:
        # Closing a file drops all locks that this process has on it, those of its other connections as well;
        # so one that is there is left to SQLite.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise _unusable(path, error) from error
    with explained(path):
        connection = sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = full")
            connection.execute("pragma foreign_keys = on")
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors (a damaged file, a full disk, a lock that stays) into an AppError."""
    try:
        yield
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: Exception) -> AppError:
    if "locked" in str(error):
        return Busy(f"another program holds the database {path}", hint="try again when it has ended")
    if "not a database" in str(error) or path.is_dir():
        return AppError(
            f"{path} is not a database: something else has its place", hint=f"move it away: {_ANEW}"
        )
    barred = _find_barred(path)
    if barred is not None:
        return AppError(
            f"cannot write {barred} as {_name_user()}, so the database cannot be used: {error}",
            hint=f"mend who owns it, its mode or its mount, or set {HOME_VARIABLE} to a folder of your own",
        )
    return AppError(
        f"cannot use the database {path}: {error}",
        hint=f"free some disk space. When it is damaged for good, move it away: {_ANEW}",
    )


def _find_barred(path: Path) -> Path | None:
    """Return the first of the folder and SQLite's files in it that may not be written."""
    files = (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
    return next((one for one in (path.parent, *files) if one.exists() and not os.access(one, os.W_OK)), None)


def _name_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "this user"


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; nested use joins the outer transaction."""
    if connection.in_transaction:
        yield
        return
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    # What SQLite has rolled back by itself, as on a full disk, has no transaction any more.
    if connection.in_transaction:
        connection.execute("rollback")


@contextmanager
def impatient(connection: sqlite3.Connection) -> Iterator[None]:
    """Give up soon where another program holds the database, for who can wait in a better way."""
    connection.execute(f"pragma busy_timeout = {_IMPATIENT_MS}")
    try:
        yield
    finally:
        connection.execute(f"pragma busy_timeout = {_TIMEOUT_S * 1000}")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("pragma user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        connection.close()
        raise AppError(
            f"{path} was written by a newer version (schema {version}, this one knows {len(MIGRATIONS)})",
            hint="upgrade the program; the database was not touched",
        )
    if version == len(MIGRATIONS):
        return
    if version:
        _back_up(connection, path.with_name(f"{path.stem}.schema{version}.bak"))
    for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
        with transaction(connection):
            # Another process may have migrated while this one waited for the write lock.
            if connection.execute("pragma user_version").fetchone()[0] >= number:
                continue
            for statement in statements:
                connection.execute(statement)
            connection.execute("insert into migrations values (?, ?)", (number, now()))
            connection.execute(f"pragma user_version = {number}")


def _back_up(connection: sqlite3.Connection, target: Path) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_RDWR, 0o600))
    copy = sqlite3.connect(target)
    try:
        connection.backup(copy)
    finally:
        copy.close()
