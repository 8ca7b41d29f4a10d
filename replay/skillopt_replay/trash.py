"""Folders that are done with, removed while the next run is at work."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from weakref import WeakValueDictionary

from skillopt_replay.folders import PRIVATE_PREFIX, make_folder, remove_tree

MAX_WAITING = 16
_open: WeakValueDictionary[Path, Trash] = WeakValueDictionary()


class Trash:
    """Takes folders on the same file system as `root`, and removes them in the order they came.

    Until it is closed, what is discarded in `root` goes to it.
    What a killed process leaves lies in folders that `clear_leftovers` knows.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        _open[self._root] = self
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="trash")
        self._is_closed = False
        self._waiting: set[asyncio.Future[str | None]] = set()
        self._notes: list[str] = []

    async def throw(self, *folders: Path) -> tuple[str, ...]:
        """Take the folders out of sight at once; return what of earlier ones could not be removed."""
        for folder in folders:
            self._throw(folder)
        if self._is_closed:
            return await self.settle()
        if len(self._waiting) > MAX_WAITING:
            await asyncio.wait(self._waiting, return_when=asyncio.FIRST_COMPLETED)
        return self._take_notes()

    async def settle(self) -> tuple[str, ...]:
        """Wait until all is removed; return what could not be."""
        while self._waiting:
            await asyncio.wait(self._waiting)
        return self._take_notes()

    async def close(self) -> tuple[str, ...]:
        """Settle; what comes later is removed before `throw` returns."""
        self._is_closed = True
        if _open.get(self._root) is self:
            del _open[self._root]
        notes = await self.settle()
        self._thread.shutdown(wait=False)
        return notes

    def _take_notes(self) -> tuple[str, ...]:
        notes, self._notes = self._notes, []
        return tuple(notes)

    def _throw(self, folder: Path) -> None:
        place = folder
        with contextlib.suppress(OSError):  # then it is removed where it is
            place = make_folder(self._root, PRIVATE_PREFIX) / folder.name
            folder.rename(place)
        thread = None if self._is_closed else self._thread
        removing = asyncio.get_running_loop().run_in_executor(thread, _remove, folder, place)
        self._waiting.add(removing)
        removing.add_done_callback(self._settle)

    def _settle(self, removing: asyncio.Future[str | None]) -> None:
        self._waiting.discard(removing)
        note = removing.result()
        if note is not None:
            self._notes.append(note)


async def discard(path: Path) -> tuple[str, ...]:
    """Remove a folder even while being cancelled; return a note when a part of it stays."""
    trash = _open.get(path.parent)
    if trash is not None:
        return await trash.throw(path)
    removing = asyncio.ensure_future(asyncio.to_thread(remove_tree, path))
    try:
        await asyncio.shield(removing)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await removing
        raise
    except OSError as error:
        return (f"{path} could not be removed: {error.strerror}",)
    return ()


def _remove(folder: Path, place: Path) -> str | None:
    try:
        for path in dict.fromkeys((folder, *((place.parent,) if place != folder else ()))):
            remove_tree(path)
    except OSError as error:
        return f"{folder} could not be removed: {error.strerror}"
    return None
