"""Which session owns a transcript record: kept, so that copies in forks and resumes count once."""

from __future__ import annotations

import hashlib
import sqlite3


class StoreClaims:
    """Claims that last as long as the database; memory does not grow with what was harvested."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def claim(self, record: str, session: str) -> bool:
        """Return True when the record is the session's own: claimed now, or by itself before."""
        key = hashlib.blake2b(record.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        inserted = self._connection.execute("insert or ignore into records values (?, ?)", (key, session))
        if inserted.rowcount:
            return True
        owner = self._connection.execute("select session from records where uuid = ?", (key,)).fetchone()
        return bool(owner["session"] == session)
