"""Finding sessions: by client, kind, project and time, without decoding those that do not fit."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Generator, Iterable, Iterator

import msgspec

from skillopt_harvesters.records import Session
from skillopt_sleep.errors import AppError, UsageError
from skillopt_sleep.folders import Folder

_session = msgspec.msgpack.Decoder(Session)
_SHORT = 8
_NAMED = 5
# The highest character: what begins with a prefix lies between the prefix and it.
_LAST = "\U0010ffff"


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions are wanted; everything left out fits.

    A session fits `since` and `until` (ISO 8601 in UTC; the first belongs to the span, the last does not)
    when some of it lies between them; one without times fits neither. `limit` keeps the latest.
    """

    clients: tuple[str, ...] = ()
    kind: str | None = None
    folder: Folder | None = None
    since: str | None = None
    until: str | None = None
    limit: int | None = None


class Name(msgspec.Struct, frozen=True):
    """What a session is called: ids are unique within their client."""

    client: str
    id: str


def find_sessions(connection: sqlite3.Connection, wanted: Filter) -> Generator[Session, None, None]:
    """Yield the sessions that fit, oldest first, one at a time; those without a time come last.

    All come from the same state of the database, whatever is written meanwhile.
    """
    with_own = not connection.in_transaction
    if with_own:
        connection.execute("begin")
    try:
        # Only numbers are sorted; a body is read when it is its turn.
        for number in array("q", (row["number"] for row in _select(connection, wanted))):
            row = connection.execute("select body from sessions where rowid = ?", (number,)).fetchone()
            session = _decode(row["body"])
            if session is not None:
                yield session
    finally:
        if with_own and connection.in_transaction:
            connection.execute("commit")


def find_names(connection: sqlite3.Connection, wanted: Filter) -> Iterator[Name]:
    """Yield what the sessions that fit are called, in the order of `find_sessions`. Decodes nothing."""
    for row in _select(connection, wanted):
        yield Name(row["client"], row["id"])


def find_session(connection: sqlite3.Connection, prefix: str, clients: tuple[str, ...] = ()) -> Session:
    """Return the session whose id is, or alone begins with, `prefix`.

    Raises UsageError when none or several do, and AppError when it cannot be read.
    """
    # The command line hands on bytes that are no text as surrogates; no id has them.
    prefix = prefix.encode("utf-8", "replace").decode()
    among, values = _among(clients)
    query = f"select rowid number, client, id from sessions where id between ? and ? {among} order by id"  # noqa: S608
    rows = connection.execute(f"{query} limit ?", (prefix, prefix + _LAST, *values, _NAMED + 1)).fetchall()
    exact = [row for row in rows if row["id"] == prefix]
    found = exact or rows
    if not found or not prefix:
        raise UsageError(f"there is no session {prefix!r}", hint="skillopt-sleep sessions --ids lists them")
    if len(found) > 1:
        named = ", ".join(f"{row['id']} ({row['client']})" for row in found[:_NAMED])
        more = ", and others" if len(found) > _NAMED else ""
        raise UsageError(
            f"{prefix!r} fits several sessions: {named}{more}",
            hint="write more of the id, or name the client with --client",
        )
    row = connection.execute("select body from sessions where rowid = ?", (found[0]["number"],)).fetchone()
    session = _decode(row["body"])
    if session is None:
        raise AppError(
            f"another version of this program stored {found[0]['id']} in a way that cannot be read",
            hint="skillopt-sleep harvest reads it anew if its transcript is still there",
        )
    return session


def find_named(connection: sqlite3.Connection, ids: Iterable[str]) -> Iterator[Session]:
    """Yield the sessions of these ids, in their order; those not known any more are left out."""
    for name in ids:
        for row in connection.execute("select body from sessions where id = ? order by client", (name,)):
            session = _decode(row["body"])
            if session is not None:
                yield session


def shorten(connection: sqlite3.Connection, session: str) -> str:
    """Return the shortest beginning of an id, of eight characters or more, that no other id has."""
    before = connection.execute("select max(id) id from sessions where id < ?", (session,)).fetchone()["id"]
    after = connection.execute("select min(id) id from sessions where id > ?", (session,)).fetchone()["id"]
    shared = max(_count_shared(session, other or "") for other in (before, after))
    return session[: max(_SHORT, shared + 1)]


def list_clients(connection: sqlite3.Connection) -> set[str]:
    """Return the clients that have a session."""
    return {row["client"] for row in connection.execute("select distinct client from sessions")}


def _select(connection: sqlite3.Connection, wanted: Filter) -> Iterator[sqlite3.Row]:
    among, values = _among(wanted.clients)
    terms: list[str] = []
    if wanted.kind:
        terms.append("and kind = ?")
        values.append(wanted.kind)
    # Clocks jump: a session may end before it started.
    if wanted.until:
        terms.append("and min(coalesce(started, ended), coalesce(ended, started)) < ?")
        values.append(wanted.until)
    if wanted.since:
        terms.append("and max(coalesce(started, ended), coalesce(ended, started)) >= ?")
        values.append(wanted.since)
    if wanted.folder:
        connection.create_function("is_within", 1, wanted.folder.holds, deterministic=True)
        terms.append("and is_within(project)")
    latest = (
        "select rowid number, client, id, started from sessions"  # noqa: S608
        f" where true {among} {' '.join(terms)}"
        " order by started desc, id desc limit ?"
    )
    values.append(-1 if wanted.limit is None else wanted.limit)
    yield from connection.execute(
        f"select number, client, id from ({latest}) order by started is null, started, id",  # noqa: S608
        values,
    )


def _decode(body: bytes) -> Session | None:
    """Return None for what another version of this program stored in a way that cannot be read."""
    try:
        return _session.decode(body)
    except msgspec.DecodeError:
        return None


def _among(clients: tuple[str, ...]) -> tuple[str, list[str | int]]:
    return (f"and client in ({', '.join('?' * len(clients))})" if clients else ""), list(clients)


def _count_shared(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
