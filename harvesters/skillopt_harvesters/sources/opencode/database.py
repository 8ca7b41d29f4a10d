"""The client's database, opened so that nothing changes on its disk and nothing there waits for a reader."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skillopt_harvesters.sources.base import Marks, stat_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

MAGIC = b"SQLite format 3\x00"
# What reading a damaged database may raise; a message that is no text is an error of its own in Python.
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
_PATIENCE = 2.0  # seconds
_BUSY = ("locked", "busy")


class Database:
    """Reads a database that another program may be writing.

    With a write-ahead log the newest rows stand in that file alone. It is read by way of the index the client
    keeps beside it (`-shm`), opened for reading only: SQLite would make both files anew if they were missing.
    Without a log the database is a file that nobody writes: it is read as it stands, without locks. Should
    the client start meanwhile, the reading is done again.

    A log without its index cannot be read without making one; then what is in the database alone is read, and
    `warning` says so. Nothing is ever copied.
    """

    def __init__(self, path: Path) -> None:
        self.warning = ""
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._frozen: Marks | None = None

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; the next transaction opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """See one state of the database for a short while.

        Raises OSError when it is locked for longer than two seconds, one of `DAMAGE` when it is damaged.
        """
        if self._connection is None or self.has_changed:
            self.close()
            self._connection = self._open()
        connection = self._connection
        try:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()
        except sqlite3.OperationalError as error:
            if any(word in str(error) for word in _BUSY):
                raise OSError(errno.EAGAIN, "the database is locked") from error
            raise

    @property
    def has_changed(self) -> bool:
        """Whether somebody wrote a database that was being read without locks."""
        return self._frozen is not None and (_has_log(self._path) or stat_file(self._path) != self._frozen)

    def _open(self) -> sqlite3.Connection:
        self._frozen, self.warning = None, ""
        if _has_log(self._path):
            connection = self._connect("mode=ro&readonly_shm=1")
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError as error:
                if "unable to open" not in str(error):
                    connection.close()
                    raise
                connection.close()
                self.warning = (
                    "its newest changes are in a log that cannot be read without an index; "
                    "start OpenCode once, or put the -shm file beside it"
                )
            else:
                return connection
        self._frozen = None if self.warning else stat_file(self._path)
        return self._connect("mode=ro&immutable=1")

    def _connect(self, options: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?{options}", uri=True, timeout=_PATIENCE, isolation_level=None
        )
        connection.text_factory = bytes
        return connection


def stat_database(path: Path) -> Marks:
    """Return the marks of a database and its log together. Raises OSError when it is not there."""
    marks = stat_file(path)
    try:
        log = stat_file(_log_of(path))
    except FileNotFoundError:
        return Marks(marks.inode, marks.size, marks.mtime_ns)
    return Marks(marks.inode, marks.size + log.size, max(marks.mtime_ns, log.mtime_ns))


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _has_log(path: Path) -> bool:
    try:
        return stat_file(_log_of(path)).size > 0
    except FileNotFoundError:
        return False
