"""Where to go on in a file that was read before, and as which session to read it."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO

from skillopt_harvesters.cursor import Change, Cursors, FileCursor, find_moved, is_prefix
from skillopt_harvesters.files import is_gone
from skillopt_harvesters.regrown import find_anew, go_on_as
from skillopt_harvesters.sources.abilities import identify, name_apart
from skillopt_harvesters.sources.base import Marks, Resume, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from skillopt_harvesters.claims import Claims
    from skillopt_harvesters.records import Session

    Recall: TypeAlias = Callable[[str, str], Session | None]


class Resuming:
    """Knows what was read of files, from their cursors, the sessions that are stored, and their records."""

    def __init__(self, cursors: Mapping[str, FileCursor], recall: Recall, claims: Claims) -> None:
        self._cursors, self._recall, self._claims = cursors, recall, claims

    def resume(self, source: Source, path: Path, cursor: FileCursor, change: Change) -> Resume | None:
        """Return where to go on, when what was read of the file still stands."""
        if not cursor.state or not (change is Change.APPENDED or source.rewrites):
            return None
        session = self._recall(source.name, cursor.session) if cursor.session else None
        if session is not None and session.path != str(path):
            session = None
        if session is None and not source.rewrites:
            return None
        return Resume(offset=cursor.offset, state=cursor.state, session=session)

    def rename(self, source: Source, path: Path, file: BinaryIO, marks: Marks) -> Resume | None:
        """Return the session of a file that was given another name, and where to go on in it.

        The session keeps its id: by that it owns its records.
        """
        own = identify(source, path)
        if own is None or source.rewrites or not isinstance(self._cursors, Cursors):
            return None
        for moved in find_moved(file, self._cursors, marks):
            if moved.session in {"", own}:
                continue
            session = self._recall(source.name, moved.session)
            if session is not None and session.path == moved.path:
                return Resume(offset=moved.offset if moved.state else 0, state=moved.state, session=session)
        return None

    def keep_name(
        self, source: Source, path: Path, file: BinaryIO, head: bytes, cursor: FileCursor | None
    ) -> Resume | None:
        """Return what to read a file as that has another session than the one of its name.

        It was given its name since, or it was emptied and holds another session now: then both are kept.
        """
        own = identify(source, path)
        if own is None:
            return None
        name = (cursor.session if cursor else "") or own
        stored = self._recall(source.name, name)
        apart = name_apart(source, path) if name == own else ""
        if apart:
            was_apart = self._claims.marks_of(f"{source.name}/{apart}")
            other = stored is not None and not (_was_at(stored.path, path) or _is_copy(stored.path, path))
            if was_apart or other:
                return go_on_as(source, path, apart)
        is_ours = cursor is None if stored is None else _was_at(stored.path, path)
        # Without a state what was read was not kept.
        stands = cursor is not None and cursor.state != b"" and is_prefix(file, cursor)
        if getattr(source, "appends", False) and is_ours and not stands:
            claims = self._claims
            anew = find_anew(source, path, file, head=head, claims=claims, name=name, stored=stored)
            # An older reader may have known records otherwise; but what it called so stays so.
            if anew and (stored is not None or claims.marks_of(f"{source.name}/{anew}")):
                name = anew
        return None if name == own else go_on_as(source, path, name)


def _was_at(stored: str, path: Path) -> bool:
    """Tell whether a file may be the one that something was read from: it is, or was moved."""
    return stored == str(path) or (os.path.basename(stored) == path.name and is_gone(stored))  # noqa: PTH119


def _is_copy(stored: str, path: Path) -> bool:
    """Tell whether a file lies below the session that the one that was read lies below, in another place.

    Short ids meet by chance, but not within a session: somebody copied it.
    """
    below = PurePath(stored).parts[-3:]
    return path.parts[-3:] == below and below[1:-1] == ("subagents",)
