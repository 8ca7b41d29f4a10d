"""Watches on folders through watchdog: what changes in them is told, and when they come, go or move."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from skillopt_sleep.watching.places import Door, Plan

# Not that a file is opened or closed: reading transcripts would look like a change.
_COMINGS: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
]
_CHANGES = [*_COMINGS, FileModifiedEvent]
# What a reader of a database writes itself, and what an editor writes all the time.
_IGNORED = ("-shm", ".vscdb", ".vscdb-journal", ".vscdb.backup")
# Databases are changed in these first.
_LOGS = ("-wal", "-journal")

# Without a handler of its own the library writes to the terminal, into our status line.
logging.getLogger("watchdog").addHandler(logging.NullHandler())


class Observation:
    """Watches a plan until stopped. `changed` and `reshaped` are called from a thread of the library."""

    def __init__(self, plan: Plan, *, changed: Callable[[str], None], reshaped: Callable[[], None]) -> None:
        """Begin to watch. Raises OSError when the system has no watches left."""
        self._changed = changed
        self._reshaped = reshaped
        self._observer = Observer()
        self._observer.start()
        try:
            for tree in plan.trees:
                self._watch(_InTree(tree, changed, reshaped), tree, _CHANGES, recursive=True)
            for door in plan.doors:
                events = _CHANGES if door.files else _COMINGS
                self._watch(_AtDoor(door, changed, reshaped), door.folder, events, recursive=False)
            self._probe()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End all watches and threads."""
        self._observer.stop()
        self._observer.join()

    def _watch(
        self,
        handler: FileSystemEventHandler,
        folder: str,
        events: list[type[FileSystemEvent]],
        *,
        recursive: bool,
    ) -> None:
        try:
            self._observer.schedule(handler, folder, recursive=recursive, event_filter=events)
        except (FileNotFoundError, NotADirectoryError):
            self._reshaped()

    def _probe(self) -> None:
        """Raise OSError when no watch is left.

        Of a folder inside a tree that could not be watched the library says nothing. But then one more
        watch, on a folder that is no part of any tree, is refused too.
        """
        if sys.platform == "linux":
            watch = None
            try:
                watch = self._observer.schedule(
                    FileSystemEventHandler(), "/", recursive=False, event_filter=[DirDeletedEvent]
                )
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise
            if watch is not None:
                self._observer.unschedule(watch)


class _InTree(FileSystemEventHandler):
    """Tells of every change below a folder."""

    def __init__(self, tree: str, changed: Callable[[str], None], reshaped: Callable[[], None]) -> None:
        self._tree = tree
        self._changed = changed
        self._reshaped = reshaped

    def on_any_event(self, event: FileSystemEvent) -> None:
        paths = _read_paths(event)
        if not paths or all(path.endswith(_IGNORED) for path in paths):
            return
        is_new = event.event_type in {"created", "moved"}
        is_link = is_new and any(os.path.islink(path) for path in paths)  # noqa: PTH114
        if is_link or (event.event_type in {"deleted", "moved"} and self._tree in paths):
            self._reshaped()
        self._changed(paths[-1])


class _AtDoor(FileSystemEventHandler):
    """Tells when one of some names in a folder comes or goes, the folder itself does, or a file changes."""

    def __init__(self, door: Door, changed: Callable[[str], None], reshaped: Callable[[], None]) -> None:
        join = os.path.join
        self._shape = {door.folder, *(join(door.folder, name) for name in door.names)}
        self._files = {join(door.folder, name + end) for name in door.files for end in ("", *_LOGS)}
        self._changed = changed
        self._reshaped = reshaped

    def on_any_event(self, event: FileSystemEvent) -> None:
        for path in _read_paths(event):
            if path in self._shape and event.event_type != "modified":
                self._reshaped()
                self._changed(path)
            elif path in self._files:
                self._changed(path)


def _read_paths(event: FileSystemEvent) -> list[str]:
    both: list[Any] = [event.src_path, getattr(event, "dest_path", "")]
    with contextlib.suppress(TypeError):
        return [os.fsdecode(path) for path in both if path]
    return []
