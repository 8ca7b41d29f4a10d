"""Files that were emptied and begun anew: what is in them now is another session than what they held."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, cast

from skillopt_harvesters.claims import Claims, MemoryClaims
from skillopt_harvesters.records import Kind, Session
from skillopt_harvesters.sources.base import Resume, Source

if TYPE_CHECKING:
    from pathlib import Path

_FIRST = 16 * 1024


def find_anew(
    source: Source,
    path: Path,
    file: BinaryIO,
    *,
    head: bytes,
    claims: Claims,
    name: str,
    stored: Session | None,
) -> str | None:
    """Return how the session in a file is called that holds none of the records of the one of its name.

    None when a record is the same, or nothing tells: such a file was rewritten. Nearly always one of the
    first is. A client may give all records other ids; then what is `stored` begins with the same turn.
    """
    known = claims.marks_of(f"{source.name}/{name}")
    session: Session | None = None
    for stream in (cast("BinaryIO", BytesIO(head[:_FIRST])), file) if known else ():
        found = MemoryClaims()
        # Some marks have the session's name in them.
        for reading in source.read(stream, path, claims=found, resume=go_on_as(source, path, f"{name}~")):
            session = reading.session
        marks = found.marks_of(f"{source.name}/{session.id}") if session else ()
        if any(mark in known for mark in marks):
            return None
    if session is None or not session.turns or not session.started or not marks:
        return None
    if stored is not None and _first_of(stored) == _first_of(session):
        return None
    return f"{name}~{''.join(filter(str.isdigit, session.started))}"


def go_on_as(source: Source, path: Path, name: str) -> Resume:
    """Return what has a file read from its start as a session of another name than its own."""
    session = Session(id=name, client=source.name, client_version="", kind=Kind.HUMAN, path=str(path))
    return Resume(offset=0, state=b"", session=session)


def _first_of(session: Session) -> list[tuple[str, str | None]]:
    return [(turn.prompt, turn.started) for turn in session.turns[:1]]
