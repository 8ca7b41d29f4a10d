"""Sessions of OpenCode (`opencode-ai`).

Read are both formats in its database (since 1.2, February 2026) and the three layouts of files before it.
Recorded sessions of 0.1, 0.5, 1.0, 1.1, 1.2, 1.14 and 1.18 are in the tests. The second format in the
database is an experiment of the client's: in 1.18 only its newer interface for programs writes it.

What is not recorded: the git branch and commit, the skills on offer, the exit status of a line the user ran
with `!`, which command a template was typed as (except the client's own, and those a sub-agent runs). Until
January 2026 nothing told `opencode run` from a person; sessions of programs that use the client's interface
look like a person's to this day.
"""

from __future__ import annotations

import errno
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from skillopt_harvesters.claims import mark_of
from skillopt_harvesters.sources.base import Marks, Reading, Resume
from skillopt_harvesters.sources.opencode import files, places, rows
from skillopt_harvesters.sources.opencode.database import DAMAGE, Database, stat_database
from skillopt_harvesters.sources.opencode.talk import CLIENT, Talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from skillopt_harvesters.claims import Claims
    from skillopt_harvesters.records import Session

_HEAD = 64
_TRIES = 5


class OpenCodeSource:
    """`<data>/opencode/opencode.db`, and `<data>/opencode/storage/session/` of the time before it.

    A session that is in the database is not read from the files the client left behind.
    """

    rewrites = True
    takes_back = True

    @property
    def name(self) -> str:
        return CLIENT

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return places.find_roots(env, home)

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        return places.find_files(root, warn=warn)

    def stat(self, path: Path) -> Marks:
        return files.stat_session(path) if path.suffix == ".json" else stat_database(path)

    def recognise(self, head: bytes) -> bool:
        return places.recognise(head)

    def find_damage(self, head: bytes, path: Path) -> str:
        return places.find_damage(head, path)

    def read(
        self, file: BinaryIO, path: Path, *, claims: Claims, resume: Resume | None = None
    ) -> Iterator[Reading]:
        file.seek(0)
        if places.is_database(file.read(_HEAD)):
            return _read_database(path, claims, resume)
        file.seek(0)
        return _read_file(file.read(files.MAX_FILE), path, claims)


def _read_database(path: Path, claims: Claims, resume: Resume | None) -> Iterator[Reading]:
    """Read the sessions that changed, each in a transaction of its own, and remember the state of all."""
    known = _decode_states(resume)
    states: dict[int, int] = {}
    problems: list[str] = []
    silent: set[str] = set()
    failed = 0
    with Database(path) as database:
        try:
            with database.transaction() as connection:
                layout = rows.read_layout(connection)
                found, damage = _find_states(connection, layout, problems)
        except DAMAGE as error:
            yield Reading(
                session=None, offset=0, state=resume.state if resume else b"", warnings=(_describe(error),)
            )
            return
        if database.warning:
            problems.append(database.warning)
        for session, state in found.items():
            mark = mark_of(session)
            if state is not None and known.get(mark) == state:
                states[mark] = state
                continue
            try:
                read, is_silent = _read_session(database, layout, session, path, claims)
            except DAMAGE as error:
                failed += 1
                damage = damage or _describe(error)
                continue
            if state is not None:
                states[mark] = state
            if is_silent:
                silent.add(session)
            if read is not None:
                yield Reading(session=read, offset=0)
        damage = damage or _find_lost(database, layout, silent)
    if damage:
        problems.append(damage + (f" ({failed} sessions could not be read)" if failed > 1 else ""))
    yield Reading(session=None, offset=0, state=msgspec.msgpack.encode(states), warnings=tuple(problems))


def _find_states(
    connection: sqlite3.Connection, layout: rows.Layout, problems: list[str]
) -> tuple[Mapping[str, int | None], str]:
    """Return the states of all sessions, as far as they can be told, and what is damaged."""
    if layout.is_foreign:
        return {}, ""
    if layout.problem:
        problems.append(layout.problem)
        return {}, ""
    try:
        found = rows.read_states(connection, layout)
        if found and not rows.has_messages(connection, layout):
            problems.append("it has sessions, but no messages where this version looks for them")
        listed, counted = len(found), rows.count_sessions(connection)
        damage = f"the database is damaged: {listed} of {counted} sessions are in its list"
    except DAMAGE as error:
        # What does not stand on the broken page can be read.
        return rows.read_states_singly(connection, layout), _describe(error)
    return found, damage if listed != counted else ""


def _find_lost(database: Database, layout: rows.Layout, sessions: set[str]) -> str:
    """Tell whether sessions in which nothing was found have messages all the same; "" when none has."""
    if not sessions:
        return ""
    try:
        with database.transaction() as connection:
            lost = rows.find_spoken(connection, layout, sessions)
    except DAMAGE as error:
        return _describe(error)
    sessions_lost = f"{len(lost)} session{'s' * (len(lost) > 1)}"
    return f"the database is damaged: the messages of {sessions_lost} cannot be found" if lost else ""


def _read_session(
    database: Database, layout: rows.Layout, session: str, path: Path, claims: Claims
) -> tuple[Session | None, bool]:
    """Return a session, None when it was removed meanwhile; and whether it has no messages.

    Raises OSError when the client never pauses, and one of `DAMAGE` when the session is not where it should.
    """
    for _ in range(_TRIES):
        with database.transaction() as connection:
            head = rows.read_head(connection, layout, session)
            if head is None:
                if rows.is_listed(connection, session):
                    raise sqlite3.DatabaseError("a session is not where its id leads")
                return None, False
            talk = Talk(
                head, str(path), claims, is_headless=partial(rows.is_headless_session, connection, layout)
            )
            found = rows.feed(connection, layout, session, talk)
        if not database.has_changed:
            return talk.finish(), not found
    raise OSError(errno.EAGAIN, "the database changes all the time")


def _read_file(data: bytes, path: Path, claims: Claims) -> Iterator[Reading]:
    layout = files.Layout(path)
    head = files.read_head(data, path)
    if head is None:
        yield Reading(session=None, offset=0, warnings=("it is no session that can be read",))
    elif layout.is_superseded() or _is_in_database(layout):
        yield Reading(session=None, offset=0)
    else:
        talk = Talk(head, str(path), claims, is_headless=layout.is_headless)
        files.feed(path, talk)
        yield Reading(session=talk.finish(), offset=len(data))


def _is_in_database(layout: files.Layout) -> bool:
    for path in places.find_databases(layout.data):
        with Database(path) as database:
            try:
                with database.transaction() as connection:
                    if rows.has_session(connection, layout.session):
                        return True
            except (OSError, *DAMAGE):
                continue
    return False


def _decode_states(resume: Resume | None) -> dict[int, int]:
    try:
        return msgspec.msgpack.decode(resume.state, type=dict[int, int]) if resume and resume.state else {}
    except msgspec.DecodeError:
        return {}


def _describe(error: Exception) -> str:
    return f"the database cannot be read: {error}"
