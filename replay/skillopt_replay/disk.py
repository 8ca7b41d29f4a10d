"""What a run has written to disk, whatever it does to keep it from being found."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from typing import TYPE_CHECKING

from skillopt_replay.held_files import find_room, held_open, may_hide

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from skillopt_replay.bounds import Bounds

_GB = 1e9
_SHARE = 0.05  # of the time may go into adding up what was written
_ENTRY = 1024  # bytes that the least file takes, in the tables of a file system or in its memory
_PARTS = 16  # of the limit, one of which may always be written between two looks, by whomever
_STEP = 1.0  # seconds by which a clock is set back, and not only kept right


class NestedTooDeep(OSError):
    """A folder has no path that the system would take."""


class DiskWatch:
    """Adds up what was written below some folders, without spending much on it."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        # What a clock says and what a file system stamps may differ by a tick.
        self._since = time.time() - 0.01
        self._ahead = _find_lead()
        self._is_over = False
        self._next = 0.0
        self._closed: list[str] = []
        self._free = self._left_free = _find_free(bounds.folders)
        self._room = bounds.disk_bytes or 0

    @property
    def is_due(self) -> bool:
        if self._bounds.disk_bytes is None:
            return False
        # Where there are many files a look is seldom: not so seldom that what is left is used up many times.
        return (
            time.monotonic() >= self._next or self._left_free - _find_free(self._bounds.folders) > self._room
        )

    def end(self) -> None:
        """Have a look that is under way come to its end."""
        self._is_over = True

    def look(self, pids: Collection[int] = ()) -> str | None:
        """Return the excess in words, None while there is none. Takes a moment: for a thread.

        `pids` are the processes that may hold open what they have removed.
        """
        limit = self._bounds.disk_bytes
        if limit is None:
            return None
        started = time.monotonic()
        # A project's tests may close a folder for a moment and want it closed; what stays so is looked into.
        opens, self._closed = bool(self._closed), []
        self._left_free = _find_free(self._bounds.folders)
        try:
            total = written_since(
                self._bounds.folders,
                self._since,
                limit,
                closed=self._closed,
                opens=opens,
                is_over=lambda: self._is_over,
            ) + held_open(pids, self._bounds.folders)
            # Others write to the disk as well: what is lost of it counts only where something may be hidden.
            lost = self._free - self._left_free
            if total <= limit < lost and self._may_hide(pids):
                total = lost
        except NestedTooDeep:
            return "folders nested deeper than a path can name"
        self._room = max(limit - total, limit // _PARTS)
        ended = time.monotonic()
        self._next = ended + (ended - started) / _SHARE
        return f"more than {limit / _GB:.1f} GB written to disk" if total > limit else None

    def _may_hide(self, pids: Collection[int]) -> bool:
        # What is written by a clock that was set back looks old.
        return _find_lead() < self._ahead - _STEP or may_hide(pids, self._bounds.folders)


def written_since(
    folders: Sequence[Path | str],
    since: float,
    enough: int,
    *,
    closed: list[str] | None = None,
    opens: bool = False,
    is_over: Callable[[], bool] | None = None,
) -> int:
    """Return the bytes on disk of what was changed below the folders after `since`; stops beyond `enough`.

    The time of the last change of any kind counts, which a program cannot set. Links are not followed, and
    holes in files take no room; but each file, link and folder takes some, however empty. Folders of ours
    that their mode closes to us go into `closed`; with `opens` they are opened for as long as it takes.
    `is_over` ends it early. Raises NestedTooDeep where files may lie that nobody could count.
    """
    roots = tuple(os.path.realpath(folder) for folder in folders)
    total = 0
    waiting = [os.fspath(folder) for folder in folders]
    while waiting and total <= enough and not (is_over and is_over()):
        folder = waiting.pop()
        with _unless_too_deep():
            held = _open(folder, roots)
            if held is None:
                if closed is not None:
                    closed.append(folder)
                if opens:
                    total += _look_into(folder, roots, since, enough - total)
                continue
            with held, os.scandir(held.fileno()) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(f"{folder}/{entry.name}")
                        status = entry.stat(follow_symlinks=False)
                    except OSError as error:
                        _pass_over(error)
                    else:
                        if status.st_ctime >= since:
                            total += find_room(status) + _ENTRY
    return total


def _find_lead() -> float:
    """Return by how many seconds the clock leads one that nobody sets."""
    return time.time() - time.monotonic()


def _find_free(folders: Sequence[Path]) -> int:
    """Return the bytes that are free on the disks of the folders."""
    free: dict[int, int] = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            status = os.statvfs(folder)
            free[os.stat(folder).st_dev] = status.f_bfree * status.f_frsize  # noqa: PTH116
    return sum(free.values())


class _Held:
    """A folder that we hold, whatever becomes of the path that led to it."""

    def __init__(self, folder: str) -> None:
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> _Held:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor


def _open(folder: str, roots: tuple[str, ...]) -> _Held | None:
    """Return the folder, None when its mode closes it to us.

    Raises OSError when it is not below the roots: the run may have made a link to anywhere of its path.
    """
    try:
        held = _Held(folder)
    except PermissionError:
        return None
    with contextlib.ExitStack() as closing:
        closing.enter_context(held)
        if not _lies_below(f"/proc/self/fd/{held.fileno()}", roots):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), folder)
        if not os.access(".", os.X_OK, dir_fd=held.fileno()):
            return None
        closing.pop_all()
    return held


def _lies_below(link: str, roots: tuple[str, ...]) -> bool:
    """Whether what a link of /proc leads to lies below the roots; without a /proc nobody can tell."""
    try:
        place = os.readlink(link)  # noqa: PTH115 - for every folder of a run
    except FileNotFoundError:
        return not os.path.exists("/proc/self")  # noqa: PTH110
    return any(f"{place}/".startswith(f"{root}/") for root in roots)


def _look_into(folder: str, roots: tuple[str, ...], since: float, enough: int) -> int:
    """Return what was written below a folder that its mode closes to us."""
    if not hasattr(os, "O_PATH"):
        return 0
    # Held by a descriptor: of the path the run may have made a link to anywhere.
    held = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    here = f"/proc/self/fd/{held}"
    try:
        status = os.fstat(held)
        if status.st_uid != os.getuid() or not _lies_below(here, roots):
            return 0
        mode = stat.S_IMODE(status.st_mode)
        os.chmod(here, mode | stat.S_IRUSR | stat.S_IXUSR)  # noqa: PTH101
        try:
            return written_since([f"{here}/."], since, enough, closed=[], opens=True)
        finally:
            os.chmod(here, mode)  # noqa: PTH101
    finally:
        os.close(held)


@contextlib.contextmanager
def _unless_too_deep() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _pass_over(error)


def _pass_over(error: OSError) -> None:
    """Pass over what is gone or not ours."""
    if error.errno == errno.ENAMETOOLONG:
        raise NestedTooDeep(error.errno, error.strerror) from None
