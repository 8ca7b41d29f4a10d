"""What was mined, kept beside the database: clients delete their transcripts, and databases get lost.

A snapshot is one session, redacted as it is in the index, as compressed JSON. Its name tells whose it is and
what it holds: `<digest of client and id>-<digest of content>.json.gz`.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import os
import sqlite3
import tempfile
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from skillopt_harvesters.records import Session
from skillopt_sleep.paths import make_private
from skillopt_sleep.store.claims import StoreClaims
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.index import save_session, unpack_session

# All snapshots together; a session takes some KB, so this is tens of thousands. The oldest go first.
LIMIT = 256 * 1024 * 1024
_ENDING = ".json.gz"
_MAX_JSON = 128 * 1024 * 1024


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it was read by `reader`, and the marks of its records, little-endian, in base64."""

    session: Session
    reader: int
    marks: str


def save_snapshots(
    connection: sqlite3.Connection, folder: Path, sessions: Iterable[str], *, limit: int = LIMIT
) -> int:
    """Write the sessions with these ids that have no snapshot, or changed since; return how many.

    Beyond `limit` bytes the oldest snapshots are removed. Raises OSError when a file cannot be written.
    """
    make_private(folder)
    there = _list(folder)
    written = 0
    for name in sorted(set(sessions)):
        rows = connection.execute("select client, id, body, reader from sessions where id = ?", (name,))
        for row in rows.fetchall():
            key = _key_of(row["client"], row["id"])
            file = f"{key}-{_digest(row['body'], str(row['reader']).encode())}{_ENDING}"
            if file in there.get(key, ()):
                continue
            session = unpack_session(row["body"])
            if session is None:
                continue
            _write(folder / file, _pack(connection, session, row["reader"]))
            written += 1
            for stale in there.get(key, ()):
                (folder / stale).unlink(missing_ok=True)
    if written:
        _remove_oldest(folder, limit)
    return written


def restore_snapshots(
    connection: sqlite3.Connection, folder: Path, *, warn: Callable[[str], None] | None = None
) -> int:
    """Put the sessions back that have a snapshot and are not in the index; return how many.

    Those whose transcripts are still there are read again by the harvest that follows.
    """
    missing = _list(folder)
    if not missing:
        return 0
    for row in connection.execute("select client, id from sessions"):
        missing.pop(_key_of(row["client"], row["id"]), None)
    restored = 0
    for file in sorted(file for files in missing.values() for file in files):
        try:
            snapshot = _read(folder / file)
            marks = array("q", base64.b64decode(snapshot.marks, validate=True))
        except (OSError, EOFError, ValueError, msgspec.DecodeError) as error:
            if warn:
                warn(f"cannot read the snapshot {folder / file}: {error}")
            continue
        with transaction(connection):
            _restore(connection, snapshot, marks)
        restored += 1
    return restored


def _restore(connection: sqlite3.Connection, snapshot: Snapshot, marks: array[int]) -> None:
    session = snapshot.session
    save_session(connection, session, reader=snapshot.reader)
    claims = StoreClaims(connection)
    # Which of the records opened turns is not known any more; only those are ever asked for.
    claims.claim(f"{session.client}/{session.id}", marks, marks)
    claims.write()


def _pack(connection: sqlite3.Connection, session: Session, reader: int) -> Snapshot:
    known = StoreClaims(connection).marks_of(f"{session.client}/{session.id}")
    marks = base64.b64encode(array("q", sorted(known)).tobytes()).decode()
    return Snapshot(session=session, reader=reader, marks=marks)


def _write(path: Path, snapshot: Snapshot) -> None:
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-", suffix=".tmp")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(gzip.compress(msgspec.json.encode(snapshot), mtime=0))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _read(path: Path) -> Snapshot:
    with gzip.open(path) as file:
        data = file.read(_MAX_JSON + 1)
    if len(data) > _MAX_JSON:
        raise ValueError("it is too large")
    return msgspec.json.decode(data, type=Snapshot)


def _list(folder: Path) -> dict[str, list[str]]:
    """Return the files by the key of their session; what a killed run left half written is removed."""
    found: dict[str, list[str]] = {}
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return found
    for name in names:
        if name.endswith(_ENDING):
            found.setdefault(name.partition("-")[0], []).append(name)
        elif name.startswith(".new-"):
            with contextlib.suppress(OSError):
                (folder / name).unlink()
    return found


def _remove_oldest(folder: Path, limit: int) -> None:
    files = sorted(
        ((status.st_mtime_ns, status.st_size, path) for path in folder.iterdir() if (status := path.stat())),
        reverse=True,
    )
    total = 0
    for _, size, path in files:
        total += size
        if total > limit:
            path.unlink(missing_ok=True)


def _key_of(client: str, session: str) -> str:
    return _digest(client.encode(), session.encode("utf-8", "surrogatepass"))


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
