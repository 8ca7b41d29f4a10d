"""Sessions in files of their own: one for the session, for each message and each part, until February 2026.

There have been three layouts; a session's file tells by its place which one it is:

- `storage/session/<project>/<session>.json`, `storage/message/<session>/`, `storage/part/<message>/`
- `project/<project>/storage/session/info/<session>.json`, `.../message/<session>/`,
  `.../part/<session>/<message>/`
- the same with the parts inside the messages (until July 2025)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skillopt_harvesters.sources.base import Marks, stat_file
from skillopt_harvesters.sources.loose import decode_as
from skillopt_harvesters.sources.opencode.records import Head, Info, SessionFile, StoredPart
from skillopt_harvesters.sources.opencode.shapes import from_oldest, to_head, to_message, to_part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillopt_harvesters.sources.opencode.records import Message, Part
    from skillopt_harvesters.sources.opencode.talk import Talk

MAX_FILE = 8 * 1024 * 1024
_SUFFIX = ".json"


class Layout:
    """Where the messages and parts of a session's file are."""

    def __init__(self, path: Path) -> None:
        self.session = path.name.removesuffix(_SUFFIX)
        self.is_old = path.parent.name == "info"
        self._folder = path.parent
        base = path.parent.parent if self.is_old else path.parents[2]
        self.messages = base / "message" / self.session
        self.parts = base / "part"
        # The folder that holds the database, if there is one.
        self.data = path.parents[5] if self.is_old else path.parents[3]

    def parts_of(self, message: str) -> Path:
        """Return the folder with the parts of a message."""
        return self.parts / self.session / message if self.is_old else self.parts / message

    def is_superseded(self) -> bool:
        """Tell whether a newer layout has the session: the client leaves the old files when it moves on."""
        newer = self.data / "storage" / "session"
        try:
            return self.is_old and any(
                (folder / f"{self.session}{_SUFFIX}").is_file() for folder in newer.iterdir()
            )
        except OSError:
            return False

    def is_headless(self, session: str) -> bool:
        """Tell whether a program began another session of the same project."""
        try:
            with self._file_of(session).open("rb") as file:
                found = decode_as(file.read(MAX_FILE), SessionFile)
        except OSError:
            return False
        return found is not None and to_head(found, session).headless

    def _file_of(self, session: str) -> Path:
        return self._folder / f"{session}{_SUFFIX}"


def stat_session(path: Path) -> Marks:
    """Return marks that change with the session's file, its messages, and the parts of the last one.

    Raises OSError when the session's file is not there.
    """
    layout = Layout(path)
    marks = stat_file(path)
    size, newest = marks.size, marks.mtime_ns
    names = _list(layout.messages)
    seen = [layout.messages]
    if names:
        seen.append(layout.messages / names[-1])
        parts = layout.parts_of(names[-1].removesuffix(_SUFFIX))
        found = _list(parts)
        seen += [parts, *(parts / name for name in found[-1:])]
        size += len(found) << 20
    size += len(names) << 32
    for place in seen:
        try:
            here = stat_file(place)
        except OSError:
            continue
        size += here.size
        newest = max(newest, here.mtime_ns)
    return Marks(marks.inode, size, newest)


def read_head(data: bytes, path: Path) -> Head | None:
    """Return a session without its messages; None when the file holds none. The file's name is its id."""
    found = decode_as(data, SessionFile)
    return None if found is None else to_head(found, path.name.removesuffix(_SUFFIX))


def feed(path: Path, talk: Talk) -> None:
    """Give the messages of a session to `talk`, one at a time, in the order of their names."""
    layout = Layout(path)
    for name in _list(layout.messages):
        data = _load(layout.messages / name, talk)
        if data is None:
            continue
        key = name.removesuffix(_SUFFIX)
        message = from_oldest(data, key) or _to_message(layout, data, key, talk)
        if message is not None:
            talk.take(message)


def _to_message(layout: Layout, data: bytes, key: str, talk: Talk) -> Message | None:
    info = decode_as(data, Info)
    if info is None:
        talk.session.bad += 1
        return None
    return to_message(info, key, _read_parts(layout, key, talk))


def _read_parts(layout: Layout, message: str, talk: Talk) -> Iterator[Part]:
    folder = layout.parts_of(message)
    for name in _list(folder):
        data = _load(folder / name, talk)
        stored = decode_as(data, StoredPart) if data is not None else None
        if stored is not None:
            yield to_part(stored)
        elif data is not None:
            talk.session.bad += 1


def _load(path: Path, talk: Talk) -> bytes | None:
    """Return a file's bytes; what cannot be read is counted."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        talk.session.bad += 1
        talk.session.warn(f"cannot read {path.name}: {error.strerror}")
        return None
    if len(data) > MAX_FILE:
        talk.session.overlong += 1
        return None
    return data


def _list(folder: Path) -> list[str]:
    """Return the names of the records in a folder, in order; empty when it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX))
    except OSError:
        return []
