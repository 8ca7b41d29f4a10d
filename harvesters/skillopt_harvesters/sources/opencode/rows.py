"""Sessions, messages and parts in the client's database, by the tables and columns that are there."""

# ruff: noqa: S608 - what is put into a query are names of tables and columns that stand in this module

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_harvesters.claims import mark_of
from skillopt_harvesters.sources.loose import decode_as
from skillopt_harvesters.sources.opencode.database import DAMAGE
from skillopt_harvesters.sources.opencode.records import Head, Info, Revert, SessionFile, StoredPart, Time
from skillopt_harvesters.sources.opencode.shapes import TALK, from_newer, to_head, to_message, to_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.sources.opencode.records import Message, Part
    from skillopt_harvesters.sources.opencode.talk import Talk

# A row longer than this is passed over: SQLite hands out values whole.
MAX_VALUE = 8 * 1024 * 1024
_COLUMNS = {
    "session": ("id",),
    "message": ("id", "session_id", "time_created", "data"),
    "part": ("id", "message_id", "data"),
    "session_message": ("id", "session_id", "type", "seq", "data"),
    "event_sequence": ("aggregate_id", "seq"),
}
# The last messages of a session are the ones that still change.
_TAIL = "SELECT id FROM message WHERE session_id = s.id ORDER BY time_created DESC, id DESC LIMIT 8"


class Layout(msgspec.Struct, frozen=True):
    """Which columns each table has, of those tables that can be read. `names` are all tables there are."""

    columns: dict[str, frozenset[str]]
    names: frozenset[str]

    @property
    def is_foreign(self) -> bool:
        """Whether this is no database of this client, or an empty one."""
        return "session" not in self.names

    @property
    def problem(self) -> str:
        """Why nothing can be read, "" when something can."""
        if "session" not in self.columns or not (self.has_parts or "session_message" in self.columns):
            tables = ", ".join(sorted(self.names)[:12])
            return (
                f"this version of OpenCode keeps its messages in a way that is not known (tables: {tables})"
            )
        return ""

    @property
    def has_parts(self) -> bool:
        """Whether messages have their parts beside them."""
        return "message" in self.columns and "part" in self.columns


def read_layout(connection: sqlite3.Connection) -> Layout:
    """Return what tables and columns there are."""
    names = [
        _text(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    columns: dict[str, frozenset[str]] = {}
    for table, needed in _COLUMNS.items():
        if table in names:
            found = frozenset(_text(row[1]) for row in connection.execute(f"PRAGMA table_info({table})"))
            if found.issuperset(needed):
                columns[table] = found
    return Layout(columns, frozenset(names))


def read_states(connection: sqlite3.Connection, layout: Layout) -> dict[str, int]:
    """Return a number for each session, the oldest first, that changes when the session does.

    A session's own time of change is older than its last rows; so its latest messages and their parts tell,
    and the numbers the client counts its changes with. No table but that of the sessions is read whole.
    """
    query = f"SELECT {_states_of(layout)} FROM session s ORDER BY {_order_of(layout)}"
    return {_text(row[0]): mark_of(repr(row)) for row in connection.execute(query) if row[0]}


def read_states_singly(connection: sqlite3.Connection, layout: Layout) -> dict[str, int | None]:
    """Return the same of a damaged database, session by session; None where it cannot be told."""
    states: dict[str, int | None] = {}
    try:
        for (key,) in connection.execute(f"SELECT s.id FROM session s ORDER BY {_order_of(layout)}"):
            states[_text(key)] = None
    except DAMAGE:
        pass
    states.pop("", None)
    for session in states:
        try:
            query = f"SELECT {_states_of(layout)} FROM session s WHERE s.id = ?"
            row = connection.execute(query, (session,)).fetchone()
        except DAMAGE:
            continue
        states[session] = mark_of(repr(row)) if row else None
    return states


def _order_of(layout: Layout) -> str:
    return "s.time_created, s.id" if "time_created" in layout.columns["session"] else "s.id"


def _states_of(layout: Layout) -> str:
    """Return the columns that tell whether a session `s` changed."""
    columns = layout.columns
    asked = ["s.id"]
    asked += [
        f"s.{name}" for name in ("time_updated", "time_created", "revert") if name in columns["session"]
    ]
    if layout.has_parts:
        asked.append("(SELECT count(*) FROM message WHERE session_id = s.id)")
        if "time_updated" in columns["message"]:
            asked.append(f"(SELECT max(time_updated) FROM message WHERE id IN ({_TAIL}))")
        latest = " || '/' || max(time_updated)" if "time_updated" in columns["part"] else ""
        asked.append(f"(SELECT count(*) || '/' || max(id){latest} FROM part WHERE message_id IN ({_TAIL}))")
    if "session_message" in columns:
        latest = " || '/' || max(time_updated)" if "time_updated" in columns["session_message"] else ""
        asked.append(
            f"(SELECT count(*) || '/' || max(seq){latest} FROM session_message WHERE session_id = s.id)"
        )
    if "event_sequence" in columns:
        asked.append("(SELECT max(seq) FROM event_sequence WHERE aggregate_id = s.id)")
    return ", ".join(asked)


def is_headless_session(connection: sqlite3.Connection, layout: Layout, session: str) -> bool:
    """Tell whether a program began a session."""
    head = read_head(connection, layout, session)
    return head is not None and head.headless


def has_session(connection: sqlite3.Connection, session: str) -> bool:
    """Tell whether the database has a session."""
    return connection.execute("SELECT 1 FROM session WHERE id = ?", (session,)).fetchone() is not None


def count_sessions(connection: sqlite3.Connection) -> int:
    """Return how many sessions the table's index has; a list of them comes from the table itself."""
    found: int = connection.execute("SELECT count(*) FROM session").fetchone()[0]
    return found


def is_listed(connection: sqlite3.Connection, session: str) -> bool:
    """Tell whether a session is in the table, wherever its index leads."""
    return any(_text(key) == session for (key,) in connection.execute("SELECT id FROM session NOT INDEXED"))


def find_spoken(connection: sqlite3.Connection, layout: Layout, sessions: set[str]) -> set[str]:
    """Return those of some sessions that have messages in the tables, wherever their indexes lead.

    Reads whole tables, but for long values: asked only of sessions that seem to have none.
    """
    found: set[str] = set()
    for table in ("message", "session_message"):
        if table in layout.columns:
            query = f"SELECT DISTINCT session_id FROM {table} NOT INDEXED"
            found |= {_text(key) for (key,) in connection.execute(query)}
    return found & sessions


def has_messages(connection: sqlite3.Connection, layout: Layout) -> bool:
    """Tell whether there is any message at all."""
    tables = [name for name in ("message", "session_message") if name in layout.columns]
    found = " OR ".join(f"EXISTS (SELECT 1 FROM {name})" for name in tables)
    return bool(connection.execute(f"SELECT {found}").fetchone()[0])


def read_head(connection: sqlite3.Connection, layout: Layout, session: str) -> Head | None:
    """Return a session without its messages; None when it is not there any more."""
    wanted = ("parent_id", "directory", "version", "time_created", "revert", "permission")
    names = [name for name in wanted if name in layout.columns["session"]]
    query = f"SELECT {', '.join(['id', *names])} FROM session WHERE id = ?"
    row = connection.execute(query, (session,)).fetchone()
    if row is None:
        return None
    values: dict[str, Any] = dict(zip(names, row[1:], strict=True))
    created = values.get("time_created")
    revert, permission = values.get("revert"), values.get("permission")
    found = SessionFile(
        parent=_text(values.get("parent_id")) or None,
        directory=_text(values.get("directory")) or None,
        version=_text(values.get("version")),
        time=Time(created=created if isinstance(created, (int, float)) else None),
        revert=decode_as(revert, Revert) if isinstance(revert, bytes) else None,
        permission=msgspec.Raw(permission if isinstance(permission, bytes) else b"null"),
    )
    return to_head(found, session)


def feed(connection: sqlite3.Connection, layout: Layout, session: str, talk: Talk) -> bool:
    """Give the messages of a session to `talk`, one at a time; return whether there are any."""
    found = False
    if layout.has_parts:
        query = f"SELECT id, {_bounded()} FROM message WHERE session_id = ? ORDER BY time_created, id"
        for key, data in connection.execute(query, (session,)):
            found = True
            info = _decode(data, Info, talk)
            if info is not None:
                message = _text(key)
                talk.take(to_message(info, message, _read_parts(connection, message, talk)))
    if "session_message" in layout.columns:
        for newer in _read_newer(connection, session, talk):
            talk.take(newer)
        query = "SELECT 1 FROM session_message WHERE session_id = ?"
        found = found or connection.execute(query, (session,)).fetchone() is not None
    return found


def _read_parts(connection: sqlite3.Connection, message: str, talk: Talk) -> Iterator[Part]:
    query = f"SELECT {_bounded()} FROM part WHERE message_id = ? ORDER BY id"
    for (data,) in connection.execute(query, (message,)):
        part = _decode(data, StoredPart, talk)
        if part is not None:
            yield to_part(part)


def _read_newer(connection: sqlite3.Connection, session: str, talk: Talk) -> Iterator[Message]:
    query = f"SELECT id, type, {_bounded()} FROM session_message WHERE session_id = ? ORDER BY seq"
    for key, kind, data in connection.execute(query, (session,)):
        name = _text(kind)
        message = from_newer(name, data, _text(key)) if isinstance(data, bytes) else None
        if message is not None:
            yield message
            continue
        if not isinstance(data, bytes):
            _pass_over(data, talk)
        elif name in TALK:
            talk.session.bad += 1
        if name == "user":
            talk.lose_prompt()


def _bounded() -> str:
    return f"CASE WHEN length(data) <= {MAX_VALUE} THEN data ELSE length(data) END"


def _decode(data: object, kind: type[Any], talk: Talk) -> Any:
    if isinstance(data, bytes):
        found = decode_as(data, kind)
        talk.session.bad += found is None
        return found
    _pass_over(data, talk)
    return None


def _pass_over(data: object, talk: Talk) -> None:
    if isinstance(data, int) and data > MAX_VALUE:
        talk.session.overlong += 1
    else:
        talk.session.bad += 1


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
