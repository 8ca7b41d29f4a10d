"""Writing what a harvest read, many files at a time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from skillopt_harvesters.cursor import FileCursor
from skillopt_harvesters.records import Session
from skillopt_sleep.store.claims import StoreClaims
from skillopt_sleep.store.cursors import forget_files, save_cursors
from skillopt_sleep.store.index import pack_session, read_session, save_sessions

# What a kill may cost is read once more; each write waits for the disk.
_SECONDS = 1.0
_FILES = 500
_BYTES = 8 * 1024 * 1024


class Batch:
    """Collects sessions, claims and cursors; those of a file are stored together or not at all.

    Until a batch is written the database is only read, so that others need not wait. A file that holds more
    than fits in memory is written as it is read, and committed with its cursor.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.claims = StoreClaims(connection, make_room=self._spill)
        self._sessions: dict[tuple[str, str], tuple[str | int | bytes | None, ...]] = {}
        self._known: set[tuple[str, str]] | None = None
        self._cursors: list[FileCursor] = []
        self._bytes = 0
        self._since = time.monotonic()

    def recall(self, client: str, session: str) -> Session | None:
        """Return a session as it was stored, or is about to be."""
        if self._known is None:
            rows = self.connection.execute("select client, id from sessions")
            self._known = {(row["client"], row["id"]) for row in rows}
        if (client, session) not in self._known:
            return None
        if (client, session) in self._sessions:
            self._spill()
        return read_session(self.connection, client, session)

    def add_session(self, session: Session) -> None:
        """Take a session; the cursor of its file follows."""
        row = pack_session(session)
        self._sessions[session.client, session.id] = row
        if self._known is not None:
            self._known.add((session.client, session.id))
        self._bytes += len(row[7]) if isinstance(row[7], bytes) else 0
        if self._bytes > _BYTES:
            self._spill()

    def add_cursor(self, cursor: FileCursor) -> None:
        """Take the end of a file; write everything when it is time to."""
        self._cursors.append(cursor)
        self._bytes += len(cursor.state)
        late = time.monotonic() - self._since > _SECONDS
        if late or self._bytes > _BYTES or len(self._cursors) >= _FILES or self.connection.in_transaction:
            self.commit()

    def forget(self, paths: Iterable[str]) -> None:
        """Take files that are gone."""
        self._spill()
        forget_files(self.connection, paths)

    def commit(self) -> None:
        """Write and commit what was collected."""
        self._spill()
        self.connection.execute("commit")
        self._since = time.monotonic()

    def _spill(self) -> None:
        if not self.connection.in_transaction:
            self.connection.execute("begin immediate")
        save_sessions(self.connection, self._sessions.values())
        save_cursors(self.connection, self._cursors)
        self.claims.write()
        self._sessions, self._cursors, self._bytes = {}, [], 0


@contextmanager
def batches(connection: sqlite3.Connection) -> Iterator[Batch]:
    """Give a batch; commit its rest at the end, or take back what was not committed."""
    batch = Batch(connection)
    try:
        yield batch
        batch.commit()
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
    finally:
        # It and its claims hold each other: who harvests often would keep what many of them knew.
        vars(batch).clear()
